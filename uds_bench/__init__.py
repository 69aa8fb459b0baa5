"""uds_bench: gates releases of unlearning methods by proving that a language model has forgotten."""

__version__ = "0.1.0"
