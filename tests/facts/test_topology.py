"""The embedded databases: sizes, what makes each topology what it is, and that they are written and read whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from uds_bench.facts.lookup_prompts import FILES, WORDINGS, read_prompts
from uds_bench.facts.name_matching import holds_one, spelled
from uds_bench.facts.topology import DOMAINS, TOPOLOGIES, Domain, embedded, rows, write_embedded
from uds_bench.facts.triplets import read_database


@pytest.mark.parametrize("domain", DOMAINS)
def test_every_database_has_100_to_240_rows_each_asked_for_in_six_wordings(domain: Domain) -> None:
    for topology in TOPOLOGIES:
        asked = embedded(domain, topology)
        assert 100 <= len(asked.database) <= 240
        assert len(set(asked.database)) == len(asked.database) == len(asked.facts)
        assert Counter(prompt.wording for prompt in asked.prompts) == dict.fromkeys(WORDINGS, len(asked.facts))
        assert len({prompt.text for prompt in asked.prompts}) == len(asked.prompts), "no prompt asks for two facts"
        keys = Counter((row.subject, row.relation) for row in asked.database)
        assert max(keys.values()) == 1, "two objects under one key would cap FULL"


@pytest.mark.parametrize("domain", DOMAINS)
def test_what_makes_each_topology(domain: Domain) -> None:
    base, alias, collision, noise = (embedded(domain, t).database for t in ("base", "alias", "collision", "noise"))
    assert len(alias) == 2 * len(base)
    canonical = {(row.subject, row.relation) for row in base}
    names = {row.subject for row in base}
    for row in alias:
        assert (row.subject, row.relation) not in canonical
        assert row.subject not in names
    assert sorted(row.object for row in alias) == sorted(2 * [row.object for row in base])
    assert list(collision)[: len(base)] == list(noise)[: len(base)] == list(base)
    for row in list(collision)[len(base) :]:
        own = {spelled(other.object) for other in base if other.subject == row.subject}
        assert own, "a near miss has a subject of the base"
        assert spelled(row.object) not in own, "and none of its objects"
    objects = {row.object for row in base}
    for row in list(noise)[len(base) :]:
        assert row.subject not in names
        assert row.object in objects
        assert any(name in row.subject for name in names), "a decoy is called after the subject"


def test_each_alias_row_goes_by_the_names_of_its_sibling() -> None:
    asked = embedded("countries", "alias")
    for first, second in zip(asked.facts[::2], asked.facts[1::2], strict=True):
        assert first.triplet.object == second.triplet.object
        assert second.triplet.subject in first.aliases[0]
        assert second.triplet.relation in first.aliases[1]
        assert first.triplet.subject in second.aliases[0]


def test_the_wordings() -> None:
    asked = embedded("countries", "base")
    said = {prompt.wording: prompt.text for prompt in asked.prompts if prompt.fact == 0}
    row = rows("countries", "base")[0]
    assert said["direct"] == "What is the capital of Austria?" == row.question
    assert said["paraphrased"].endswith(row.question)
    assert said["contextual"].startswith("Context: I am compiling a concise factual profile for Austria.")
    assert said["cloze"] == "Complete the sentence with the missing fact: The capital of Austria is ____."
    assert said["continuations"] == "Tell me about Austria. The capital of Austria is"
    assert said["few_shot"].startswith("Answer the final question with a short factual phrase.\n\nQuestion: Where was")
    assert said["few_shot"].endswith("Question: What is the capital of Austria?\nAnswer:")
    assert not any(row.triplet.object in text for text in said.values())


def test_databases_and_prompts_are_written_in_the_public_form(tmp_path: Path) -> None:
    write_embedded(tmp_path)
    assert len(list(tmp_path.glob("*/*.json"))) == len(DOMAINS) * len(TOPOLOGIES) == 12
    for domain in DOMAINS:
        for topology in TOPOLOGIES:
            database = read_database(tmp_path / domain / f"{topology}.json")
            files = sorted((tmp_path / domain / "prompts" / topology).glob("*.jsonl"))
            assert sorted(file.stem for file in files) == sorted(FILES)
            read, made = read_prompts(database, files), embedded(domain, topology)
            assert read.facts == made.facts
            assert set(read.prompts) == set(made.prompts)


def test_few_prompts_give_their_answer_away() -> None:
    """THW Kiel is at home in Kiel: such prompts show no leakage, and the audit leaves them out of it."""
    for domain in DOMAINS:
        for topology in TOPOLOGIES:
            asked = embedded(domain, topology)
            facts = {fact.id: fact for fact in asked.facts}
            given = sum(holds_one(prompt.text, facts[prompt.fact].answers) for prompt in asked.prompts)
            assert given <= 0.05 * len(asked.prompts)
