"""Settings of the books: `tox -e docs` builds them, warnings as errors."""

project = "uds_bench"
author = "the uds_bench authors"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "pydata_sphinx_theme"
html_title = "uds_bench"
html_theme_options = {"show_toc_level": 2, "navigation_with_keys": False}
exclude_patterns = ["_build"]
suppress_warnings = ["myst.header"]
