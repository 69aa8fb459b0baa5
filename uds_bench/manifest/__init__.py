"""A manifest: TOML with line numbers, checked by sections; the keys of a section are declared by its audit."""
