"""What the files of checkpoints tell before any model is loaded: whether each can be used, and fits its parent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import SCHEME, SPECIMEN
from uds_bench.errors import MESSAGE_LENGTH, CheckpointError, UdsError, failures, one_line, some
from uds_bench.manifest.section import Section

if TYPE_CHECKING:
    from uds_bench.inference.reply_rules import ReplyRules

NAMED = 4
"""The most checkpoints that are named for one fault."""
USUAL = {"repetition_penalty", "cache_implementation"}
"""Settings of generation that published models have (Qwen2.5, Gemma 2): who has no parent may have them too."""
NOTHING_ASKED = Section()
"""The section of an audit that asks nothing more of a checkpoint."""


def preflight(
    specs: Mapping[str, CheckpointSpec],
    names: Iterable[str],
    judged: Iterable[str] = (),
    parent: str | None = None,
    section: Section = NOTHING_ASKED,
    device: str = "cpu",
) -> dict[str, str]:
    """For each checkpoint that cannot be used, a line that says why and what to do.

    Args:
        specs: Every checkpoint by name; those that are still to be trained are left out.
        names: Those that are needed.
        judged: Those that were made from `parent`: their replies must be read as its own are; where it is not known, up
            to an end at which whoever serves them stops as well.
        parent: The name of their parent, where it is known.
        section: What the manifest says to the audit that needs them.
        device: Where they are to run, which decides in what dtype.

    Returns:
        A line by name, none for a checkpoint that can be used. A fault of the parent is told for the parent alone,
        unless its family cannot be read. Checkpoints that share a fault share its line.
    """
    from uds_bench.checkpoints.family import require_readable
    from uds_bench.checkpoints.loading import inspect
    from uds_bench.checkpoints.rounding import require_as_stored
    from uds_bench.checkpoints.source import check_shapes
    from uds_bench.inference.reply_rules import read_reply_rules, require_same_replies
    from uds_bench.zoo import specimens

    alike: dict[str, list[str]] = {}
    wanted, made = set(names), set(judged)
    rules: ReplyRules | None = None
    placed = dict(specs)
    for name in sorted((n for n in specs if n in wanted), key=lambda n: n != parent):
        spec = specs[name]
        is_shipped = spec.model.startswith(SPECIMEN)
        if spec.model.startswith(SCHEME):
            continue
        try:
            if not section.has_weights(spec):
                section.check(spec)
                continue
            tokenizer = None
            if is_shipped:
                spec = replace(spec, model=str(specimens.folder(spec.model)), dtype=spec.dtype or "float32")
            else:
                tokenizer = inspect(spec)
                section.check(spec)
            placed[name] = spec
            check_shapes(name, placed)
            if not is_shipped:
                require_readable(spec)
            if name in made and (not is_shipped or spec.adapter is not None):
                require_as_stored(name, spec, device)
            if name == parent:
                rules = read_reply_rules(spec, tokenizer)
            elif name in made and not is_shipped:
                own = read_reply_rules(spec, tokenizer)
                if rules is not None:
                    require_same_replies(f"{name} ({spec.model})", own, rules)
                elif not any(parent in shared for shared in alike.values()):
                    _require_own_end(f"{name} ({spec.model})", own)
        except UdsError as error:
            alike.setdefault(str(error), []).append(name)
        except failures() as error:  # whatever its files make a library say: the others are judged
            alike[f"{name} ({spec.model}): cannot be read ({one_line(error)}): save it again"] = [name]
    return {name: _reason(why, shared, specs) for why, shared in alike.items() for name in shared}


def _require_own_end(name: str, own: ReplyRules) -> None:
    """Refuse a checkpoint without a parent that, served, goes on where its replies are read to end, or says other than
    its weights. Of a base model with a chat template other tokens end turns, which its settings need not name."""
    if steered := own.steered.keys() - USUAL:
        raise CheckpointError(
            f"{name}: {min(steered)} in generation_config.json changes what its weights say: take it out"
        )
    end = own.tokenizer.eos_token_id
    if end is not None and end not in own.served:
        raise CheckpointError(
            f"{name}: eos_token_id in generation_config.json does not name {own.named([end])}, where its answers end: "
            "what it says behind it would not be read; name it there"
        )


def _reason(why: str, names: Sequence[str], specs: Mapping[str, CheckpointSpec]) -> str:
    """What is wrong with some checkpoints, once for all of them."""
    # What is wrong with the shipped models is that of the installation, whoever needs them.
    if why.startswith(names[0]) or all(specs[name].model.startswith(SPECIMEN) for name in names):
        return one_line(why, MESSAGE_LENGTH)
    return one_line(f"{some(names, NAMED)}: {why}", MESSAGE_LENGTH)
