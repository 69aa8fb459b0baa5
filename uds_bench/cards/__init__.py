"""Release cards: what was shown of one candidate, in formats that other tools read; nothing is decided here."""
