"""Where models run."""

from __future__ import annotations

from uds_bench.errors import ConfigurationError


def resolve_device(value: str, option: str = "--uds-device") -> str:
    """`cpu` or `cuda`. Raises ConfigurationError for another word, and for CUDA where there is none."""
    if value not in ("auto", "cpu", "cuda"):
        raise ConfigurationError(f"{option}: {value!r} is not a device: choose auto, cpu or cuda")
    if value == "cpu":
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if value == "cuda":
        raise ConfigurationError(
            f"{option} cuda: this machine has no usable CUDA device (torch.cuda.is_available() is False): "
            "choose cpu, or install a CUDA build of torch"
        )
    return "cpu"
