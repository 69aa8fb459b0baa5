"""What every command shares: errors in a line, tables, options; the commands themselves are in `cli`."""
