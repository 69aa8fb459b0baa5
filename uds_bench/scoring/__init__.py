"""Scores: planned, computed in processes that load each checkpoint once, stored; what a score is: `scores`."""
