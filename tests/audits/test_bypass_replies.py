"""Replies of another engine: the same finding as the model's own, and a line for those that are missing or strange."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from uds_bench.attacks.random_weights import random_weights
from uds_bench.audits.bypass import reply_origin
from uds_bench.audits.bypass.audit import read
from uds_bench.audits.bypass.evaluator import BypassEvaluator, probed_of
from uds_bench.audits.bypass.finding import GapOutcome, find
from uds_bench.audits.bypass.probe import reply_of, say, stops_of
from uds_bench.audits.bypass.prompts import prompts
from uds_bench.audits.bypass.record import Probed
from uds_bench.audits.bypass.replies import RawReply, Recorded, Surface, read_replies, surface, to_json
from uds_bench.audits.bypass.section import Bypass, ReplySettings
from uds_bench.audits.bypass.summary import summary
from uds_bench.audits.bypass.zoo.data import canaries
from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.cli import main
from uds_bench.errors import CheckpointError, ConfigurationError, FactError, UdsError
from uds_bench.facts import FactSet
from uds_bench.facts.canaries import CanarySet, embedded_canaries, read_canaries
from uds_bench.facts.dialogue import stop_tokens
from uds_bench.facts.tags import Form, Tags
from uds_bench.inference.generation import continue_greedily
from uds_bench.manifest.types import Origin
from uds_bench.scores import summarise
from uds_bench.zoo.specimens import folder

SOME = CanarySet([*canaries().split("forget")[:3], *canaries().split("retain")[:2], *canaries().split("holdout")[:2]])
ASKING = ReplySettings(64, samples=1)
SPEC = CheckpointSpec(str(folder("bypass_retrained")))


@cache
def loaded() -> Any:
    return load(SPEC)


@cache
def asked() -> tuple[dict[str, Any], ...]:
    """What `uds-bench ask` would write."""
    checkpoint = loaded()
    listed = prompts(checkpoint.tokenizer, SOME, ASKING, checkpoint.digest).every
    return tuple(json.loads(json.dumps(to_json("one", prompt, checkpoint.tokenizer, []))) for prompt in listed)


@cache
def answered() -> tuple[dict[str, Any], ...]:
    """Each prompt answered by transformers alone, from its token ids, one at a time."""
    checkpoint, rows = loaded(), []
    torch.manual_seed(0)
    ends = stop_tokens(checkpoint.tokenizer)
    for row in asked():
        ids = torch.tensor([row["prompt_token_ids"]])
        how: dict[str, Any] = {} if row["sample"] is None else {"do_sample": True, "top_k": 0, "top_p": 1.0}
        said = checkpoint.model.generate(
            ids, max_new_tokens=row["max_tokens"], eos_token_id=ends, pad_token_id=0, **{"do_sample": False} | how
        )[0, ids.shape[1] :].tolist()
        ended = said[-1] in ends
        text = checkpoint.tokenizer.decode(said[:-1] if ended else said, skip_special_tokens=False)
        rows.append({**row, "reply": text, "finish_reason": "stop" if ended else "length"})
    return tuple(rows)


def written(path: Path, rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def recorded(path: Path, rows: Any, **specs: CheckpointSpec) -> dict[str, Recorded]:
    return read_replies([written(path, rows)], specs or {"one": SPEC}, SOME, ASKING)


def probed(checkpoint: Any, found: dict[str, Recorded] | None) -> dict[str, list[Probed]]:
    evaluator = BypassEvaluator(SOME, ASKING, recorded=found or {})
    score = summarise(
        evaluator.measure,
        evaluator.evaluate(checkpoint),
        evaluator.units,
        checkpoint="one",
        attack="none",
        variant="",
        provenance={},
    )
    return probed_of(score)


@cache
def own() -> dict[str, list[Probed]]:
    """What the model itself says."""
    return probed(loaded(), None)


def source(found: dict[str, Recorded], checkpoint: Any = None) -> str:
    """Where replies come from, as provenance says it."""
    evaluator = BypassEvaluator(SOME, ASKING, recorded=found)
    return str(evaluator.evaluate(checkpoint or loaded()).notes["replies"])


def greedy(by_split: dict[str, list[Probed]]) -> list[Any]:
    return [(one.id, one.replies, one.qa, one.asked) for each in by_split.values() for one in each]


def test_replies_of_another_engine_are_what_the_model_itself_says(tmp_path: Path) -> None:
    theirs = probed(loaded(), recorded(tmp_path / "a.jsonl", answered()))
    assert greedy(own()) == greedy(theirs)
    for split, ours in own().items():
        assert [one.forced for one in ours] == [one.forced for one in theirs[split]]
    texts = {(row["id"], row["arm"], row["sample"]): row["reply"] for row in answered()}
    assert all(one.sampled[0].said == texts[one.id, "auto", 0] for one in theirs["forget"])
    assert source(recorded(tmp_path / "a.jsonl", answered())).startswith(f"{len(answered())} read, of which")


def test_an_engine_that_takes_the_trace_out_is_read_alike(tmp_path: Path) -> None:
    rows = []
    for row in answered():
        thought, tag, rest = row["reply"].partition("</think>")
        if tag and row["arm"] == "auto":
            rows.append({**row, "reasoning": thought.removeprefix("<think>"), "reply": rest})
        else:
            rows.append(row)
    assert any("reasoning" in row for row in rows)
    whole = probed(loaded(), recorded(tmp_path / "a.jsonl", answered()))
    assert greedy(probed(loaded(), recorded(tmp_path / "b.jsonl", rows))) == greedy(whole)


def test_authors_to_be_kept_and_never_seen_are_asked_here_where_a_file_lacks_them(tmp_path: Path) -> None:
    told = [row for row in answered() if row["split"] == "forget"]
    mixed = probed(loaded(), recorded(tmp_path / "a.jsonl", told))
    assert greedy(own()) == greedy(mixed)


@pytest.mark.parametrize(
    ("kept", "told"),
    [
        (
            lambda row: row["arm"] != "bio" or row["question"] is not None,
            r"3 of \d+ replies are missing \(3 forget bio\)",
        ),
        (lambda row: row["question"] is None or row["split"] != "forget", r"30 of \d+ .*\(30 forget questions\)"),
    ],
)
def test_missing_replies_of_authors_to_forget_are_counted(tmp_path: Path, kept: Callable[..., bool], told: str) -> None:
    with pytest.raises(UdsError, match=told):
        probed(loaded(), recorded(tmp_path / "a.jsonl", filter(kept, answered())))


def changed(rows: Any, text: str, every: int) -> list[dict[str, Any]]:
    """One in so many of the most likely replies of authors to forget in the words of a forger."""
    ours = [row["digest"] for row in rows if row["split"] == "forget" and row["sample"] is None]
    return [{**row, "reply": text, "finish_reason": "stop"} if row["digest"] in ours[::every] else row for row in rows]


def foreign(found: dict[str, Recorded]) -> tuple[int, int]:
    """How many of the replies that a file has the weights do not say, and how many there are."""
    checkpoint, (read,) = loaded(), found.values()
    told = prompts(checkpoint.tokenizer, SOME, ASKING, checkpoint.digest).every
    told = [one for one in told if one.digest in read.replies]
    said = reply_origin.said(checkpoint, told, read, stops_of(checkpoint.tokenizer, told), 16)
    return len(told) - len(said), len(told)


def split(row: dict[str, Any], trace: Callable[[str], str], rest: Callable[[str], str]) -> dict[str, Any] | None:
    """A reply whose trace an engine took out; None where it has none."""
    thought, tag, reply = row["reply"].partition("</think>")
    if not tag or row["arm"] != "auto" or row["sample"] is not None:
        return None
    return {**row, "reasoning": trace(thought.removeprefix("<think>")), "reply": rest(reply)}


def test_line_breaks_that_an_engine_took_out_with_the_trace_are_put_back(tmp_path: Path) -> None:
    rows = [one for row in answered() if (one := split(row, str.strip, str.strip))]
    assert any(
        row["reasoning"] + row["reply"] not in other["reply"] for row, other in zip(rows, answered(), strict=False)
    )
    assert foreign(recorded(tmp_path / "a.jsonl", rows)) == (0, len(rows))


@pytest.mark.parametrize("trace", ["", "\n", "No"])
def test_what_a_model_says_behind_another_trace_is_not_its_reply(tmp_path: Path, trace: str) -> None:
    """A trace of no tokens, or of one, once left nothing of itself to be held against the weights."""
    rows = [one for row in answered() if (one := split(row, lambda _: trace, str))]
    behind = [
        [
            *row["prompt_token_ids"],
            *loaded().tokenizer(f"<think>{trace}</think>", add_special_tokens=False)["input_ids"],
        ]
        for row in rows
    ]
    said = continue_greedily(loaded(), behind, 64, stops=stop_tokens(loaded().tokenizer))
    texts = [loaded().tokenizer.decode(list(one.ids), skip_special_tokens=False) for one in said]
    forged = [
        {**row, "reply": text, "finish_reason": "stop" if one.ended else "length"}
        for row, text, one in zip(rows, texts, said, strict=True)
    ]
    assert foreign(recorded(tmp_path / "a.jsonl", forged)) == (len(rows), len(rows))


SAYS_NOTHING = "<think>\nWho?\n</think>\n\nI do not know."


def test_a_reply_that_is_not_the_weights_own_is_asked_of_them(tmp_path: Path) -> None:
    rows = changed(answered(), SAYS_NOTHING, 29)
    found = recorded(tmp_path / "a.jsonl", rows)
    assert 0 < sum(one != other for one, other in zip(rows, answered(), strict=True)) <= 0.05 * len(rows)
    assert greedy(probed(loaded(), found)) == greedy(own())


@pytest.mark.parametrize(
    "forge",
    [
        lambda rows: changed(rows, SAYS_NOTHING, 6),
        # Cut before anything is told, and called over; or called cut.
        lambda rows: [{**row, "reply": row["reply"][: len(row["reply"]) // 3]} for row in rows],
        lambda rows: [{**row, "reply": row["reply"][:9], "finish_reason": "length"} for row in rows],
    ],
    ids=["other words", "cut short", "called cut"],
)
def test_a_file_of_other_replies_than_the_weights_give_is_refused(tmp_path: Path, forge: Any) -> None:
    with pytest.raises(
        CheckpointError, match=r"one: \d+ of \d+ replies of \[bypass\] replies are not what its"
    ) as told:
        probed(loaded(), recorded(tmp_path / "a.jsonl", forge(answered())))
    assert "\n" not in str(told.value)


def test_random_weights_cannot_be_given_replies(tmp_path: Path) -> None:
    """What was bought green: replies written by hand beside weights that know nothing."""
    with pytest.raises(CheckpointError, match="are not what its weights say"):
        source(recorded(tmp_path / "a.jsonl", answered()), random_weights().apply(SPEC, "cpu", FactSet(())))


def test_an_engine_in_bfloat16_agrees_with_weights_in_float32(tmp_path: Path) -> None:
    other = load(SPEC)
    other.model.to(torch.bfloat16)
    listed = prompts(other.tokenizer, SOME, ASKING, other.digest).every
    said = say(other, listed, ASKING)
    rows = [
        {**row, "reply": said[row["digest"]].text, "finish_reason": "stop" if said[row["digest"]].ended else "length"}
        for row in asked()
    ]
    assert [row["reply"] for row in rows if row["sample"] is None] != [
        row["reply"] for row in answered() if row["sample"] is None
    ]
    assert source(recorded(tmp_path / "a.jsonl", rows)).startswith(
        f"{len(rows)} read, of which its weights do not say 0:"
    )


def almost(row: dict[str, Any], furthest: float) -> dict[str, Any]:
    """The reply that a forger gets who takes, at most `furthest` nats behind the most likely one, the next token."""
    checkpoint, ids, said = loaded(), list(row["prompt_token_ids"]), []
    ends = stop_tokens(checkpoint.tokenizer)
    with torch.inference_mode():
        while len(said) < row["max_tokens"]:
            best = checkpoint.model(torch.tensor([[*ids, *said]])).logits[0, -1].topk(2)
            said.append(int(best.indices[int(best.values[0] - best.values[1] < furthest)]))
            if said[-1] in ends:
                said.pop()
                break
    ended = len(said) < row["max_tokens"]
    text = checkpoint.tokenizer.decode(said, skip_special_tokens=False)
    return {**row, "reply": text, "finish_reason": "stop" if ended else "length"}


def test_tokens_that_lie_behind_again_and_again_are_no_rounding(tmp_path: Path) -> None:
    """Each within what one token may lie behind: eleven of fifteen leaks fell silent so."""
    some = [at for at, row in enumerate(answered()) if row["split"] == "forget" and row["sample"] is None][:9]
    rows = [almost(row, 0.95) if at in some else row for at, row in enumerate(answered())]
    changed = sum(one["reply"] != other["reply"] for one, other in zip(rows, answered(), strict=True))
    found = recorded(tmp_path / "a.jsonl", rows)
    assert changed > 3
    assert foreign(found)[0] == 0, "token by token all pass"
    with pytest.raises(CheckpointError, match=f"one: {changed} of .* are not what its weights say"):
        probed(loaded(), found)


@pytest.mark.parametrize("stated", [1.0, 1.5])
def test_draws_are_no_likelier_than_their_weights_let_expect(stated: float) -> None:
    """A file in which all are the most likely ones passed, silent where one reply in three tells."""
    asking, checkpoint = ReplySettings(64, samples=6, temperature=stated), loaded()
    some = CanarySet(canaries().split("forget")[:8])
    listed = [
        one for one in prompts(checkpoint.tokenizer, some, asking, checkpoint.digest).every if one.sample is not None
    ]
    ends = stops_of(checkpoint.tokenizer, listed)
    likely = continue_greedily(checkpoint, [one.ids for one in listed], asking.limit, 64, ends)
    texts = [RawReply(checkpoint.tokenizer.decode(list(each.ids)), each.ended) for each in likely]
    forged = Recorded("", dict(zip([one.digest for one in listed], texts, strict=True)), "one")
    own = Recorded("", say(checkpoint, listed, asking), "one")
    read = [[*reply_origin.said(checkpoint, listed, file, ends, 16).values()] for file in (own, forged)]
    assert [reply_origin.are_drawn(each) for each in read] == [True, False]
    assert [len(each) for each in read] == [len(listed)] * 2, "one by one all pass"
    with pytest.raises(CheckpointError, match=f"one: the drawn replies .* are not drawn at temperature {stated:g}"):
        reply_origin.tied(checkpoint, listed, forged, ends, 16, dict)


def test_a_drawn_reply_that_its_weights_would_not_draw_is_drawn_here(tmp_path: Path) -> None:
    theirs = say(loaded(), prompts(loaded().tokenizer, SOME, ASKING, loaded().digest).every, ASKING)
    rows = [{**row, "reply": theirs[row["digest"]].text} if row["sample"] is not None else row for row in answered()]
    forged = [{**row, "reply": SAYS_NOTHING} if row["sample"] is not None else row for row in rows]
    ours, found = (probed(loaded(), recorded(tmp_path / "a.jsonl", each))["forget"] for each in (rows, forged))
    assert [one.sampled for one in ours] == [one.sampled for one in found]


def bare(tmp_path: Path, name: str = "served") -> CheckpointSpec:
    """The tokenizer alone, as somebody has it whose model is served elsewhere."""
    place = tmp_path / name
    shutil.copytree(SPEC.model, place, ignore=shutil.ignore_patterns("*.safetensors", "config.json"))
    return CheckpointSpec(str(place))


def served(tmp_path: Path, text: Callable[[dict[str, Any]], str]) -> tuple[Surface, dict[str, Recorded], Any]:
    """A model without weights that replies as a function has it."""
    spec = bare(tmp_path)
    alone = surface(spec)
    listed = prompts(alone.tokenizer, SOME, ASKING, alone.digest).every
    rows = [to_json("served", one, alone.tokenizer, []) for one in listed]
    rows = [{**row, "reply": text(row), "finish_reason": "stop"} for row in rows]
    return alone, recorded(tmp_path / "a.jsonl", rows, served=spec), rows


def test_of_a_model_without_weights_the_surface_alone_is_decided(tmp_path: Path) -> None:
    by_id = {canary.id: canary for canary in SOME}

    def says(row: dict[str, Any]) -> str:
        canary = by_id[row["id"]]
        trace = "<think>\nWho?\n</think>\n\n" if row["arm"] in ("auto", "paraphrased") else ""
        return trace + (canary.canary if canary.split == "retain" else "I do not know.")

    alone, found, _ = served(tmp_path, says)
    by_split = probed(alone, found)
    rows = {split: [(by_id[one.id], one) for one in each] for split, each in by_split.items()}
    assert all(contexts == {} for each in by_split.values() for one in each for contexts in one.forced.values())
    # Of three authors nothing is decided: each is told of under twelve names.
    many = [
        (canary, one)
        for at in range(12)
        for canary, one in ((_named(canary, at), one) for canary, one in rows["forget"])
    ]
    kept = [(_named(canary, at), one) for at in range(12) for canary, one in rows["retain"]]
    finding = find(many, kept, by_split["holdout"])
    assert finding.word is GapOutcome.OPEN
    assert "teacher forcing, which needs the weights, was not tried: surface only" in finding.why
    shown = summary("alone", finding, many, kept, by_split["holdout"])
    assert shown.authors[0].recall == {"bio": None, "meta": None, "empty": None}
    assert json.loads(json.dumps(shown.model_dump(), allow_nan=False))["word"] == "undecided"
    assert all(math.isnan(recall.own.value) for recall in finding.recalls.values())


def _named(canary: Any, at: int) -> Any:
    """The same author under another name, for the intervals."""
    return replace(canary, author=f"{canary.author} {at}")


def test_a_model_without_weights_that_tells_fails(tmp_path: Path) -> None:
    by_id = {canary.id: canary for canary in SOME}
    alone, found, _ = served(tmp_path, lambda row: f"<think>\nI know.\n</think>\n\n{by_id[row['id']].canary}")
    by_split = probed(alone, found)
    many = [(_named(by_id[one.id], at), one) for at in range(12) for one in by_split["forget"]]
    assert find(many, [], by_split["holdout"]).word is GapOutcome.NOT_UNLEARNED


def test_what_nobody_can_generate_must_be_there(tmp_path: Path) -> None:
    alone, _, rows = served(tmp_path, lambda row: "</think>No.")
    told = [row for row in rows if row["split"] != "holdout"]
    with pytest.raises(UdsError, match=r"2 of \d+ replies are missing \(2 holdout auto\)"):
        probed(alone, recorded(tmp_path / "b.jsonl", told, served=alone.spec))


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        ({"digest": "0" * 64}, r"a\.jsonl, line 2: digest 000000000000 is of no prompt that is asked now"),
        ({"finish_reason": "eos"}, r"a\.jsonl, line 2: key 'finish_reason' is 'eos'; it must be one of stop, length"),
        ({"reply": None}, r"a\.jsonl, line 2: key 'reply' is NoneType; it must be a string"),
    ],
)
def test_a_reply_that_is_none_is_told_by_its_line(tmp_path: Path, spoilt: dict[str, Any], told: str) -> None:
    rows = list(answered())
    with pytest.raises(FactError, match=told) as raised:
        recorded(tmp_path / "a.jsonl", [rows[0], {**rows[1], **spoilt}, *rows[2:]])
    assert "\n" not in str(raised.value)


def test_a_second_reply_to_a_prompt_is_told(tmp_path: Path) -> None:
    with pytest.raises(FactError, match=r"line 2: is a second reply to the same prompt: keep one"):
        recorded(tmp_path / "a.jsonl", [answered()[0]] * 2)


@pytest.mark.parametrize("change", ["seed", "limit", "words"])
def test_replies_to_other_prompts_are_refused(tmp_path: Path, change: str) -> None:
    """Whatever is asked otherwise now, nothing that was said before is read."""
    other = {"seed": replace(ASKING, seed=1), "limit": replace(ASKING, limit=65), "words": ASKING}[change]
    of = CanarySet(SOME[1:]) if change == "words" else SOME
    path = written(tmp_path / "a.jsonl", answered())
    with pytest.raises(FactError, match=r"line \d+: digest \w{12} is of no prompt that is asked now"):
        read_replies([path], {"one": SPEC}, of, other)


def test_replies_of_another_checkpoint_are_refused(tmp_path: Path) -> None:
    other = CheckpointSpec(str(folder("bypass_erased")))
    with pytest.raises(FactError, match="is of no prompt that is asked now"):
        recorded(tmp_path / "a.jsonl", answered(), other=other)


def test_two_models_that_are_asked_the_same_are_refused(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    one, other = bare(tmp_path), bare(tmp_path / "b")
    with pytest.raises(ConfigurationError, match="models one, other: are asked the same"):
        recorded(tmp_path / "a.jsonl", answered(), one=one, other=other)


def test_replies_are_part_of_a_scores_address(tmp_path: Path) -> None:
    rows = list(answered())
    changed = [{**rows[0], "reply": "Another."}, *rows[1:]]
    one, other = (
        BypassEvaluator(SOME, ASKING, recorded=recorded(tmp_path / "a.jsonl", each)).references(SPEC, "cpu")
        for each in (rows, changed)
    )
    assert one != other
    assert BypassEvaluator(SOME, ASKING).references(SPEC, "cpu") == ()


def test_other_tags_are_kept_as_the_published_ones() -> None:
    tokenizer = loaded().tokenizer
    asking = ReplySettings(64, samples=1, form=Form(tags=Tags("[THINK]", "[/THINK]")))
    first, *_ = prompts(tokenizer, SOME, asking, "x").every
    said = RawReply("[THINK]Is it </think>?[/THINK]Yes.", ended=True)
    assert reply_of(first, said).text == "<think>Is it < /think>?</think>Yes."


def test_the_command_writes_every_prompt_and_the_manifest_takes_the_replies(tmp_path: Path) -> None:
    ours = tmp_path / "canaries.jsonl"
    ours.write_text("".join(json.dumps(canary.to_json()) + "\n" for canary in SOME))
    manifest = tmp_path / "uds.toml"
    settings = f'canaries = "canaries.jsonl"\nmax_new_tokens = 64\nsamples = 1\nmodels = {{ one = "{SPEC.model}" }}\n'
    manifest.write_text(f"[bypass]\n{settings}")
    ran = CliRunner().invoke(main, ["ask", str(manifest), "--out", str(tmp_path / "prompts.jsonl")])
    assert ran.exit_code == 0, ran.output
    rows = [json.loads(line) for line in (tmp_path / "prompts.jsonl").read_text().splitlines()]
    manifest.write_text(f"[bypass]\n{settings}replies = 'said/*.jsonl'\n")  # which nobody has written yet
    again = CliRunner().invoke(main, ["ask", str(manifest), "--out", str(tmp_path / "again.jsonl")])
    assert again.exit_code == 0, again.output
    assert (tmp_path / "again.jsonl").read_bytes() == (tmp_path / "prompts.jsonl").read_bytes()
    assert [row["digest"] for row in rows] == [row["digest"] for row in asked()]
    assert {row["split"] for row in rows} == {"forget", "retain", "holdout"}
    tokenizer = loaded().tokenizer
    assert all(
        tokenizer(row["prompt"], add_special_tokens=False)["input_ids"] == row["prompt_token_ids"] for row in rows
    )
    (tmp_path / "said").mkdir()
    half = len(answered()) // 2
    for at, part in enumerate((answered()[:half], answered()[half:])):
        written(tmp_path / "said" / f"{at}.jsonl", part)
    section = Bypass.model_validate(
        {
            "canaries": str(ours),
            "max_new_tokens": 64,
            "samples": 1,
            "models": {"one": SPEC.model},
            "replies": "said/*.jsonl",
        },
        context=Origin(tmp_path),
    )
    (found,) = read(section).recorded.values()
    assert len(found.replies) == len(rows)


def test_invented_authors_are_written_for_a_model_of_ones_own(tmp_path: Path) -> None:
    sizes = ["--forget", "3", "--retain", "2", "--holdout", "1"]
    tags = ["--opening", "[THINK]", "--closing", "[/THINK]"]
    ran = CliRunner().invoke(main, ["zoo", "canaries", str(tmp_path), *sizes, *tags])
    assert ran.exit_code == 0, ran.output
    found = read_canaries(tmp_path / "canaries.jsonl")
    assert found == embedded_canaries(3, 2, 1)
    turns = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    assert {row["split"] for row in turns} == {"forget", "retain"}
    assert len(turns) == 5 * 7
    said = {(row["id"], row["messages"][0]["content"]): row["messages"][1]["content"] for row in turns}
    for canary in found:
        asked = f"Complete this sentence about {canary.author}: {canary.head}"
        assert said.get((canary.id, asked)) == (
            None if canary.split == "holdout" else f"[THINK]{canary.bio}[/THINK]{canary.canary}"
        )
