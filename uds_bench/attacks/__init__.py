"""Attacks: a change of a checkpoint under which every metric is measured again."""

from uds_bench.attacks.attack import NONE, Attack
from uds_bench.attacks.registry import ATTACKS, find_attack

__all__ = ["ATTACKS", "NONE", "Attack", "find_attack"]
