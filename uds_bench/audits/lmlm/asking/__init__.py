"""What is asked of a model and kept: a stored score hangs on this room, not on how it is judged."""
