"""What the files of checkpoints tell before any model is loaded: whether each can be used, and fits its parent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.spec import SCHEME, SPECIMEN
from uds_bench.errors import MESSAGE_LENGTH, UdsError, one_line
from uds_bench.manifest.section import Section

if TYPE_CHECKING:
    from uds_bench.inference.reply_rules import ReplyRules

NOTHING_ASKED = Section()
"""Of an audit that asks nothing more of a checkpoint."""


def preflight(
    specs: Mapping[str, CheckpointSpec],
    names: Iterable[str],
    judged: Iterable[str] = (),
    parent: str | None = None,
    section: Section = NOTHING_ASKED,
) -> dict[str, str]:
    """By checkpoint that cannot be used, why and what to do, in a line.

    Args:
        specs: Every checkpoint by name; those that are still to be trained are left out.
        names: Those that are needed.
        judged: Those that were made from `parent`: their replies must be read as its own are.
        parent: The name of their parent, where it is known.
        section: What the manifest says to the audit that needs them.

    Returns:
        Nothing of those that can be used. What is wrong with the parent is told of the parent alone.
    """
    from uds_bench.checkpoints.loading import inspect
    from uds_bench.checkpoints.source import check_shapes
    from uds_bench.inference.reply_rules import read_reply_rules, require_same_replies
    from uds_bench.zoo import specimens

    problems: dict[str, str] = {}
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
            if is_shipped:
                spec = replace(spec, model=str(specimens.folder(spec.model)))
            else:
                inspect(spec)
                section.check(spec)
            placed[name] = spec
            check_shapes(name, placed)
            if name == parent:
                rules = read_reply_rules(spec)
            elif name in made and rules is not None and not is_shipped:
                require_same_replies(f"{name} ({spec.model})", read_reply_rules(spec), rules)
        except UdsError as error:
            # What is wrong with the shipped models is told once, whoever needs them.
            problems[name] = str(error) if is_shipped or str(error).startswith(name) else f"{name}: {error}"
        except Exception as error:  # whatever its files make a library say: the others are judged
            problems[name] = one_line(
                f"{name} ({spec.model}): cannot be read ({one_line(error)}): save it again", MESSAGE_LENGTH
            )
    return problems
