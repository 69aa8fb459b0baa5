"""Embedded models: found by name, trained, cached and shipped; what each is taught stands in `audits/<audit>/zoo`."""
