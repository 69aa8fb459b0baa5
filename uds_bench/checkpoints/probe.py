"""What a freshly loaded model does on a few tokens: the checks that need a forward pass."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from uds_bench.checkpoints.anatomy import Anatomy, FamilyError
from uds_bench.errors import CheckpointError, one_line

TOKENS = 24
Outputs = Mapping[nn.Module, Tensor]
Modules = tuple[nn.Module, ...]


class Seen(NamedTuple):
    """A forward pass: by module what it gives, and what it takes; and what the model says."""

    outputs: Outputs
    inputs: Outputs
    logits: Tensor


_TOLERANCE = {torch.float64: 1e-4, torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 4e-2}
"""The tolerated difference, as a share of a token's largest value; sums are made in float32."""


@torch.no_grad()
def probe_logits(model: Any, last: int | None = None) -> Tensor:
    """Logits on ids spread over the vocabulary, the same for every checkpoint of one vocabulary.

    Args:
        model: A causal language model of transformers.
        last: Another id in the place of the last one.

    Returns:
        [1, `TOKENS`, vocabulary], in the model's dtype.

    Raises:
        CheckpointError: The device does not compute the model in its dtype.
    """
    ids = _ids(model)
    if last is not None:
        ids[:, -1] = last
    try:
        logits: Tensor = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    except RuntimeError as error:
        dtype = next(model.parameters()).dtype
        if dtype == torch.float32 or not re.search("not implemented for|dtype", str(error)):
            raise  # something else is amiss, such as memory
        said = f"the model does not run in {dtype} on {ids.device} ({one_line(error)})"
        raise CheckpointError(f'{said}: set dtype = "float32", or another that the device has') from error
    return logits


@torch.no_grad()
def seen(model: Any, modules: Iterable[nn.Module]) -> Seen:
    """What modules give, and what they take, in a forward pass over the probe.

    Args:
        model: A causal language model of transformers.
        modules: Some of its modules.

    Returns:
        What each gives and takes, [1, `TOKENS`, features], in the order in which they ran, and the logits; without
        those that ran more than once, and those that give or take no tensor.

    Example:
        >>> from types import SimpleNamespace
        >>> inner = nn.Linear(1, 1)
        >>> run = lambda input_ids, **_: SimpleNamespace(logits=inner(input_ids[..., None].float()))
        >>> outer = SimpleNamespace(get_input_embeddings=lambda: nn.Embedding(3, 1), device="cpu")
        >>> class Model(SimpleNamespace): __call__ = lambda self, **given: run(**given)
        >>> found = seen(Model(**vars(outer)), [inner])
        >>> [one.shape for one in (found.outputs[inner], found.inputs[inner], found.logits)]
        [torch.Size([1, 24, 1]), torch.Size([1, 24, 1]), torch.Size([1, 24, 1])]
    """
    inputs: dict[nn.Module, Tensor] = {}
    outputs: dict[nn.Module, Tensor] = {}
    runs: Counter[nn.Module] = Counter()

    def record(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        runs[module] += 1
        for kept, value in ((inputs, kwargs.get("hidden_states", args)), (outputs, output)):
            hidden = value[0] if isinstance(value, tuple) and value else value
            if isinstance(hidden, Tensor):
                kept[module] = hidden.clone()  # some families add to it in place

    handles = [module.register_forward_hook(record, with_kwargs=True) for module in dict.fromkeys(modules)]
    try:
        logits = probe_logits(model)
    finally:
        for handle in handles:
            handle.remove()
    given, taken = ({each: kept[each] for each in kept if runs[each] == 1} for kept in (outputs, inputs))
    return Seen(given, taken, logits)


@torch.no_grad()
def verify(model: Any, anatomy: Anatomy) -> Anatomy:
    """Check `anatomy` against the model's own forward pass, and find in it what attention and MLP add.

    The readout of the last block must give the model's logits, each block's output must be the next one's input, and
    no token may hear of a later one. Raises FamilyError otherwise, and CheckpointError for NaN. The result has no
    attention and MLP if a block adds something other than what two of its modules give.
    """
    outputs, inputs, logits = seen(model, [module for block in anatomy.blocks for module in (block, *block.children())])
    if silent := [type(block).__name__ for block in anatomy.blocks if block not in outputs or block not in inputs]:
        raise _unsupported(anatomy, f"its {silent[0]} runs more than once, or gives no hidden states")
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
    attention, mlp = _parts(anatomy.blocks, outputs, inputs)
    return replace(anatomy, attention=attention, mlp=mlp)


def _parts(blocks: Sequence[nn.Module], outputs: Outputs, inputs: Outputs) -> tuple[Modules, Modules]:
    """Attention and MLP of each block, or none: the two of its modules, by the same names in all blocks, that add up
    to what it adds. The one that runs first is attention.

    The nearest pair counts, as beside a large stream a small part is no more than rounding. A module that gives what it
    takes, such as a dropout, is as near: then the first that runs counts.
    """
    ran = {module: place for place, module in enumerate(outputs)}
    names = sorted(
        (name for name, module in blocks[0].named_children() if module in ran),
        key=lambda name: ran[blocks[0].get_submodule(name)],
    )
    nearest: tuple[float, tuple[Modules, Modules]] = math.inf, ((), ())
    for first, second in combinations(names, 2):
        pairs = {block: (getattr(block, first, None), getattr(block, second, None)) for block in blocks}
        found = [(outputs[block], [inputs[block], *_said(outputs, pair)]) for block, pair in pairs.items()]
        if all(len(parts) == 3 and {part.shape for part in parts} == {total.shape} for total, parts in found):
            far = sum(float(_apart(total, parts).mean()) for total, parts in found)
            whole = all(adds_up(total, parts) for total, parts in found)
            attention, mlp = zip(*pairs.values(), strict=True)
            nearest = min(nearest, (far, (attention, mlp) if whole else ((), ())), key=lambda one: one[0])
    return nearest[1]


def _said(outputs: Outputs, modules: Iterable[Any]) -> list[Tensor]:
    return [outputs[module] for module in modules if module in outputs]


def _apart(total: Tensor, parts: Sequence[Tensor]) -> Tensor:
    return (total.float() - torch.stack([part.float() for part in parts]).sum(0)).abs()


def _readout(anatomy: Anatomy, hidden: Tensor) -> Tensor:
    try:
        return anatomy.readout(hidden)
    except RuntimeError:
        raise _unsupported(anatomy, "its head does not take what its last block gives") from None


def _ids(model: Any) -> Tensor:
    rows = model.get_input_embeddings().weight.shape[0]
    return torch.linspace(0, rows - 1, TOKENS, device=model.device).long()[None]


def adds_up(total: Tensor, parts: Sequence[Tensor]) -> bool:
    """Whether `parts` sum to `total`, both (..., features), within the rounding of their dtype.

    Judged token by token, since a few tokens have values hundreds of times those of the others, and against
    the largest value that took part, since large parts that cancel leave their rounding in a small total.
    """
    if any(part.shape != total.shape for part in parts):
        return False
    largest = torch.stack([value.float().abs().amax(-1, keepdim=True) for value in (total, *parts)]).amax(0)
    return bool((_apart(total, parts) <= _TOLERANCE[total.dtype] * largest.clamp_min(1e-6)).all())


def _unsupported(anatomy: Anatomy, why: str) -> FamilyError:
    return FamilyError(
        f"family {anatomy.family} is not supported: {why}; describe it in uds_bench/checkpoints/anatomy.py"
    )
