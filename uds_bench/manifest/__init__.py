"""A manifest: TOML with line numbers, checked by the sections that audits declare."""
