"""Every parser of a file that somebody else may have written, with files that it reads: what is fuzzed starts there."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from file_rows import BAKER, CANARY, CAPITALS, FACT, JANE, PHONE, REQUEST, SPANS, asks
from made_cells import CELL
from made_cells import SCORE as KEPT
from safetensors.numpy import save
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from uds_bench.attacks.prompts import own_questions
from uds_bench.audits.association.likelihoods import read_likelihoods
from uds_bench.audits.bypass.replies import _raw_reply
from uds_bench.audits.manifests import load_manifest
from uds_bench.cards.reading import read_statement
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.checkpoints.adapter import _json, require_its_base
from uds_bench.checkpoints.bounded import _READ, _is_common
from uds_bench.checkpoints.loading import tokenizer_in
from uds_bench.checkpoints.masks import read_masks
from uds_bench.checkpoints.patterns import patterns
from uds_bench.checkpoints.source import Folders, read_config
from uds_bench.checkpoints.stored import stored
from uds_bench.checkpoints.weights import weight_files
from uds_bench.claims.default_run import read_gate
from uds_bench.claims.goldens import Goldens
from uds_bench.claims.waivers import load_waivers
from uds_bench.cli.documents import read_document
from uds_bench.cli.import_reported import _read as read_reported
from uds_bench.facts import load_facts
from uds_bench.facts.canaries import read_canaries
from uds_bench.facts.lookup_prompts import read_prompts
from uds_bench.facts.properties import embedded
from uds_bench.facts.records import read_records
from uds_bench.facts.requests import read_requests
from uds_bench.facts.stock_names import read_names
from uds_bench.facts.subjects import read_people
from uds_bench.facts.testbed import read_testbed
from uds_bench.facts.triplets import Triplet, TripletDatabase, read_database
from uds_bench.facts.web_presence import read_presence
from uds_bench.facts.wikidata import Dump
from uds_bench.inference.reply_rules import ReplyRules, read_reply_rules, require_served
from uds_bench.scoring.store import Store
from uds_bench.storage import canonical, load_json, sealed

ROOT = Path(__file__).parents[2]
CORPUS = Path(__file__).parent / "corpus"
"""Inputs that a parser once fell over, by its name: each is tried whenever tests are run."""


@dataclass(frozen=True)
class Parser:
    """`name`: of the file that `read` is given; `seeds`: what it reads."""

    name: str
    read: Callable[[Path], object]
    seeds: tuple[bytes, ...]


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


DATABASE = TripletDatabase([Triplet(*row) for row in CAPITALS], "db.json")
Q5 = {"type": "wikibase-entityid", "value": {"id": "Q5"}}
BORN = {"type": "time", "value": {"time": "+1952-03-11T00:00:00Z", "precision": 11}}
TALL = {"type": "quantity", "value": {"amount": "+2", "unit": "http://www.wikidata.org/entity/Q11573"}}


def _snak(kind: str, value: object) -> list[dict[str, object]]:
    return [{"mainsnak": {"snaktype": "value", "datatype": kind, "datavalue": value}, "rank": "normal"}]


CLAIMS = {"P31": _snak("wikibase-item", Q5), "P569": _snak("time", BORN), "P2048": _snak("quantity", TALL)}
ENTITY = {"type": "item", "id": "Q1", "labels": {"en": {"value": "Jo"}}, "claims": CLAIMS}
LISTED = {"type": "property", "id": "P1", "labels": {"en": {"value": "x"}}, "datatype": "string", "aliases": []}
CARD = {
    "_type": "https://in-toto.io/Statement/v1",
    "predicateType": "https://in-toto.io/attestation/test-result/v0.1",
    "subject": [{"name": "npo/model.safetensors", "digest": {"sha256": "ab" * 32}}],
    "predicate": {
        "result": "PASSED",
        "configuration": [
            {"name": "run.json", "digest": {"sha256": "ab" * 32}, "annotations": {"candidate": "npo", "claims": []}}
        ],
    },
}
SCORE = {"checkpoint": "a", "attack": "none", "metric": "uds", "variant": "block", "value": 0.5, "per_fact": []}
CONFIG = {
    "model_type": "llama",
    "num_hidden_layers": 2,
    "hidden_size": 16,
    "num_attention_heads": 2,
    "vocab_size": 32,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0},
}
WAIVER = b'[[waiver]]\nclaim = "depth.score[npo]"\nreason = "x"\nexpires = 2999-01-01\nthreshold = 0.5\n'
MANIFEST = b"""[facts]
source = "authors"
[references]
full = "specimen:full"
retain = "specimen:retain"
[candidates]
npo = { model = "specimen:npo", dtype = "float32" }
[thresholds]
"depth.score" = 0.9
[expect]
"depth.score[npo]" = { verdict = "fail", reason = "x" }
[attacks]
relearn = { epochs = 1, lr = 3e-3 }
"""


ADAPTER = {
    "peft_type": "LORA",
    "base_model_name_or_path": "a/b",
    "r": 8,
    "target_modules": "q.*",
    "rank_pattern": {"q": 2},
}
REPLY = {"digest": "ab" * 32, "reply": "He is.", "finish_reason": "stop", "reasoning": "Well."}
ASKED = {"fact": "a", "question": "Who?", "opening": "He"}

WORDS = Tokenizer(models.WordLevel({"<unk>": 0, "</s>": 1, "He": 2, "is": 3}, unk_token="<unk>"))
PAIRS = Tokenizer(models.BPE({"<unk>": 0, "</s>": 1, "h": 2, "e": 3, "he": 4}, [("h", "e")], unk_token="<unk>"))
for one in (WORDS, PAIRS):
    one.add_special_tokens(["<unk>", "</s>"])
SPECIAL = {"eos_token": "</s>", "unk_token": {"content": "<unk>", "lstrip": False, "special": True}}
SAVED = SPECIAL | {"unk_token": {"__type": "AddedToken", "content": "<unk>", "special": True}}
TOKENIZER = {
    "tokenizer.json": WORDS.to_str().encode(),
    "tokenizer_config.json": _text({"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512} | SAVED),
}
SPOKEN = PreTrainedTokenizerFast(tokenizer_object=WORDS, eos_token="</s>")
GENERATION = {"eos_token_id": [1], "max_new_tokens": 16, "temperature": 0.7, "do_sample": True}


def _beside(path: Path, others: dict[str, bytes]) -> Path:
    """The folder of a file, with the others that a checkpoint has."""
    for name, content in others.items():
        if name != path.name:
            (path.parent / name).write_bytes(content)
    return path.parent


def _takes_a_child(path: Path) -> bool:
    """Whether a child would read it first, for seconds: `test_hostile_checkpoints.py` has such files."""
    try:
        return path.name in _READ and not _is_common(load_json(path.read_bytes()), _READ[path.name])
    except ValueError:
        return False


def _tokenizer(path: Path) -> object:
    return _takes_a_child(path) or tokenizer_in(_beside(path, TOKENIZER), "a")


def _generation(path: Path) -> object:
    if _takes_a_child(path):
        return None
    folder = _beside(path, {"config.json": _text(CONFIG), "model.safetensors": b""} | TOKENIZER)
    found = read_reply_rules(CheckpointSpec(str(folder)), SPOKEN)
    return require_served("a", found, ReplyRules(SPOKEN, frozenset({1})))


def _cell(path: Path) -> object:
    """Under its seal, which whoever may write to a store can make."""
    path.write_bytes(sealed(path.read_bytes()))
    return Store(path.parents[2]).find(CELL.key)


def _weights(path: Path) -> object:
    return weight_files(_beside(path, {"model-1.safetensors": save({"w": np.zeros((2, 2), "float32")})}))


def _adapter(path: Path) -> object:
    require_its_base(CheckpointSpec(str(path.parent)), Folders(path.parent, path.parent))
    return list(patterns(_json(path)))


def _parsers() -> dict[str, Parser]:
    known, default = embedded(), (ROOT / "goldens" / "default.json").read_bytes()
    golden = json.loads(next(ROOT.glob("goldens/*/specimens.json")).read_bytes())
    golden["entries"] = dict(list(golden["entries"].items())[:2])
    gate = json.loads(default)
    gate["claims"] = dict(list(gate["claims"].items())[:2])
    item = {"id": "a", "person": "p", "part": "forget", "field": "x", "answer": "a", "questions": ["q"], "group": "f"}
    dump = b"[\n" + _text(ENTITY) + b",\n" + _text(LISTED) + b"\n]\n"
    masks = save({"up": np.ones((2, 2), "int32")}, {"groups": _text([["born", "forget"]]).decode()})
    one = save({"w": np.zeros((2, 2), "float32")}, {"groups": "[]"})
    return {
        "manifest": Parser("uds.toml", load_manifest, (MANIFEST,)),
        "waivers": Parser("waivers.toml", lambda path: load_waivers(path, date(2026, 1, 1)), (WAIVER,)),
        "facts": Parser("facts.jsonl", load_facts, (_text(FACT) + b"\n" + _text({**FACT, "id": "b"}),)),
        "annotated": Parser("facts.json", load_facts, (_text([{"idx": 0, **SPANS}]),)),
        "people": Parser("people.jsonl", lambda path: read_people(path, known), (_text(JANE),)),
        "requests": Parser(
            "requests.jsonl", lambda path: read_requests(path, known), (_text(REQUEST | {"facts": [PHONE, BAKER]}),)
        ),
        "presence": Parser(
            "presence.csv", read_presence, (b"id,page_views,article_length,language_editions\na,1,2,3\nb,4,5,6\n",)
        ),
        "canaries": Parser("canaries.jsonl", read_canaries, (_text(CANARY),)),
        "database": Parser("db.json", read_database, (_text({"triplets": CAPITALS}),)),
        "prompts": Parser(
            "prompts_cloze.jsonl", lambda path: read_prompts(DATABASE, [path]), (_text(asks(0, CAPITALS[0])),)
        ),
        "testbed": Parser("items.jsonl", read_testbed, (_text(item),)),
        "names": Parser("names.txt", read_names, (b"Ann Bly\nJo Ek\n",)),
        "dump": Parser("dump.json", lambda path: list(Dump(path).read(lambda at: None)), (dump,)),
        "goldens": Parser("specimens.json", lambda path: Goldens.read(path.parents[1]), (_text(golden),)),
        "gate": Parser("default.json", lambda path: read_gate(path.parent), (_text(gate),)),
        "scores": Parser("scores.json", read_document, (_text({"schema": 1, "scores": [SCORE], "errors": []}),)),
        "card": Parser("card.json", read_statement, (_text(CARD),)),
        "configuration": Parser("config.json", lambda path: read_config(path.parent), (_text(CONFIG),)),
        "index": Parser(
            "model.safetensors.index.json", _weights, (_text({"weight_map": {"w": "model-1.safetensors"}}),)
        ),
        "weights": Parser("model.safetensors", stored, (one,)),
        "masks": Parser("masks.safetensors", read_masks, (masks,)),
        "adapter": Parser("adapter_config.json", _adapter, (_text(ADAPTER),)),
        "replies": Parser("replies.jsonl", lambda path: [*map(_raw_reply, read_records(path))], (_text(REPLY),)),
        "tokenizer": Parser("tokenizer.json", _tokenizer, (TOKENIZER["tokenizer.json"], PAIRS.to_str().encode())),
        "tokenizer_config": Parser("tokenizer_config.json", _tokenizer, (TOKENIZER["tokenizer_config.json"],)),
        "special_tokens": Parser("special_tokens_map.json", _tokenizer, (_text(SPECIAL),)),
        "generation": Parser("generation_config.json", _generation, (_text(GENERATION),)),
        "likelihoods": Parser("said.jsonl", read_likelihoods, (_text({"sentence": "He is.", "logprob": -1.5}),)),
        "reported": Parser("TOFU_EVAL.json", read_reported, (_text({"es": 0.07, "mia_loss": {"agg_value": 0.5}}),)),
        "cells": Parser(f"cells/{CELL.key[:2]}/{CELL.key}.json", _cell, (canonical(KEPT.to_json()),)),
        "questions": Parser("mine.jsonl", lambda path: own_questions(str(path)), (_text(ASKED),)),
    }


PARSERS = _parsers()
TOKENS = [
    b"", b"null", b"true", b"-1", b"0.5", b"1e999", b"NaN", b"9" * 5000, b'""', b'"x"', b"[]", b"{}", b"[[[]]]",
    b'{"a":1}', b"[" * 2000, b'{"a":' * 2000, b'"\\ud800"', b'"\\u0000"', b'"\\u001b[31m\\n::error::x"', b"\xff",
    b"\x00", b"\xef\xbb\xbf", b'"' + b"x" * 3000 + b'"', b"1979-05-27", b"[[a]]", b"a.b.c = 1\n", b'"Q5"', b"\n",
    b"\r", b",", b"'", b"\x1f\x8b", b"BZh",
]  # fmt: skip
_VALUE = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|\btrue\b|\bfalse\b|\bnull\b')
Edit = tuple[str, float, bytes]
WAYS = ["value", "insert", "cut", "byte", "whole"]


def drawn_edits(drawn: Random) -> list[Edit]:
    """Places in a file, as shares of its length, and what is done there."""
    tokens = (drawn.choice(TOKENS) if drawn.random() < 0.7 else drawn.randbytes(drawn.randrange(7)) for _ in range(5))
    weights = (8, 4, 4, 4, 1)
    return [(drawn.choices(WAYS, weights)[0], drawn.random(), token) for token in tokens][drawn.randrange(5) :]


def edited(content: bytes, edits: list[Edit]) -> bytes:
    """A file changed, one edit after the other: values replaced, bytes put in, taken out or turned."""
    for what, share, token in edits:
        at = int(share * len(content))
        if what == "value" and (found := list(_VALUE.finditer(content))):
            one = found[int(share * len(found))]
            content = content[: one.start()] + token + content[one.end() :]
        elif what == "insert":
            content = content[:at] + token + content[at:]
        elif what == "cut":
            content = content[:at] + content[at + max(1, len(token)) :]
        elif what == "byte" and content:
            content = content[:at] + bytes([content[at] ^ (token[:1] or b"\x01")[0]]) + content[at + 1 :]
        elif what == "whole":
            content = token
    return content
