"""The harness: the pytest plugin, its options, the run and its report. It names no audit."""
