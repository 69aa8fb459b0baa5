"""Where an answer says what its question does not: words, spans that could be it, and points for each."""
