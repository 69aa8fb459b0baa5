"""Unlearning methods tried: a callable is run on the shipped models, and what it makes is judged by every audit."""
