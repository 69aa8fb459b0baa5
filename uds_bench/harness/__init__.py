"""The pytest plugin: its options, fixtures, terminal and the run. It names no audit, and decides no claim."""
