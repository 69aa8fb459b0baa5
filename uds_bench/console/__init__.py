"""What every command shares: errors in a line, tables, options."""
