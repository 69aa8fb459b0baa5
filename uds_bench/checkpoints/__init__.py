"""Load a checkpoint, know its parts, and name its content."""

from uds_bench.checkpoints.anatomy import Anatomy, block_hidden, find_anatomy
from uds_bench.checkpoints.config import shape
from uds_bench.checkpoints.digest import digest
from uds_bench.checkpoints.load import Checkpoint, load
from uds_bench.checkpoints.source import Folders, resolve
from uds_bench.checkpoints.spec import CheckpointSpec, Shape

__all__ = [
    "Anatomy",
    "Checkpoint",
    "CheckpointSpec",
    "Folders",
    "Shape",
    "block_hidden",
    "digest",
    "find_anatomy",
    "load",
    "resolve",
    "shape",
]
