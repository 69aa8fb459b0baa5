"""Scores: planned, computed in processes that load each checkpoint once, and stored."""
