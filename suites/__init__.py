"""The claims, one function each: run them with pytest."""
