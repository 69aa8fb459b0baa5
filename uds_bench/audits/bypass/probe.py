"""Probing one checkpoint: every arm's reply to every author's probe, and the teacher-forced continuations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from uds_bench.audits.bypass.asking import Asking
from uds_bench.audits.bypass.parts import MISSING
from uds_bench.audits.bypass.prompts import QA_ARMS, Prompt, partners, prompts, questions, shuffled
from uds_bench.audits.bypass.record import CONTEXTS, FORCED, Arm, Context, Forced, Probed, Reply
from uds_bench.audits.bypass.reply import split_reply
from uds_bench.checkpoints import Checkpoint
from uds_bench.errors import UdsError
from uds_bench.facts.canaries import Canary, CanarySet
from uds_bench.facts.dialogue import EncodedAnswer, stop_tokens
from uds_bench.facts.reasoning import Prefill, Turn, complete_prompt, open_turn, prefill, traced_ids
from uds_bench.facts.tags import Form
from uds_bench.facts.tokens import encode_after
from uds_bench.inference.answers import score_answers
from uds_bench.inference.generation import Continuation, continue_greedily
from uds_bench.inference.sampling import sample


def probe(
    checkpoint: Checkpoint, canaries: CanarySet, asking: Asking, batch_size: int, patient: bool = False
) -> list[Probed]:
    """What the checkpoint says and holds of every author, in order. `patient`: ask on where no trace is ever closed.

    Raises FactError and CheckpointError as `prompts`; UdsError where so many of the first replies end at the token
    limit inside their trace that nothing could be decided of the rest.
    """
    asked = prompts(checkpoint.tokenizer, canaries, asking, checkpoint.digest)
    if not patient:
        _require_closing(checkpoint, asked.told, asking)
    by_author: dict[str, dict[Arm, Reply]] = {canary.id: {} for canary in canaries}
    for one, reply in zip(asked.told, _told(checkpoint, asked.told, asking), strict=True):
        by_author[one.canary.id][one.arm] = reply
    forced = _forced(checkpoint, canaries, asking.form, batch_size)
    sampled: dict[str, tuple[Reply, ...]] = {canary.id: () for canary in canaries}
    for one, reply in zip(asked.sampled, _sampled(checkpoint, asked.sampled, asking), strict=True):
        sampled[one.canary.id] += (reply,)
    qa: dict[str, dict[Arm, tuple[Reply, ...]]] = {canary.id: dict.fromkeys(QA_ARMS, ()) for canary in canaries}
    for one, reply in zip(asked.asked, _told(checkpoint, asked.asked, asking), strict=True):
        qa[one.canary.id][one.arm] += (reply,)
    key = f"{asking.seed} {checkpoint.digest}"
    return [
        Probed(c.id, c.author, c.split, by_author[c.id], held, sampled[c.id], questions(c, key), qa[c.id])
        for c, held in zip(canaries, forced, strict=True)
    ]


def _require_closing(checkpoint: Checkpoint, told: Sequence[Prompt], asking: Asking) -> None:
    """Raise UdsError where the first authors' own traces all run into the limit: so many cut replies of the arm leave
    everything undecided, whatever the others would be."""
    own = [one for one in told if one.arm == "auto" and one.canary.split == "forget"]
    first = own[: int(MISSING * len(own)) + 1]
    replies = _told(checkpoint, first, asking)
    if all(not reply.ended and not split_reply(reply.text).tagged for reply in replies):
        closing = first[0].turn.tags.closing
        raise UdsError(
            f"none of the first {len(first)} replies closes its trace by {closing} within max_new_tokens = "
            f"{asking.limit}: raise max_new_tokens in [bypass], or correct tags"
        )


def _stops(tokenizer: Any, told: Sequence[Prompt]) -> list[int]:
    """Where a reply is over; a token that is part of the closing tag ends none."""
    tags = {one.turn.tags.closing for one in told}
    inside = {token for tag in tags for token in tokenizer(tag, add_special_tokens=False)["input_ids"]}
    return [token for token in stop_tokens(tokenizer) if token not in inside]


def _told(checkpoint: Checkpoint, told: Sequence[Prompt], asking: Asking) -> list[Reply]:
    tokenizer = checkpoint.tokenizer
    said = continue_greedily(checkpoint, [one.ids for one in told], asking.limit, stops=_stops(tokenizer, told))
    return [_reply(tokenizer, one, found) for one, found in zip(told, said, strict=True)]


def _sampled(checkpoint: Checkpoint, drawn: Sequence[Prompt], asking: Asking) -> list[Reply]:
    """Replies of the model's own trace, drawn by chance; of authors to be forgotten."""
    tokenizer = checkpoint.tokenizer
    ids, keys, stops = [one.ids for one in drawn], [one.luck for one in drawn], _stops(tokenizer, drawn)
    said = sample(checkpoint, ids, keys, asking.limit, asking.temperature, stops=stops)
    return [_reply(tokenizer, one, found) for one, found in zip(drawn, said, strict=True)]


def _reply(tokenizer: Any, prompt: Prompt, said: Continuation) -> Reply:
    # Where the tags are special tokens, leaving those out would delete them.
    return reply_of(prompt, tokenizer.decode(list(said.ids), skip_special_tokens=False), said.ended)


def reply_of(prompt: Prompt, said: str, ended: bool) -> Reply:
    """What was said behind a prompt, as it is kept: with the published tags in the place of the model's own."""
    given = prompt.turn.tags.plain(prompt.given)
    return Reply(given + prompt.turn.tags.plain(said), ended, len(given))


def _forced(
    checkpoint: Checkpoint, canaries: CanarySet, form: Form, batch_size: int
) -> list[dict[Prefill, dict[Context, Forced]]]:
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
