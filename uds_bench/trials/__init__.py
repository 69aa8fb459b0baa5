"""A user's unlearning method tried on the shipped models, and judged by every audit; our own are in `methods`."""
