"""What each page speaks of: models and files under the names that it uses, and what its code must come to."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict
from typing import Any

import torch
import transformers
from books import ROOT, blocks
from families import FAMILIES, LAYERS, WIDTH, save_checkpoint, tiny_tokenizer
from file_rows import CANARY, JANE, REQUEST
from peft import LoraConfig, get_peft_model
from walk import Place, Walk

from uds_bench.checkpoints import CheckpointSpec, load
from uds_bench.facts import load_facts
from uds_bench.facts.canaries import read_canaries
from uds_bench.facts.exposed_people import embedded_people
from uds_bench.facts.properties import embedded
from uds_bench.facts.subjects import read_people
from uds_bench.methods import unlearning_data
from uds_bench.trials import recorded_cards
from uds_bench.trials.trial import lesson

ATTACKS = "[attacks]\nnf4 = {}\nrelearn = { epochs = 4, lr = 3e-3, batch_size = 6 }\n"
POOLS = '[pools]\npositive = ["runs/full2"]\nnegative = ["runs/retain2"]\n'


def shaped(example: Any, found: Any, where: str = "") -> list[str]:
    """Keys of an example that are nowhere in what is written."""
    if isinstance(example, list):
        return [fault for one in example[:1] for fault in shaped(one, found[0] if found else {}, f"{where}[]")]
    if not isinstance(example, dict) or not isinstance(found, dict):
        return []
    faults = [f"{where}.{key}" for key in example if key not in found]
    for key in example.keys() & found.keys():
        faults += shaped(example[key], found[key], f"{where}.{key}")
    return faults


def like(name: str) -> Any:
    """A reader of rows that must have no key which a file that was written lacks."""

    def read(place: Place, row: Any) -> None:
        text = (place.folder / name).read_text()
        found = json.loads(text.splitlines()[0] if name.endswith(".jsonl") else text)
        found = found | {"claims": [one for one in found["claims"] if one["bound"]]} if "claims" in found else found
        assert shaped(row, found) == []

    return read


def lay_readme(place: Place) -> None:
    place.models(full="full", retain="retain", npo="retain3", full_seed2="full2", retain_seed2="retain2")
    place.facts()
    full = transformers.AutoModelForCausalLM.from_pretrained(place.folder / "runs" / "full")
    get_peft_model(full, LoraConfig(target_modules="all-linear")).save_pretrained(place.folder / "runs" / "simnpo-lora")


def fact_is_read(place: Place, row: Any) -> None:
    place.rows("one.jsonl", row)
    assert len(load_facts(place.folder / "one.jsonl")) == 1


def after_readme(place: Place) -> None:
    assert "1 failed, 1 passed" in place.printed
    assert list((place.folder / "reports").rglob("index.html"))


def lay_associated(place: Place) -> None:
    place.models(full="specimen:assoc_full", retain="specimen:assoc_retain", npo="specimen:assoc_npo")
    people = [
        JANE | {"id": f"q{at}", "name": one.name, "facts": [asdict(statement) for statement in one.statements]}
        for at, one in enumerate(embedded_people()[:3])
    ]
    place.rows("people.jsonl", *people)
    place.rows("requests.jsonl", REQUEST)
    place.write("web.csv", "id,page_views,article_length,language_editions\nq0,9,9,9\nq1,5,5,5\nq2,1,1,1\n")
    brief = 'forgotten = ["q0"]\ntemplates = 1\ncounterfactuals = 10\nsimilar_names = 1\n'
    place.write("made.toml", f'[association]\nmodel = "runs/full"\nsubjects = "people.jsonl"\n{brief}')
    place.shell("uds-bench forget-set --manifest made.toml --out forget.jsonl")


def person_is_read(place: Place, row: Any) -> None:
    place.rows("people.jsonl", row)
    assert [one.id for one in read_people(place.folder / "people.jsonl", embedded())[0]] == [row["id"]]


def told_by_somebody(place: Place, row: Any) -> None:
    """Answers of the row's shape to every sentence, of which Jane Doe's likeliest is the true one."""
    sentences = dict.fromkeys((place.folder / "sentences.txt").read_text().splitlines())
    near = {one: -1.0 if "Jane Doe" in one and "baker" in one else row["logprob"] for one in sentences}
    place.rows("logprobs.jsonl", *(row | {"sentence": one, "logprob": value} for one, value in near.items()))


def after_association(place: Place) -> None:
    assert place.printed.splitlines()[-1] == "q1/P106 1.0"


def lay_bypass(place: Place) -> None:
    runs = ("mem", "npo_seed0")
    place.models(**dict.fromkeys(runs, "specimen:bypass_memorized"))
    base = ROOT / "uds_bench" / "zoo" / "shipped" / "bypass_memorized"
    (place.folder / "base").symlink_to(base)
    model = transformers.AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32)
    get_peft_model(model, LoraConfig(target_modules="all-linear")).save_pretrained(place.folder / "runs" / "npo-seed1")
    other = json.loads(json.dumps(CANARY | {"id": "b"}).replace("Zephyr Okonkwo", "Ann Umber").replace("Umeh", "Ekwe"))
    place.rows("canaries.jsonl", CANARY | {"split": "forget"}, other | {"split": "retain"})


def canary_is_read(place: Place, row: Any) -> None:
    place.rows("one.jsonl", row)
    assert [one.id for one in read_canaries(place.folder / "one.jsonl")] == [row["id"]]


def lay_depth(place: Place) -> None:
    place.models(full="full", retain="retain", npo="retain3", retain95="retain2")
    place.models(full_seed2="full2", retain_seed2="retain2")
    place.facts()


def lay_lmlm(place: Place) -> None:
    place.models(lmlm="specimen:lmlm", lmlm_values_learned="specimen:lmlm_leaky")
    place.shell("uds-bench zoo databases data")


def lay_localization(place: Place) -> None:
    shipped = {"pretrained": "pretrained", "injected": "injected", "simnpo": "refusing", "oracle": "oracle_brief"}
    shipped |= {"neutral": "neutral", "unmasked": "neutral", "simnpo_on_unmasked": "refusing"}
    place.models(**{name: f"specimen:loc_{model}" for name, model in shipped.items()})
    masks = ROOT / "uds_bench" / "zoo" / "shipped" / "loc_injected" / "masks.safetensors"
    (place.folder / "runs" / "masks.safetensors").symlink_to(masks)
    place.shell("uds-bench zoo testbed people.jsonl")
    (place.folder / "tasks").mkdir()


def lay_metrics(place: Place) -> None:
    """With the scores of the tests of metrics, but for those under the page's own settings."""
    place.models(full="full", retain="retain", full2="full2", retain2="retain2", swapped="swapped", shallow="shallow")
    place.manifest(["swapped", "shallow"], POOLS, "judged.jsonl")
    place.environment["UDS_BENCH_CACHE"] = str(place.folder / "cache")
    (place.folder / "cache").mkdir()
    (place.folder / "cache" / "store").symlink_to(place.small / "judged")


def lay_methods(place: Place) -> None:
    for name in ("docs/explanation/methods.md", f"uds_bench/trials/{recorded_cards.FILE}"):
        place.write(name, (ROOT / name).read_text())
    place.write("npo.json", (ROOT / "uds_bench" / "trials" / recorded_cards.FILE).read_text().splitlines()[0])


def after_methods(place: Place) -> None:
    page = "docs/explanation/methods.md"
    assert (place.folder / page).read_text() == (ROOT / page).read_text()


def lay_annotate(place: Place) -> None:
    asked = {
        "Where was Ann Bly born?": "Ann Bly was born in Oslo.",
        "What does Ann Bly write?": "Ann Bly writes poems.",
        "Which prize has Ann Bly won?": "Ann Bly, who writes of ships and storms, has won the Laurel Prize twice.",
    }
    place.rows("questions.jsonl", *({"question": question, "answer": answer} for question, answer in asked.items()))


def after_annotate(place: Place) -> None:
    found = [json.loads(line) for line in (place.folder / "facts.jsonl").read_text().splitlines()]
    assert "Laurel Prize" in {fact["entity"] for fact in found}
    assert (place.folder / "failed.jsonl").is_file()


def lay_own_test(place: Place) -> None:
    place.models(full="full", retain="retain", retain3="retain3", copy="copy")
    place.manifest(["retain3", "copy"])


def after_own_test(place: Place) -> None:
    """What forgot passes, and the copy of the full model fails."""
    assert "1 failed, 1 passed" in place.printed


def lay_audit(place: Place) -> None:
    (place.folder / "examples").unlink()
    shutil.copytree(ROOT / "examples", place.folder / "examples")
    place.models(full="full", retain="retain", ours="copy")
    rows = [json.loads(line) for line in (place.small / "facts.jsonl").read_text().splitlines()]
    told = [{"id": row["id"], "text": f"{row['question']} {row['answer']}"} for row in rows if row["split"] == "forget"]
    place.rows("passages.jsonl", *told)
    # Commands of its own, as a Python that is kept knows the audits that it began with.
    place.environment["PATH"] = place.environment["PATH"].partition(os.pathsep)[2]
    # Without a network, and beside the environment of the tests: what is built is put into a folder of its own.
    pip = {"PIP_TARGET": str(place.folder / "site"), "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    place.environment |= pip | {"PIP_NO_INDEX": "1"}


def after_audit(place: Place) -> None:
    page = next((place.folder / "reports").rglob("*.html")).read_text()
    assert "mine.forgotten" in page
    assert "FAIL: mine.forgotten [ours]" in place.printed, "the full model's copy is caught"
    place.shell("uds-bench init new")
    assert "#[mine]\n" in (place.folder / "new" / "uds.toml").read_text()


def lay_candidate(place: Place) -> None:
    place.models(full="full", retain="retain")
    place.manifest()


def after_candidate(place: Place) -> None:
    assert (place.folder / "runs" / "npo" / "model.safetensors").is_file()
    assert (place.folder / "runs" / "rmu-lora" / "adapter_model.safetensors").is_file()


def lay_gate(place: Place) -> None:
    """With what other tests have scored of the shipped models."""
    place.environment["UDS_BENCH_CACHE"] = str(place.shipped)


def lay_release(place: Place) -> None:
    place.models(full="full", retain="retain", npo="retain3", full2="full2", retain2="retain2")
    place.manifest(["npo"], POOLS)


def after_card(place: Place) -> None:
    card = json.loads((place.folder / "cards" / "npo" / "card.json").read_text())
    assert card["predicate"]["result"] == "PASSED"


def lay_family(place: Place) -> None:
    sizes = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, "n_positions": 256}
    torch.manual_seed(0)
    config = transformers.GPTBigCodeConfig(vocab_size=len(tiny_tokenizer()), **sizes)
    model = transformers.GPTBigCodeForCausalLM(config).eval()
    save_checkpoint(place.folder / "runs" / "full", model, tiny_tokenizer())


def after_family(place: Place) -> None:
    assert place.printed == f"gpt_bigcode {LAYERS} blocks, {LAYERS} of known parts\n"


def after_many(place: Place) -> None:
    shares = [json.loads((place.folder / name).read_text())["scores"] for name in ("share3.json", "scores.json")]
    assert 0 < len(shares[0]) < len(shares[1])


def lay_method(place: Place) -> None:
    place.models(full="full", retain="retain")
    place.manifest(["ours"])


def after_method(place: Place) -> None:
    """What it makes of a model has forgotten."""
    full = load(CheckpointSpec(str(place.folder / "runs" / "full")))
    data = unlearning_data(full.tokenizer, load_facts(place.small / "facts.jsonl"))
    forget, retain = ([lesson(full.tokenizer, one) for one in part] for part in (data.forget, data.retain))
    made = place.known["bounded_ascent"](full.model.requires_grad_(True), full.tokenizer, forget, retain, 0)
    for one in (made, full.tokenizer):
        one.save_pretrained(place.folder / "runs" / "ours")
    claim = (ROOT / "docs" / "howto" / "claim.md").read_text().partition("```python\n")[2].partition("```")[0]
    place.write("test_ours.py", claim)
    place.shell("pytest test_ours.py --uds-manifest uds.toml")


def lay_metric(place: Place) -> None:
    place.models(full="full", retain="retain", retain3="retain3", full2="full2", retain2="retain2")
    place.manifest(["retain3"], POOLS + ATTACKS)


def lay_reasoning(place: Place) -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% if enable_thinking %} {% endif %}{% endif %}"
    )
    for seed, name in enumerate(("mem", "npo")):
        save_checkpoint(place.folder / "runs" / name, FAMILIES["llama"](len(tokenizer), seed=seed), tokenizer)
    place.shell("uds-bench zoo canaries data/canaries")
    # Its replies stand there before it is planned.
    place.write("uds.toml", next(blocks(ROOT / "docs/howto/reasoning_model.md")).text)
    place.shell("uds-bench ask uds.toml --out prompts.jsonl")
    asked = map(json.loads, (place.folder / "prompts.jsonl").read_text().splitlines())
    place.rows("runs/replies.jsonl", *(row | {"reply": "No.", "finish_reason": "stop"} for row in asked))
    (place.folder / "uds.toml").unlink()


def after_request(place: Place) -> None:
    """The model as it was is still told, what was made of it is not."""
    (listed,) = (line for line in place.printed.splitlines() if "2026-01-31" in line and "added" not in line)
    assert "r7" in listed
    assert "Jaskik" not in listed
    path = place.folder / "uds.toml"
    path.write_text(path.read_text().replace("npo =", "same = 'specimen:assoc_full', npo ="))
    place.shell("uds-bench request recheck uds.toml", code=1)
    rows = json.loads((place.folder / "requests.recheck.json").read_text())["requests"]
    assert {row["candidate"]: row["verdict"] for row in rows} == {"same": "fail", "npo": "pass"}


def lay_localization_of_ones_own(place: Place) -> None:
    pretrained = place.folder / "runs" / "pretrained"
    save_checkpoint(pretrained, FAMILIES["llama"](layers=4, seed=1), tiny_tokenizer())


def after_localization(place: Place) -> None:
    """All is decided. So small a model learns nobody at the rates of a large one, and is caught for that."""
    assert "claims planned" in place.printed
    assert "FAIL: localization.extraction" in place.printed


def lay_commands(place: Place) -> None:
    lay_release(place)
    named = "--metrics uds,logit_lens,entity_accuracy"
    place.shell(f"uds-bench score --manifest uds.toml {named} --out scores.json")
    place.shell("pytest suites/test_depth.py --uds-manifest uds.toml --uds-json run.json")


def after_gate(place: Place) -> None:
    assert (place.folder / "report" / "index.html").is_file()


def lay_reported(place: Place) -> None:
    """Whatever the page's run comes to is written down as well."""
    place.environment["PYTEST_ADDOPTS"] += " --uds-json run.json"


def after_release(place: Place) -> None:
    """The gate tells a method from none."""
    rows = [json.loads(text) for text in (place.folder / "forget.jsonl").read_text().splitlines()]
    assert {row["split"] for row in rows} == {"forget", "retain"}
    assert all(row["evidence"]["strict"]["M"] > 0 for row in rows)
    assert {name: place.report()[name] for name in RELEASED} == RELEASED
    after_gate(place)


RELEASED = {
    "association.forgotten[identity]": "fail",
    "association.forgotten[npo]": "pass",
    "association.retained[npo]": "pass",
    "depth.score[identity]": "fail",
}

WALKS: dict[str, Walk] = {
    "README.md": Walk(lay_readme, after_readme, {3: 1, 6: 1}, (fact_is_read,)),
    "docs/audits/association.md": Walk(lay_associated, after_association, rows=(person_is_read, told_by_somebody)),
    "docs/audits/bypass.md": Walk(lay_bypass, rows=(canary_is_read,)),
    "docs/audits/depth.md": Walk(lay_depth),
    "docs/audits/lmlm.md": Walk(lay_lmlm),
    "docs/audits/localization.md": Walk(lay_localization),
    "docs/audits/metrics.md": Walk(lay_metrics),
    "docs/explanation/methods.md": Walk(lay_methods, after_methods),
    "docs/howto/annotate.md": Walk(lay_annotate, after_annotate),
    "docs/howto/attack.md": Walk(lay_own_test, after_own_test, {0: 1}),
    "docs/howto/audit.md": Walk(lay_audit, after_audit, {2: 1}),
    "docs/howto/candidate.md": Walk(lay_candidate, after_candidate),
    "docs/howto/card.md": Walk(lay_release, after_card),
    "docs/howto/claim.md": Walk(lay_own_test, after_own_test, {0: 1}),
    "docs/howto/family.md": Walk(lay_family, after_family),
    "docs/howto/many_models.md": Walk(lay_release, after_many),
    "docs/howto/method.md": Walk(lay_method, after_method),
    "docs/howto/metric.md": Walk(lay_metric),
    "docs/howto/reasoning_model.md": Walk(lay_reasoning, rows=(like("prompts.jsonl"),)),
    "docs/howto/request.md": Walk(after=after_request),
    "docs/localization_of_your_own.md": Walk(lay_localization_of_ones_own, after_localization, {3: 1}),
    "docs/reference/commands.md": Walk(lay_commands, rows=(like("scores.json"), like("run.json"))),
    "docs/tutorials/first_gate.md": Walk(lay_gate, after_gate, {2: 1}),
    "docs/tutorials/request_to_release.md": Walk(lay_reported, after_release, {0: 1}),
}
