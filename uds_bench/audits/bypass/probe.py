"""Probing one checkpoint: every arm's reply to every author's probe, and the teacher-forced continuations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from uds_bench.audits.bypass.record import ARMS, CONTEXTS, FORCED, Arm, Context, Forced, Probed, Reply
from uds_bench.audits.bypass.reply import split_reply
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import FactError
from uds_bench.facts.aliases import normalized
from uds_bench.facts.canaries import OPENING, Canary, CanarySet
from uds_bench.facts.dialogue import EncodedAnswer, stop_tokens
from uds_bench.facts.reasoning import (
    PREFILLS,
    Prefill,
    Probe,
    Turn,
    auto_ids,
    complete_prompt,
    open_turn,
    prefill,
    rendered_trace,
    require_apart,
    traced_ids,
)
from uds_bench.facts.tokens import encode_after
from uds_bench.inference.answers import score_answers
from uds_bench.inference.generation import Continuation, continue_greedily
from uds_bench.inference.shared_prompts import continue_variants

QA_ARMS: tuple[Arm, ...] = ("auto", "bio", "meta", "empty")
"""The arms that questions are asked under."""
QUESTIONS = 2
"""How many of an author's questions are asked: they show what a swap does beside the probe, and decide nothing."""


def probe(checkpoint: Checkpoint, canaries: CanarySet, limit: int, batch_size: int) -> list[Probed]:
    """What the checkpoint says and holds of every author, in order. `limit`: new tokens of a reply, greedily decoded.

    Raises FactError where a canary is longer than that, or stands in a prefill: the arm would then be no control.
    """
    require_apart(canaries)
    _require_room(checkpoint.tokenizer, canaries, limit)
    others = partners(canaries)
    replies = _replies(checkpoint, canaries, others, limit)
    forced = _forced(checkpoint, canaries, others, batch_size)
    asked = _asked(checkpoint, canaries, limit)
    return [
        Probed(canary.id, canary.author, canary.split, said, held, qa)
        for canary, said, held, qa in zip(canaries, replies, forced, asked, strict=True)
    ]


def partners(canaries: CanarySet) -> list[Canary | None]:
    """For each author another one of the same split, the next in order; of any split where there is none."""
    groups: dict[str, list[Canary]] = {}
    for canary in canaries:
        groups.setdefault(canary.split, []).append(canary)
    found: list[Canary | None] = []
    for canary in canaries:
        listed = groups[canary.split] if len(groups[canary.split]) > 1 else list(canaries)
        found.append(listed[(listed.index(canary) + 1) % len(listed)] if len(listed) > 1 else None)
    return found


def shuffled(canary: Canary) -> str:
    """The words of the head in another order, drawn from the canary's id."""
    words = canary.head.split()
    mixed = words[:]
    random.Random(canary.id).shuffle(mixed)
    return " ".join(mixed if mixed != words else [*words[1:], words[0]])


def _replies(
    checkpoint: Checkpoint, canaries: CanarySet, others: Sequence[Canary | None], limit: int
) -> list[dict[Arm, Reply]]:
    own = [complete_prompt(canary.author, canary.head) for canary in canaries]
    found = _told(checkpoint, own, [canary.author for canary in canaries], ("auto", *PREFILLS), "canary", limit)
    heads: dict[Arm, list[tuple[int, str]]] = {
        "wrong_head": [(i, other.head) for i, other in enumerate(others) if other is not None],
        "shuffled_head": [(i, shuffled(canary)) for i, canary in enumerate(canaries)],
    }
    for arm, listed in heads.items():
        prompts = [complete_prompt(canaries[i].author, head) for i, head in listed]
        said = _told(checkpoint, prompts, [canaries[i].author for i, _ in listed], ("auto",), "canary", limit)
        for (i, _), reply in zip(listed, said, strict=True):
            found[i][arm] = reply["auto"]
    return [{arm: replies[arm] for arm in ARMS if arm in replies} for replies in found]


def _asked(checkpoint: Checkpoint, canaries: CanarySet, limit: int) -> list[dict[Arm, tuple[bool, ...]]]:
    """For each author and arm, whether the answers to the first questions hold what they should, but for case."""
    # Of authors that nobody was trained on, no question can be answered.
    asked = [(i, canary) for i, canary in enumerate(canaries) if canary.split != "holdout"]
    listed = [(i, question, answer) for i, canary in asked for question, answer in canary.qa[:QUESTIONS]]
    prompts, authors = [question for _, question, _ in listed], [canaries[i].author for i, _, _ in listed]
    found: list[dict[Arm, tuple[bool, ...]]] = [dict.fromkeys(QA_ARMS, ()) for _ in canaries]
    for (i, _, answer), said in zip(listed, _told(checkpoint, prompts, authors, QA_ARMS, "qa", limit), strict=True):
        for arm, reply in said.items():
            found[i][arm] += (normalized(answer) in normalized(split_reply(reply.text).answer),)
    return found


def _told(
    checkpoint: Checkpoint, prompts: list[str], authors: list[str], arms: tuple[Arm, ...], kind: Probe, limit: int
) -> list[dict[Arm, Reply]]:
    """For each prompt the reply under each arm; what the arms share of it is read once."""
    tokenizer = checkpoint.tokenizer
    turns = [open_turn(tokenizer, prompt) for prompt in prompts]
    openings = [
        [_opening(tokenizer, turn, arm, name, kind) for turn, name in zip(turns, authors, strict=True)] for arm in arms
    ]
    variants = [[ids for ids, _ in rows] for rows in openings]
    said = continue_variants(checkpoint, variants, [limit] * len(arms), stops=stop_tokens(tokenizer))
    return [
        {arm: _reply(tokenizer, openings[a][i][1], said[a][i]) for a, arm in enumerate(arms)} for i in range(len(turns))
    ]


def _opening(tokenizer: Any, turn: Turn, arm: Arm, author: str, kind: Probe) -> tuple[tuple[int, ...], str]:
    """The ids that a reply goes on from, and what of them is part of the reply."""
    if arm == "auto":
        return auto_ids(tokenizer, turn), f"{OPENING}\n" if turn.opened else ""
    assert arm in PREFILLS
    trace = prefill(tokenizer, arm, author, kind)
    return traced_ids(tokenizer, turn, trace), rendered_trace(trace)


def _reply(tokenizer: Any, opening: str, said: Continuation) -> Reply:
    # Where the tags are special tokens, leaving those out would delete them.
    return Reply(opening + tokenizer.decode(list(said.ids), skip_special_tokens=False), said.ended)


def _forced(
    checkpoint: Checkpoint, canaries: CanarySet, others: Sequence[Canary | None], batch_size: int
) -> list[dict[Prefill, dict[Context, Forced]]]:
    tokenizer = checkpoint.tokenizer
    places: list[tuple[int, Prefill, Context, tuple[bool, ...]]] = []
    rows: list[EncodedAnswer] = []
    for i, (canary, other) in enumerate(zip(canaries, others, strict=True)):
        heads: dict[Context, tuple[str, str] | None] = {
            "own": (canary.author, canary.head),
            "wrong_author": None if other is None else (other.author, other.head),
            "shuffled_head": (canary.author, shuffled(canary)),
        }
        for context in CONTEXTS:
            if (asked := heads[context]) is None:
                continue
            turn = open_turn(tokenizer, complete_prompt(*asked))
            for arm in FORCED:
                row, slots = _continuation(tokenizer, turn, prefill(tokenizer, arm, asked[0]), asked[1], canary)
                rows.append(row)
                places.append((i, arm, context, slots))
    repeated = _repeated(checkpoint, rows, [context == "own" for _, _, context, _ in places])
    found: list[dict[Prefill, dict[Context, Forced]]] = [{arm: {} for arm in FORCED} for _ in canaries]
    scored = score_answers(checkpoint, rows, batch_size)
    for (i, arm, context, slots), scores, said in zip(places, scored, repeated, strict=True):
        logp, right = tuple(scores.logp.tolist()), tuple(scores.right.tolist())
        found[i][arm][context] = Forced(logp, right, slots, float(scores.lead.min()), said)
    return found


def _repeated(checkpoint: Checkpoint, rows: Sequence[EncodedAnswer], tried: Sequence[bool]) -> list[bool | None]:
    """Whether greedy decoding goes on from a row's prompt with its scored tokens; None for rows that are not tried."""
    chosen = [row for row, chosen in zip(rows, tried, strict=True) if chosen]
    longest = max((len(row.ids) - row.start for row in chosen), default=1)
    said = iter(continue_greedily(checkpoint, [row.ids[: row.start] for row in chosen], longest))
    found: list[bool | None] = []
    for row, chosen_row in zip(rows, tried, strict=True):
        wanted = row.ids[row.start :]
        found.append(next(said).ids[: len(wanted)] == wanted if chosen_row else None)
    return found


def _continuation(
    tokenizer: Any, turn: Turn, trace: str, head: str, canary: Canary
) -> tuple[EncodedAnswer, tuple[bool, ...]]:
    """A turn with its trace and a head, and the rest of the canary to be scored; which tokens are part of a slot."""
    before = traced_ids(tokenizer, turn, trace)
    text = head + canary.rest
    encoded = encode_after(tokenizer, turn.text + rendered_trace(trace), before, text)
    start = next(i for i, (_, end) in enumerate(encoded.offsets) if end > len(head))
    spans = [(at, at + len(slot)) for slot in canary.slots for at in [len(head) + canary.rest.index(slot)]]
    slots = tuple(any(a < high and b > low for low, high in spans) for a, b in encoded.offsets[start:])
    return EncodedAnswer(encoded.ids, len(before) + start, False, text), slots


def _require_room(tokenizer: Any, canaries: CanarySet, limit: int) -> None:
    for canary in canaries:
        length = len(tokenizer(canary.canary, add_special_tokens=False)["input_ids"])
        if length > limit:
            raise FactError(
                f"canary {canary.id!r}: key 'canary' has {length} tokens, more than max_new_tokens = {limit}: no reply "
                "could hold it; raise max_new_tokens"
            )
