"""Manifests: what a good one gives, and the line that each mistake is reported on."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits.association.section import Association
from uds_bench.audits.bypass.section import Bypass
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.lmlm.section import LmlmSection
from uds_bench.audits.localization.section import Localization
from uds_bench.audits.manifests import Manifest, load_manifest
from uds_bench.checkpoints import CheckpointSpec
from uds_bench.errors import ConfigurationError
from uds_bench.facts import load_facts
from uds_bench.manifest import locate

FOLDERS = ("full", "retain", "npo", "npo2", "simnpo", "lora", "mem1", "mem2", "base", "inj")
DESIGN = """\
[facts]
source = "authors"
forget = 3
retain = 2
[references]
full = "runs/full"
retain = "org/retain"
nested = { retain99 = "zoo:retain99", retain95 = "./runs/npo2" }
[candidates]
npo = "runs/npo"
simnpo = { model = "gpt2", adapter = "runs/lora", quantization = "nf4", dtype = "bfloat16", revision = "abc" }
[pools]
positive = ["runs/mem1", { model = "runs/mem2", adapter = "runs/lora" }, "org/base"]
negative = { never1 = "../manifests/runs/base", never2 = { model = "runs/inj" } }
[attacks]
nf4 = {}
relearn = { epochs = 1, lr = 2e-5, batch_size = 32 }
[bypass]
canaries = "data/canaries.jsonl"
models = { memorized = "runs/mem1", npo = { model = "base", adapter = "runs/npo" } }
[lmlm]
model = "runs/base"
databases = ["data/base.json"]
prompts = ["data/prompts/*.jsonl"]
retriever = { kind = "dense", model = "org/minilm", threshold = 0.6, top_k = 5, fallback = ["unknown"] }
[localization]
pretrained = "runs/base"
injected = "runs/inj"
masks = "data/masks.safetensors"
candidates = { simnpo = "runs/simnpo" }
controls = { simnpo = "runs/npo" }
[association]
model = "runs/base"
subjects = "data/subjects.jsonl"
[thresholds]
"depth.score" = 0.8
"depth.score[npo]" = 1
[expect]
"depth.score[simnpo]" = { verdict = "fail", reason = "suppresses outputs only" }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A manifest's folder with models and data in it."""
    folder = tmp_path_factory.mktemp("work") / "manifests"
    for name in FOLDERS:
        (folder / "runs" / name).mkdir(parents=True)
    (folder / "runs" / "full" / "config.json").write_text("{}")
    (folder / "data" / "prompts").mkdir(parents=True)
    names = ("canaries.jsonl", "base.json", "prompts/a.jsonl", "prompts/b.jsonl", "masks.safetensors", "subjects.jsonl")
    for name in names:
        (folder / "data" / name).write_text("")
    return folder


def load(folder: Path, text: str, name: str = "uds.toml") -> Manifest:
    (folder / name).write_text(text, encoding="utf-8")
    return load_manifest(folder / name)


def complaint(folder: Path, text: str) -> str:
    """The one line that `text` is refused with, less the path of the file."""
    with pytest.raises(ConfigurationError) as caught:
        load(folder, text)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(str(folder / "uds.toml"))
    return message.removeprefix(str(folder / "uds.toml"))


def test_the_sections_of_the_design(folder: Path) -> None:
    manifest = load(folder, DESIGN)
    runs, data = folder / "runs", folder / "data"
    assert manifest.of(Depth).checkpoints() == {
        "full": CheckpointSpec(str(runs / "full")),
        "retain": CheckpointSpec("org/retain"),
        "retain99": CheckpointSpec("zoo:retain99"),
        "retain95": CheckpointSpec(str(runs / "npo2")),
        "npo": CheckpointSpec(str(runs / "npo")),
        "simnpo": CheckpointSpec("gpt2", str(runs / "lora"), "nf4", "bfloat16", "abc"),
        "mem1": CheckpointSpec(str(runs / "mem1")),
        "lora": CheckpointSpec(str(runs / "mem2"), str(runs / "lora")),
        "base": CheckpointSpec("org/base"),
        "never1": CheckpointSpec(str(runs / "base")),
        "never2": CheckpointSpec(str(runs / "inj")),
    }
    assert list(manifest.of(Depth).nested) == ["retain99", "retain95"]
    assert list(manifest.of(Depth).pools.positive) == ["mem1", "lora", "base"]
    depth = manifest.require(Depth, "depth")
    facts, references = depth.facts, depth.references
    assert references.full == manifest.of(Depth).checkpoints()["full"]
    assert load_facts(facts.source, **facts.options) == load_facts("authors", forget=3, retain=2)
    assert manifest.of(Depth).attacks.nf4 is not None
    relearn = {"epochs": 1, "lr": 2e-5, "batch_size": 32, "precision": None, "rank": None}
    assert manifest.of(Depth).attacks.relearn.model_dump() == relearn
    assert manifest.of(Bypass) != Bypass()
    assert manifest.of(Bypass).canaries == str(data / "canaries.jsonl")
    assert manifest.of(Bypass).models["npo"] == (CheckpointSpec("base", str(runs / "npo")),)
    assert manifest.of(LmlmSection) != LmlmSection()
    assert [path for name in manifest.of(LmlmSection).prompts for path in locate.matches(name)] == [
        data / "prompts" / "a.jsonl",
        data / "prompts" / "b.jsonl",
    ]
    assert locate.matches(*manifest.of(LmlmSection).databases) == (data / "base.json",)
    assert manifest.of(LmlmSection).retriever.model == "org/minilm"
    assert manifest.of(Localization) != Localization()
    assert manifest.of(Localization).masks == str(data / "masks.safetensors")
    assert manifest.of(Association) != Association()
    assert manifest.of(Association).subjects == str(data / "subjects.jsonl")
    assert manifest.thresholds == {"depth.score": 0.8, "depth.score[npo]": 1.0}
    assert manifest.expect["depth.score[simnpo]"].verdict == "fail"
    assert (manifest.path, manifest.folder) == (folder / "uds.toml", folder)
    assert manifest.document.where(("thresholds", "depth.score")) == f"{folder / 'uds.toml'}, line 36"


def test_an_empty_manifest_is_valid_and_no_basis_for_the_depth_audit(folder: Path) -> None:
    manifest = load(folder, "")
    assert manifest.of(Depth).checkpoints() == manifest.of(Depth).nested == {}
    with pytest.raises(ConfigurationError, match=r"uds\.toml: the depth audit needs \[facts\] source, \[ref"):
        manifest.require(Depth, "depth")


FACTS, REFERENCES = '[facts]\nsource = "authors"\n', '[references]\nfull = "a/b"\nretain = "a/c"\n'


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        (REFERENCES + '[candidates]\nx = "a/d"\n', r", line .*needs \[facts\] source: add"),
        (FACTS + '[candidates]\nx = "a/d"\n', r", line .*needs \[references\] full and retain: add"),
        (FACTS + REFERENCES, r": .*needs \[candidates\] with at least one name: add"),
        (FACTS + REFERENCES + "[candidates]\n", r", line 6: .*needs \[candidates\] with at least one name: add"),
    ],
)
def test_the_depth_audit_says_what_it_lacks(folder: Path, text: str, needs: str) -> None:
    with pytest.raises(ConfigurationError, match=r"uds\.toml" + needs):
        load(folder, text).require(Depth, "depth")


@pytest.mark.parametrize(
    ("text", "line", "key", "says"),
    [
        # bad TOML, and keys given twice
        ('[facts]\nsource "authors"\n', 2, None, "is no TOML"),
        ('[candidates]\nnpo = "a"\nx = "b"\nnpo = "c"\n', 4, "candidates.npo", "twice, first on line 2"),
        # keys
        ("\n[candidate]\n", 2, "candidate", "unknown key: did you mean 'candidates'?"),
        ("[facts]\n\nsourse = 'authors'\n", 3, "facts.sourse", "unknown key: did you mean 'source'?"),
        ("[facts]\nsource = 'authors'\nseed = 1\n", 3, "facts.seed", "choose from source, forget, retain"),
        ("[candidates]\nx = { model = 'a',\tadaptor = 'b' }\n", 2, "candidates.x.adaptor", "mean 'adapter'?"),
        ("[candidates.x]\nmodel = 'a'\n'dtyp' = 'b'\n", 3, "candidates.x.dtyp", "did you mean 'dtype'?"),
        ("[pools]\npositive = ['a',\n{ model = 'b', kind = 1 }]", 3, "pools.positive[1].kind", "unknown"),
        ("[pools]\nneutral = []\n", 2, "pools.neutral", "choose from positive, negative"),
        ("[attacks]\nnf4 = { bits = 4 }\n", 2, "attacks.nf4.bits", "unknown key: remove it"),
        ("[attacks]\nrelearn = {}\nprune = {}\n", 3, "attacks.prune", "choose from nf4, int8, relearn"),
        ("[lmlm]\nretriever.topk = 1\n", 2, "lmlm.retriever.topk", "did you mean 'top_k'?"),
        ("[localization]\ntasks = ['a', 'b', 'a']\n", 2, "localization.tasks", "'a' is there twice: keep one"),
        ("[localization]\ntasks = ['a']\ntask_limit = 0\n", 3, "localization.task_limit", "is 0: it must be greater"),
        ("[localization]\ntask_limit = 5\n", 2, "localization.task_limit", "is of tasks, and none is named: add tasks"),
        ("[localization]\ntasks = ['a']\ntask_folder = 'rums'\n", 3, "localization.task_folder", "mean 'runs'?"),
        # missing keys: the line of their table
        ("\n[facts]\nforget = 3\n", 2, "facts.source", "is missing"),
        ("references.retain = 'a'\n", 1, "references.full", "is missing"),
        ("[candidates]\nx = 'a'\ny = { adapter = 'a/b' }\n", 3, "candidates.y.model", "is missing"),
        # types
        ("facts = 1\n", 1, "facts", "is 1: it must be a table"),
        ("[facts]\nsource = 1\n", 2, "facts.source", "is 1: it must be a valid string"),
        ("[facts]\nsource = 'authors'\nforget = true\n", 3, "facts.forget", "must be a number of authors"),
        ("[candidates]\nx = 3\n", 2, "candidates.x", "is 3: it must be a model's name, or a table such as"),
        ("candidates = ['a']\n", 1, "candidates", "is ['a']: it must be a valid table"),
        ("[pools]\npositive = 'a'\n", 2, "pools.positive", "is 'a': it must be a valid table"),
        ("[pools]\npositive = [\n'a',\n2]\n", 4, "pools.positive[1]", "is 2: it must be a model's name"),
        ("[attacks]\nrelearn = { epochs = 0 }\n", 2, "attacks.relearn.epochs", "is 0: it must be greater"),
        ("[attacks]\nrelearn = { lr = nan }\n", 2, "attacks.relearn.lr", "is nan: it must be a finite"),
        ("[attacks]\nrelearn.epochs = 1.5\n", 2, "attacks.relearn.epochs", "1.5: it must be a valid integer"),
        ("[lmlm]\ndatabases = [\n7]\n", 3, "lmlm.databases[0]", "is 7: it must be a valid string"),
        ("[thresholds]\n'depth.score' = '1'\n", 2, 'thresholds."depth.score"', "it must be a valid number"),
        ("[thresholds]\n'depth.score' = true\n", 2, 'thresholds."depth.score"', "is true: it must be"),
        # checkpoints
        ("[bypass]\nmodels.x = { model = 'a', quantization = 'int3' }\n", 2, "bypass.models.x.quantization", "'nf4'"),
        ("[candidates]\nx.model = 'a'\nx.dtype = 'fp16'\n", 3, "candidates.x.dtype", "'float32', 'bfloat16' or '"),
        ("[candidates.x]\nmodel = 'runs/npo'\nrevision = 'a'\n", 3, "candidates.x.revision", "is a folder: "),
        ("[candidates]\nx = ''\n", 2, "candidates.x", "is empty"),
        ("[candidates]\nx = 'zoo:'\n", 2, "candidates.x", "names no embedded model"),
        # files and folders
        ("[candidates]\nx = 'a'\ny = 'runs/npoo'\n", 3, "candidates.y", "mean 'runs/npo' or 'runs/npo2'?"),
        ("[candidates]\nx = './npo'\n", 2, "candidates.x", "no folder {folder}/npo: check the path"),
        ("[candidates]\nx = '../manifest/runs/npo'\n", 2, "candidates.x", "did you mean '../manifests'?"),
        ("[candidates]\nx = '~/no such folder'\n", 2, "candidates.x", "no folder"),
        ("[candidates]\nx = '{folder}/runs/simpo'\n", 2, "candidates.x", "mean '{folder}/runs/simnpo'?"),
        ("[candidates]\nx = 'a/b/c'\n", 2, "candidates.x", "no folder {folder}/a/b/c"),
        ("[candidates]\nx = 'no space'\n", 2, "candidates.x", "no folder"),
        ('[candidates]\nx = "nul\\u0000"\n', 2, "candidates.x", "no folder"),
        ("[candidates]\nx = '" + "n" * 300 + "/'\n", 2, "candidates.x", "no folder"),
        ("[candidates]\nx = 'data/base.json'\n", 2, "candidates.x", "is a file: name the folder"),
        ("[candidates.x]\nmodel = 'a'\nadapter = 'runs/loar'\n", 3, "candidates.x.adapter", "mean 'runs/lora'?"),
        ("[references]\nfull = 'a'\nretain = 'runs/retian'\n", 3, "references.retain", "'runs/retain'?"),
        ("[references.nested]\nx = 'runs/ful'\n", 2, "references.nested.x", "did you mean 'runs/full'?"),
        ("[pools]\nnegative = [\n'a',\n\n'runs/bas']\n", 5, "pools.negative[1]", "did you mean 'runs/base'?"),
        ("[facts]\nsource = 'data/facts.jsonl'\n", 2, "facts.source", "no file or folder {folder}/data/"),
        ("[facts]\nsource = 'author'\n", 2, "facts.source", 'use "authors"'),
        ("[facts]\nsource = 'authors'\ndate_string = 'May'\n", 3, "facts.date_string", "is 'May', which is no day"),
        ("[facts]\nsource = 'authors'\nannotations = 'data'\n", 3, "facts.annotations", "name a file"),
        ("[bypass]\ncanaries = 'data/canary.jsonl'\n", 2, "bypass.canaries", "mean 'data/canaries.jsonl'?"),
        ("[lmlm]\nprompts = ['data/*.csv']\n", 2, "lmlm.prompts[0]", "no file {folder}/data/*.csv"),
        ("[lmlm]\nprompts = ['data']\n", 2, "lmlm.prompts[0]", "is a folder: name a file"),
        # names
        ("[candidates]\n'' = 'a'\n", 2, 'candidates.""', "'' is no name: use letters"),
        ("[candidates]\nx = 'a'\n'y z' = 'a'\n", 3, 'candidates."y z"', "'y z' is no name"),
        (REFERENCES + "nested.'é' = 'a'\n", 4, 'references.nested."é"', "'é' is no name"),
        ("[bypass]\ncanaries = 'data/canaries.jsonl'\nretain = 2\n", 3, "bypass.retain", "canaries names a file"),
        ("[bypass]\ntags = ['<think>']\n", 2, "bypass.tags", "must be what opens a trace and what closes it"),
        ("[bypass]\ntags = ['think', '/think']\n", 2, "bypass.tags", "has one tag inside the other"),
        ("[bypass]\nchat_template_kwargs.messages = 1\n", 2, "bypass.chat_template_kwargs.messages", "takes from you"),
        ("[bypass]\nchat_template_kwargs.a = ['b']\n", 2, "bypass.chat_template_kwargs.a", "it must be"),
        ("[bypass]\nreplies = 'runs/*.jsonl'\n", 2, "bypass.replies", "no file"),
        ("[pools]\nnegative = { 'a b' = 'a' }\n", 2, 'pools.negative."a b"', "is no name"),
        (REFERENCES + "[candidates]\nfull = 'a'\n", 5, "candidates.full", "taken by references.full (l"),
        (REFERENCES + "nested.x = 'a'\n[candidates]\nx = 'a'", 6, "candidates.x", "references.nested.x (line 4)"),
        ("[candidates]\nx = 'a'\n[pools]\npositive.x = 'a'\n", 4, "pools.positive.x", "give it another name"),
        ("[pools]\npositive = ['x']\nnegative = [\n'b/x']", 4, "pools.negative[0]", "[0] (line 2): give names"),
        ("[pools]\npositive = ['a/x',\n'b/x']\n", 3, "pools.positive[1]", "another of this list: give names"),
        # thresholds and expectations
        ("[thresholds]\ndepth.score = 0.8\n", 2, "thresholds.depth", "write the whole id in quotes"),
        ("[thresholds]\n'Depth score' = 0.8\n", 2, 'thresholds."Depth score"', "is no claim"),
        ("[thresholds]\n'depth.score[npo' = 0.8\n", 2, 'thresholds."depth.score[npo"', "is no claim"),
        ("[thresholds]\n'a.b[c]' = inf\n", 2, 'thresholds."a.b[c]"', "is inf: it must be a finite number"),
        ("[expect]\ndepth = { verdict = 'fail', reason = 'x' }\n", 2, "expect.depth", "is no claim"),
        ("[expect]\n'a.b' = { verdict = 'bad', reason = 'x' }", 2, 'expect."a.b".verdict', "'bad': it must be 'fail'"),
        ("[expect]\n'a.b' = { verdict = 'pass', reason = 'x' }", 2, 'expect."a.b".verdict', "'pass': it must be"),
        ("[expect]\n'a.b' = { verdict = ['fail'], reason = 'x' }", 2, 'expect."a.b".verdict', "['fail']: it must be"),
        ("[expect]\n'a.b' = { verdict = [], reason = 'x' }", 2, 'expect."a.b".verdict', "is []: it must be"),
        # specimens
        ("[specimens]\ndepth = { fail = ['x'] }\n", 2, "specimens.depth", "is no claim"),
        ("[specimens]\n'a.b' = { undecided = ['x'] }", 2, 'specimens."a.b".undecided', "it must be 'pass'"),
        ("[specimens]\n'a.b' = { fail = 'x' }", 2, 'specimens."a.b".fail', "'x': it must be"),
        ("[specimens]\n'a.b' = ['x']", 2, 'specimens."a.b"', "it must be"),
        ("[specimens.'a.b']\npass = ['x']\nfail = ['y', 'x']\n", 3, 'specimens."a.b".fail', "'x' is declared already"),
        ("[specimens]\n'a.b' = { fail = ['x', 'x'] }", 2, 'specimens."a.b".fail', "'x' is declared already"),
        ("[expect]\n\n'a.b' = { verdict = 'fail' }\n", 3, 'expect."a.b".reason', "is missing"),
        ("[expect.'a.b']\nverdict = 'fail'\nreason = ' '\n", 3, 'expect."a.b".reason', "is empty: say why"),
        ("[expect]\n'a.b' = 'fail'\n", 2, 'expect."a.b"', "is 'fail': it must be a table"),
    ],
)  # fmt: skip
def test_each_mistake_names_its_line_and_key(folder: Path, text: str, line: int, key: str | None, says: str) -> None:
    message = complaint(folder, text.replace("{folder}", str(folder)))
    assert message.startswith(f", line {line}: {key}: " if key else f", line {line}: ")
    assert says.replace("{folder}", str(folder)) in message


def test_the_topmost_mistake_is_reported_and_a_mistyped_key_is_not_a_missing_one(folder: Path) -> None:
    both = "[facts]\nsource = 'authors'\n[references]\nful = 'a'\n[thresholds]\n'a.b' = 'c'\n"
    assert complaint(folder, both).startswith(", line 4: references.ful: unknown key: did you mean 'full'?")


def test_every_path_that_is_not_there_is_told_at_once(folder: Path) -> None:
    references = "[references]\nfull = 'runs/ful'\nretain = 'a'\n"
    text = f"{references}[candidates]\nx = 'runs/npoo'\ny = 3\n[pools]\nnegative = ['./b']\n"
    with pytest.raises(ConfigurationError) as caught:
        load(folder, text)
    file, (full, x, pool) = folder / "uds.toml", caught.value.causes
    assert full.startswith(f"{file}, line 2: references.full: no folder {folder}/runs/ful: did you mean 'runs/full'?")
    assert x.startswith(f"{file}, line 5: candidates.x: no folder {folder}/runs/npoo: did you mean")
    assert pool == f"{file}, line 8: pools.negative[0]: no folder {folder}/b: check the path"


def test_a_missing_manifest_says_so(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"none\.toml: cannot be read .*: name a TOML file"):
        load_manifest(folder / "none.toml")


def test_paths_start_at_the_manifests_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = '[candidates]\nx = "runs/npo"\n[facts]\nsource = "data"\n'
    load(folder, text)
    for place, name in ((folder.parent, "manifests/uds.toml"), (folder / "runs", "../uds.toml")):
        monkeypatch.chdir(place)
        manifest = load_manifest(name)
        assert Path(manifest.of(Depth).candidates["x"].model).samefile(folder / "runs" / "npo")
        assert Path(manifest.of(Depth).facts.source).samefile(folder / "data")
    monkeypatch.setenv("HOME", str(folder))
    assert load(folder, '[candidates]\nx = "~/runs/npo"\n').of(Depth).candidates["x"].model == str(
        folder / "runs" / "npo"
    )


def test_folders_come_before_hub_ids_of_the_same_name(folder: Path) -> None:
    manifest = load(folder, "[candidates]\na = 'runs'\nb = 'run'\nc = 'tofu/npo'\n[facts]\nsource = 'tofu/forget10'\n")
    assert [spec.model for spec in manifest.of(Depth).candidates.values()] == [str(folder / "runs"), "run", "tofu/npo"]
    assert manifest.of(Depth).facts.source == "tofu/forget10"


@pytest.mark.parametrize("file", ["config.json", "adapter_config.json"])
def test_a_folder_of_code_that_is_called_as_an_organization_hides_no_hub_id(tmp_path: Path, file: str) -> None:
    text = "[candidates]\nx = 'open-unlearning/tofu_npo'\n"
    (tmp_path / "open-unlearning" / "src").mkdir(parents=True)
    (tmp_path / "open-unlearning" / "config.json").write_text("{}")
    assert load(tmp_path, text).of(Depth).candidates["x"].model == "open-unlearning/tofu_npo"
    (tmp_path / "open-unlearning" / "src" / file).write_text("{}")
    assert complaint(tmp_path, text).startswith(f", line 2: candidates.x: no folder {tmp_path}/open-unlearning/tofu")


def test_a_pattern_in_a_folder_with_brackets(tmp_path: Path) -> None:
    folder = tmp_path / "[a]*"
    folder.mkdir()
    for name in ("x1.json", "x2.json", "[x].json"):
        (folder / name).write_text("")
    manifest = load(folder, "[lmlm]\ndatabases = ['x?.json', '[x].json']\nprompts = ['x?.json']\n")
    assert manifest.of(LmlmSection) != LmlmSection()
    found = [[path.name for path in locate.matches(name)] for name in manifest.of(LmlmSection).databases]
    assert found == [["x1.json", "x2.json"], ["[x].json"]]


def test_members_of_a_listed_pool_are_called_after_their_folder(folder: Path) -> None:
    members = ["zoo:seed1", "org/seed2", "runs/mem1/", "../manifests", {"model": "a", "adapter": "runs/lora"}]
    manifest = load(folder, f"[pools]\nnegative = [{', '.join(map(toml, members))}]\n")
    assert list(manifest.of(Depth).pools.negative) == ["seed1", "seed2", "mem1", "manifests", "lora"]


def test_two_names_may_share_a_checkpoint(folder: Path) -> None:
    manifest = load(folder, "[candidates]\na = 'runs/npo'\nb = 'runs/npo'\n")
    assert manifest.of(Depth).candidates["a"] == manifest.of(Depth).candidates["b"]


def test_a_manifest_cannot_be_changed(folder: Path) -> None:
    with pytest.raises(AttributeError, match="digest"):
        load(folder, DESIGN).digest = "another"


NAMES = st.lists(
    st.from_regex(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,7}", fullmatch=True), unique=True, min_size=1, max_size=6
)
SPECS = st.fixed_dictionaries(
    {"model": st.sampled_from(["runs/npo", "./runs/base", "zoo:full", "org/model", "gpt2", "_a/_b.c-1"])},
    optional={
        "adapter": st.sampled_from(["runs/lora", "org/lora"]),
        "quantization": st.sampled_from(["nf4", "int8"]),
        "dtype": st.sampled_from(["float32", "bfloat16", "float16"]),
    },
)


def toml(value: Any) -> str:
    """A value in TOML: JSON's strings, numbers and lists are TOML's too."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value)


@given(NAMES, st.data())
def test_valid_manifests_come_back_as_written(folder: Path, names: list[str], data: st.DataObject) -> None:
    names = [name for name in names if name not in ("full", "retain")]
    specs = {name: data.draw(SPECS) for name in names}
    cut = data.draw(st.integers(0, len(names)))
    tables: dict[str, dict[str, Any]] = {
        "candidates": {name: specs[name] for name in names[:cut]},
        "pools": {"negative": {name: specs[name] for name in names[cut:]}},
        "thresholds": {f"depth.score[{name}]": data.draw(st.floats(-9, 9)) for name in names},
    }
    manifest = load(folder, "".join(f"{key} = {toml(table)}\n" for key, table in tables.items()))

    def located(spec: dict[str, str]) -> CheckpointSpec:
        local = {key: str(folder / value) for key, value in spec.items() if "runs/" in value}
        return CheckpointSpec(**(spec | local))

    assert manifest.of(Depth).checkpoints() == {name: located(spec) for name, spec in specs.items()}
    assert manifest.thresholds == tables["thresholds"]

    short = {name: spec["model"] if len(spec) == 1 else spec for name, spec in reversed(tables["candidates"].items())}
    again = "".join(f"{key} = {toml(tables[key])} # again\n" for key in ("thresholds", "pools"))
    assert load(folder, f"{again}candidates = {toml(short)}\n", "again.toml").digest == manifest.digest


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('npo = "runs/npo"', 'npo = "runs/base"'),
        ('npo = "runs/npo"', 'npo2 = "runs/npo"'),
        ("forget = 3", "forget = 4"),
        ('quantization = "nf4", ', ""),
        ('"depth.score" = 0.8', '"depth.score" = 0.81'),
        ('verdict = "fail"', 'verdict = "undecided"'),
        ("nf4 = {}", ""),
        ('retain99 = "zoo:retain99", retain95 = "./runs/npo2"', 'retain95 = "./runs/npo2", retain99 = "zoo:retain99"'),
    ],
)
def test_the_digest_sees_every_change_of_content(folder: Path, old: str, new: str) -> None:
    assert old in DESIGN
    assert load(folder, DESIGN.replace(old, new, 1)).digest != load(folder, DESIGN).digest


def test_the_digest_is_the_same_in_another_place(folder: Path, tmp_path: Path) -> None:
    text = '[candidates]\nx = "runs/npo"\n'
    (tmp_path / "runs" / "npo").mkdir(parents=True)
    here, there = load(folder, text), load(tmp_path, "# moved\n" + text)
    assert here.of(Depth).candidates != there.of(Depth).candidates
    assert here.digest == there.digest
    assert len(here.digest) == 64


@pytest.mark.parametrize(
    ("text", "asks_nothing"),
    [
        ("", True),
        ("[references]\nfull = 'a/b'\n", True),
        ("[facts]\nsource = 'authors'\n[references]\nfull = 'a/b'\n", True),
        ("[facts]\nsource = 'authors'\n", False),
        ("[references]\nfull = 'a/b'\nretain = 'a/c'\n", False),
        ("[references]\nfull = 'a/b'\n[candidates]\nx = 'a/c'\n", False),
        ("[references]\nfull = 'a/b'\n[metrics]\n", False),
        ("[references]\nfull = 'a/b'\nnested = { x = 'a/c' }\n", False),
    ],
)
def test_a_full_model_to_unlearn_from_asks_for_no_verdict(tmp_path: Path, text: str, asks_nothing: bool) -> None:
    (tmp_path / "uds.toml").write_text(text)
    depth = load_manifest(tmp_path / "uds.toml").of(Depth)
    assert depth.asks_nothing == asks_nothing
    assert ("[references] retain" in depth.lacks()) == ("full" in text and "retain" not in text)
