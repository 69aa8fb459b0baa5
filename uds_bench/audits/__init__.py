"""Audits: what one is, and those of this project, a package each."""
