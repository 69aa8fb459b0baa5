"""Probing one checkpoint: every arm's reply to every author's probe, and the teacher-forced continuations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from uds_bench.audits.bypass.claims import MISSING
from uds_bench.audits.bypass.prompts import QA_ARMS, Prompt, partners, prompts, questions, shuffled
from uds_bench.audits.bypass.record import CONTEXTS, FORCED, Arm, Context, Forced, Probed, Reply
from uds_bench.audits.bypass.replies import RawReply, Recorded, Surface
from uds_bench.audits.bypass.reply import split_reply
from uds_bench.audits.bypass.section import ReplySettings
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import CheckpointError
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.facts.dialogue import EncodedAnswer, stop_tokens
from uds_bench.facts.reasoning import Prefill, Turn, complete_prompt, open_turn, prefill, traced_ids
from uds_bench.facts.tags import Form
from uds_bench.facts.tokens import encode_after
from uds_bench.inference.answers import score_answers
from uds_bench.inference.generation import continue_greedily, sample

Tokens = list[int]


def probe(
    checkpoint: Checkpoint | Surface,
    canaries: CanarySet,
    asking: ReplySettings,
    batch_size: int,
    recorded: Recorded | None = None,
) -> list[Probed]:
    """What the checkpoint says and holds of every author, in order.

    `recorded`: what it replied elsewhere, which is not asked again. Where none of the first replies closes its trace,
    the others are not asked: they stand as cut before their first word.

    Raises FactError and CheckpointError as `prompts`.
    """
    recorded = recorded or Recorded(checkpoint.digest, {})
    asked = prompts(checkpoint.tokenizer, canaries, asking, recorded.digest)
    first = _first(asked.completions)
    opened = {one.digest: reply for one, reply in zip(first, _said(checkpoint, first, asking, recorded), strict=True)}
    closing = any(reply.ended or split_reply(reply.text).tagged for reply in opened.values())

    def said(wanted: Sequence[Prompt]) -> list[Reply]:
        if closing:
            return _said(checkpoint, wanted, asking, recorded)
        return [opened.get(one.digest) or reply_of(one, RawReply("", ended=False)) for one in wanted]

    by_author: dict[str, dict[Arm, Reply]] = {canary.id: {} for canary in canaries}
    for one, reply in zip(asked.completions, said(asked.completions), strict=True):
        by_author[one.canary.id][one.arm] = reply
    forced = _forced(checkpoint, canaries, asking.form, batch_size)
    sampled: dict[str, tuple[Reply, ...]] = {canary.id: () for canary in canaries}
    for one, reply in zip(asked.sampled, said(asked.sampled), strict=True):
        sampled[one.canary.id] += (reply,)
    qa: dict[str, dict[Arm, tuple[Reply, ...]]] = {canary.id: dict.fromkeys(QA_ARMS, ()) for canary in canaries}
    for one, reply in zip(asked.questions, said(asked.questions), strict=True):
        qa[one.canary.id][one.arm] += (reply,)
    key = f"{asking.seed} {recorded.digest}"
    return [
        Probed(c.id, c.author, c.split, by_author[c.id], held, sampled[c.id], questions(c, key), qa[c.id])
        for c, held in zip(canaries, forced, strict=True)
    ]


def _first(told: Sequence[Prompt]) -> list[Prompt]:
    """The own traces of so many authors that, cut at the token limit, they leave everything undecided, whatever the
    others would be."""
    own = [one for one in told if one.arm == "auto" and one.canary.split == "forget"]
    return own[: int(MISSING * len(own)) + 1]


def _said(checkpoint: Any, asked: Sequence[Prompt], asking: ReplySettings, recorded: Recorded) -> list[Reply]:
    """The reply to each prompt: as it was recorded, else what the checkpoint says."""
    left = [one for one in asked if one.digest not in recorded.replies]
    told = {**recorded.replies, **say(checkpoint, left, asking)}
    return [reply_of(one, told[one.digest]) for one in asked]


def say(checkpoint: Any, asked: Sequence[Prompt], asking: ReplySettings) -> dict[str, RawReply]:
    """What a checkpoint says behind each prompt, by digest: the likeliest, or drawn by chance where it is a sample."""
    tokenizer, stops = checkpoint.tokenizer, stops_of(checkpoint.tokenizer, asked)
    found: dict[str, RawReply] = {}
    for drawn in (False, True):
        if not (some := [one for one in asked if (one.sample is not None) is drawn]):
            continue
        ids = [one.ids for one in some]
        if drawn:
            said = sample(checkpoint, ids, [one.luck for one in some], asking.limit, asking.temperature, stops=stops)
        else:
            said = continue_greedily(checkpoint, ids, asking.limit, stops=stops)
        # Where the tags are special tokens, leaving those out would delete them.
        texts = [tokenizer.decode(list(one.ids), skip_special_tokens=False) for one in said]
        found |= {one.digest: RawReply(text, each.ended) for one, text, each in zip(some, texts, said, strict=True)}
    return found


def stops_of(tokenizer: Any, told: Sequence[Prompt]) -> Tokens:
    """Where a reply is over; a token that is part of the closing tag ends none."""
    tags = {one.turn.tags.closing for one in told}
    inside = {token for tag in tags for token in tokenizer(tag, add_special_tokens=False)["input_ids"]}
    return [token for token in stop_tokens(tokenizer) if token not in inside]


def reply_of(prompt: Prompt, told: RawReply) -> Reply:
    """What was said behind a prompt, as it is kept: with the published tags in the place of the model's own."""
    given = prompt.turn.tags.plain(prompt.given)
    return Reply(given + prompt.turn.tags.plain(told.whole(prompt)), told.ended, len(given))


def _forced(
    checkpoint: Checkpoint | Surface, canaries: CanarySet, form: Form, batch_size: int
) -> list[dict[Prefill, dict[Context, Forced]]]:
    """Continuations under teacher forcing; none of a model without weights."""
    if isinstance(checkpoint, Surface):
        return [{arm: {} for arm in FORCED} for _ in canaries]
    tokenizer = checkpoint.tokenizer
    places: list[tuple[int, Prefill, Context, tuple[bool, ...]]] = []
    rows: list[EncodedAnswer] = []
    for i, (canary, other) in enumerate(zip(canaries, partners(canaries), strict=True)):
        heads: dict[Context, tuple[str, str] | None] = {
            "own": (canary.author, canary.head),
            "wrong_author": None if other is None else (other.author, other.head),
            "shuffled_head": (canary.author, shuffled(canary)),
        }
        for context in CONTEXTS:
            if (asked := heads[context]) is None:
                continue
            turn = open_turn(tokenizer, complete_prompt(*asked), form)
            for arm in FORCED:
                row, slots = _continuation(tokenizer, turn, prefill(tokenizer, arm, asked[0]), asked[1], canary)
                rows.append(row)
                places.append((i, arm, context, slots))
    repeated = _repeated(checkpoint, rows, [context == "own" for _, _, context, _ in places])
    found: list[dict[Prefill, dict[Context, Forced]]] = [{arm: {} for arm in FORCED} for _ in canaries]
    scored = score_answers(checkpoint, rows, batch_size)
    for (i, arm, context, slots), scores, said in zip(places, scored, repeated, strict=True):
        logp, right = tuple(scores.logp.tolist()), tuple(scores.right.tolist())
        if not all(map(math.isfinite, logp)):
            raise CheckpointError(f"{checkpoint.spec.model}: a log-probability of {canaries[i].id} is not finite")
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
    encoded = encode_after(tokenizer, turn.text + turn.tags.around(trace), before, text)
    start = next(i for i, (_, end) in enumerate(encoded.offsets) if end > len(head))
    spans = [(at, at + len(slot)) for slot in canary.slots for at in [len(head) + canary.rest.index(slot)]]
    slots = tuple(any(a < high and b > low for low, high in spans) for a, b in encoded.offsets[start:])
    return EncodedAnswer(encoded.ids, len(before) + start, False, text), slots
