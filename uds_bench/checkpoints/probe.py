"""What a freshly loaded model does on a few tokens: the checks that need a forward pass."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from uds_bench.checkpoints.anatomy import Anatomy, FamilyError, block_hidden
from uds_bench.errors import CheckpointError

TOKENS = 24
_TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 4e-2}  # of a token's largest value


@torch.no_grad()
def probe_logits(model: Any, last: int | None = None) -> torch.Tensor:
    """Logits on ids spread over the vocabulary, the same for every checkpoint of one vocabulary.

    Args:
        model: A causal language model of transformers.
        last: Another id in the place of the last one.

    Returns:
        [1, `TOKENS`, vocabulary], in the model's dtype.
    """
    ids = _ids(model)
    if last is not None:
        ids[:, -1] = last
    logits: torch.Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    return logits


@torch.no_grad()
def verify(model: Any, anatomy: Anatomy) -> Anatomy:
    """Check `anatomy` against the model's own forward pass.

    The readout of the last block must give the model's logits, each block's output must be the next one's input, and
    no token may hear of a later one. Raises FamilyError otherwise, and CheckpointError for NaN. What comes back is
    without attention and MLP where a block adds something other than what they give.
    """
    inputs: dict[Any, torch.Tensor] = {}
    outputs: dict[Any, torch.Tensor] = {}

    def record(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        inputs[module] = block_hidden(kwargs.get("hidden_states", args))
        outputs[module] = block_hidden(output)

    watched = (*anatomy.blocks, *anatomy.attention, *anatomy.mlp)
    handles = [module.register_forward_hook(record, with_kwargs=True) for module in watched]
    try:
        logits = probe_logits(model)
    except TypeError as error:
        raise _unsupported(anatomy, str(error)) from None
    finally:
        for handle in handles:
            handle.remove()
    if silent := [type(module).__name__ for module in anatomy.blocks if module not in outputs]:
        raise _unsupported(anatomy, f"its {silent[0]} does not run in a forward pass")
    if not torch.isfinite(logits).all():
        raise CheckpointError(
            f"family {anatomy.family} gives logits that are NaN or infinite in {logits.dtype} on "
            f"{logits.device}: use bfloat16 or float32"
        )
    for index, block in enumerate(anatomy.blocks):
        if index and not adds_up(inputs[block], [outputs[anatomy.blocks[index - 1]]]):
            raise _unsupported(anatomy, f"block {index} does not start from the output of block {index - 1}")
    if not adds_up(logits, [_readout(anatomy, outputs[anatomy.blocks[-1]])]):
        raise _unsupported(anatomy, "final norm and head on the last block do not give the model's logits")
    if not adds_up(probe_logits(model, last=0)[:, :-1], [logits[:, :-1]]):
        raise _unsupported(anatomy, "its tokens hear of later ones, so that it is no decoder")
    parts = zip(anatomy.blocks, anatomy.attention, anatomy.mlp, strict=False)
    whole = all(
        {attention, mlp} <= outputs.keys()
        and adds_up(outputs[block], [inputs[block], outputs[attention], outputs[mlp]])
        for block, attention, mlp in parts
    )
    return anatomy if whole else replace(anatomy, attention=(), mlp=())


def _readout(anatomy: Anatomy, hidden: torch.Tensor) -> torch.Tensor:
    try:
        return anatomy.readout(hidden)
    except RuntimeError:
        raise _unsupported(anatomy, "its head does not take what its last block gives") from None


def _ids(model: Any) -> torch.Tensor:
    rows = model.get_input_embeddings().weight.shape[0]
    return torch.linspace(0, rows - 1, TOKENS, device=model.device).long()[None]


def adds_up(total: torch.Tensor, parts: Sequence[torch.Tensor]) -> bool:
    """Whether `parts` sum to `total`, both (..., features), within the rounding of their dtype.

    Judged token by token, since a few tokens have values hundreds of times those of the others, and against
    the largest value that took part, since large parts that cancel leave their rounding in a small total.
    """
    if any(part.shape != total.shape for part in parts):
        return False
    largest = torch.stack([value.float().abs().amax(-1, keepdim=True) for value in (total, *parts)]).amax(0)
    distance = (torch.stack([part.float() for part in parts]).sum(0) - total.float()).abs()
    return bool((distance <= _TOLERANCE[total.dtype] * largest.clamp_min(1e-6)).all())


def _unsupported(anatomy: Anatomy, why: str) -> FamilyError:
    return FamilyError(
        f"family {anatomy.family} is not supported: {why}; describe it in uds_bench/checkpoints/anatomy.py"
    )
