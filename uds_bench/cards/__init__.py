"""Release cards: what was shown of one candidate, for whoever decides on it, in formats that other tools read."""
