"""The embedded default: small real models, trained on first use and cached by recipe."""
