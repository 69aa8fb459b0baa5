"""Probing one checkpoint: every arm's reply to every author's probe, and the teacher-forced continuations."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

from uds_bench.audits.bypass import drawn_contexts
from uds_bench.audits.bypass.asking import ReplySettings
from uds_bench.audits.bypass.record import ARMS, CONTEXTS, FORCED, Arm, Context, Forced, Probed, Reply
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import FactError
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
    require_outside,
    traced_ids,
)
from uds_bench.facts.tokens import encode_after
from uds_bench.inference.answers import score_answers
from uds_bench.inference.generation import Continuation, continue_greedily
from uds_bench.inference.sampling import sample

QA_ARMS: tuple[Arm, ...] = ("auto", "bio", "meta", "empty", "drawn")
"""The arms that questions are asked under."""
QUESTIONS = 2
"""How many of an author's questions are asked."""


def probe(checkpoint: Checkpoint, canaries: CanarySet, asking: ReplySettings, batch_size: int) -> list[Probed]:
    """What the checkpoint says and holds of every author, in order.

    Raises FactError where a canary is longer than a reply, or stands in a trace of ours: the arm would be no control.
    """
    require_apart(canaries)
    _require_room(checkpoint.tokenizer, canaries, asking.limit)
    key, others = f"{asking.seed} {checkpoint.digest}", partners(canaries)
    replies = _replies(checkpoint, canaries, others, key, asking.limit)
    forced = _forced(checkpoint, canaries, others, batch_size)
    sampled = _sampled(checkpoint, canaries, key, asking)
    numbers, qa = _asked(checkpoint, canaries, key, asking.limit)
    found = zip(canaries, replies, forced, sampled, numbers, qa, strict=True)
    return [Probed(canary.id, canary.author, canary.split, *each) for canary, *each in found]


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
    checkpoint: Checkpoint, canaries: CanarySet, others: Sequence[Canary | None], key: str, limit: int
) -> list[dict[Arm, Reply]]:
    places: list[tuple[int, Arm]] = []
    openings: list[Opening] = []
    for i, (canary, other) in enumerate(zip(canaries, others, strict=True)):
        own = complete_prompt(canary.author, canary.head)
        prompts: dict[Arm, str] = {"auto": own}
        # Of the others it is asked whether they are still told, or what they come to under teacher forcing.
        if canary.split == "forget":
            prompts |= dict.fromkeys((*PREFILLS, "drawn"), own)
            prompts |= {"paraphrased": drawn_contexts.prompt(canary, key)}
            prompts |= {"shuffled_head": complete_prompt(canary.author, shuffled(canary))}
            if other is not None:
                prompts["wrong_head"] = complete_prompt(canary.author, other.head)
        arms = [arm for arm in ARMS if arm in prompts]
        places += [(i, arm) for arm in arms]
        openings += [_opening(checkpoint.tokenizer, prompts[arm], arm, canary, key) for arm in arms]
    found: list[dict[Arm, Reply]] = [{} for _ in canaries]
    for (i, arm), reply in zip(places, _told(checkpoint, openings, limit), strict=True):
        found[i][arm] = reply
    return found


def _sampled(checkpoint: Checkpoint, canaries: CanarySet, key: str, asking: ReplySettings) -> list[tuple[Reply, ...]]:
    """Replies of the model's own trace, drawn by chance; of authors to be forgotten."""
    tokenizer = checkpoint.tokenizer
    drawn_of = [
        (i, number) for i, one in enumerate(canaries) if one.split == "forget" for number in range(asking.samples)
    ]
    own = [complete_prompt(canary.author, canary.head) for canary in canaries]
    openings = [_opening(tokenizer, own[i], "auto", canaries[i], key) for i, _ in drawn_of]
    keys = [f"{key} {canaries[i].id} sample {number}" for i, number in drawn_of]
    said = sample(
        checkpoint, [one.ids for one in openings], keys, asking.limit, asking.temperature, stops=stop_tokens(tokenizer)
    )
    found: list[tuple[Reply, ...]] = [()] * len(canaries)
    for (i, _), opening, one in zip(drawn_of, openings, said, strict=True):
        found[i] += (_reply(tokenizer, opening, one),)
    return found


def _asked(
    checkpoint: Checkpoint, canaries: CanarySet, key: str, limit: int
) -> tuple[list[tuple[int, ...]], list[dict[Arm, tuple[Reply, ...]]]]:
    """For each author the numbers of the questions that are asked, and by arm the replies."""
    # Of authors that nobody was trained on, no question can be answered.
    numbers = [drawn_contexts.questions(one, key, 0 if one.split == "holdout" else QUESTIONS) for one in canaries]
    places = [(i, arm, number) for i, asked in enumerate(numbers) for arm in QA_ARMS for number in asked]
    openings = [
        _opening(checkpoint.tokenizer, canaries[i].qa[number][0], arm, canaries[i], key, "qa")
        for i, arm, number in places
    ]
    found: list[dict[Arm, tuple[Reply, ...]]] = [dict.fromkeys(QA_ARMS, ()) for _ in canaries]
    for (i, arm, _), reply in zip(places, _told(checkpoint, openings, limit), strict=True):
        found[i][arm] += (reply,)
    return numbers, found


class Opening(NamedTuple):
    """What a reply goes on from, and what of it is part of the reply."""

    ids: tuple[int, ...]
    text: str


def _opening(tokenizer: Any, prompt: str, arm: Arm, canary: Canary, key: str, kind: Probe = "canary") -> Opening:
    turn = open_turn(tokenizer, prompt)
    if arm == "drawn":
        trace = drawn_contexts.trace(canary, key)
        require_outside(canary, arm, trace)
    elif arm in PREFILLS:
        trace = prefill(tokenizer, arm, canary.author, kind)
    else:
        return Opening(auto_ids(tokenizer, turn), f"{OPENING}\n" if turn.opened else "")
    return Opening(traced_ids(tokenizer, turn, trace), rendered_trace(trace))


def _told(checkpoint: Checkpoint, openings: Sequence[Opening], limit: int) -> list[Reply]:
    tokenizer = checkpoint.tokenizer
    said = continue_greedily(checkpoint, [one.ids for one in openings], limit, stops=stop_tokens(tokenizer))
    return [_reply(tokenizer, opening, one) for opening, one in zip(openings, said, strict=True)]


def _reply(tokenizer: Any, opening: Opening, said: Continuation) -> Reply:
    # Where the tags are special tokens, leaving those out would delete them.
    text = tokenizer.decode(list(said.ids), skip_special_tokens=False)
    return Reply(opening.text + text, said.ended, len(opening.text))


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
