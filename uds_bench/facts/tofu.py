"""TOFU (Maini et al. 2024) as facts: from a folder, from the hub, or from the UDS authors' annotated list."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from huggingface_hub import hf_hub_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, RemoteEntryNotFoundError

from uds_bench.errors import FactError
from uds_bench.facts.annotate import Draft, annotate_all, draft_of, read_overrides
from uds_bench.facts.fact import NO_SPAN, WORLD, Fact, FactSet, Split
from uds_bench.facts.records import Record, read_records, said_of

HUB_REPOSITORY = "locuslab/TOFU"
ROWS_PER_AUTHOR = 20

_Find = Callable[[str], Path | None]
"""The path of a TOFU file by its name without `.json`, or None where there is no such file."""


def load_tofu(
    folder: str | Path | None,
    forget: str = "forget10",
    retain: str | None = None,
    holdout: str | None = None,
    annotations: str | Path | None = None,
    only_annotated: bool = False,
    keep_doubtful: bool = False,
    revision: str | None = None,
) -> FactSet:
    """Facts from a folder of TOFU's JSON files; the cluster is the author, ids read `forget10/0061`.

    Without a folder, the files are those of the hub's `locuslab/TOFU` at a `revision`, or offline of the hub's cache.

    `retain` and `holdout` default to what belongs to `forget` (`retain90` and `holdout10` to `forget10`),
    where the folder has it; an empty name leaves the split out. Paraphrases and perturbed answers come
    from `<forget>_perturbed` and `retain_perturbed` where question and answer are the same. `annotations`
    is a file with the prefix and entity of some questions, such as the UDS authors' list;
    `only_annotated` keeps no other forget facts, or with `keep_doubtful` keeps them for their answers
    (`NO_SPAN`). All other entities are found by `annotate.annotate_all`: items in which none is found, and without
    `keep_doubtful` those in which it is doubtful, are listed in `FactSet.unannotated`. What any model may know,
    `real_authors` and `world_facts`, comes from the `_perturbed` files
    of these names where they are there; the whole answer is the entity.

    Raises FactError for a missing file that was asked for, a broken row, and annotations that match no
    question.
    """
    if folder is not None and revision is not None:
        raise FactError(f"{folder}: option 'revision' is for the hub; leave it out")
    source = f"tofu/{forget}" if folder is None else str(folder)

    def find(name: str) -> Path | None:
        if folder is None:
            return _of_hub(source, f"{name}.json", revision)
        path = Path(folder) / f"{name}.json"
        return path if path.is_file() else None

    drafts = _drafts(_required(find, source, forget), "forget", find(f"{forget}_perturbed"))
    overrides = read_overrides(annotations) if annotations is not None else {}
    if annotations is not None and overrides.keys().isdisjoint(draft.question for draft in drafts):
        raise FactError(f"{annotations}: no question is in {forget}.json; give the annotations of that file")
    others = [draft for draft in drafts if only_annotated and draft.question not in overrides]
    if only_annotated and not keep_doubtful:
        drafts = [draft for draft in drafts if draft.question in overrides]
    if retain_path := _partner(find, source, retain, forget, "retain"):
        drafts += _drafts(retain_path, "retain", find("retain_perturbed"))
    if holdout_path := _partner(find, source, holdout, forget, "holdout"):
        drafts += _drafts(holdout_path, "holdout", None)
    marks = {draft.id: overrides[draft.question] for draft in drafts if draft.question in overrides}
    facts = annotate_all(drafts, marks, keep_doubtful)
    left_out = [] if keep_doubtful else [draft.unannotated(NO_SPAN) for draft in others]
    unmarked = {draft.id for draft in others}
    told = [replace(fact, doubt=NO_SPAN) if fact.id in unmarked else fact for fact in facts]
    known = [fact for split in WORLD for fact in _world(find, split)]
    return FactSet([*told, *known], [*left_out, *facts.unannotated])


def _world(find: _Find, split: Split) -> list[Fact]:
    """What any model may know, each question a cluster; none where the file is not there, nor to be had offline."""
    try:
        path = find(f"{split}_perturbed")
    except FactError:
        return []
    rows = enumerate(read_records(path)) if path else ()
    drafts = [draft_of(record, _row_id(split, row), _row_id(split, row), split) for row, record in rows]
    return [draft.fact("", draft.answer) for draft in drafts]


def _of_hub(source: str, file: str, revision: str | None) -> Path | None:
    try:
        return Path(hf_hub_download(HUB_REPOSITORY, file, repo_type="dataset", revision=revision))
    except RemoteEntryNotFoundError:
        return None
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise FactError(
            f"{source}: {file} cannot be had from the hub ({type(error).__name__}); "
            "go online once, or name a folder with TOFU's files"
        ) from error


def load_annotated(path: str | Path, forget: str = "forget10") -> FactSet:
    """Forget facts from a list of TOFU items with `idx`, `question`, `answer`, `prefix` and `entity`.

    `idx` is the row in `<forget>.json`; other keys are passed over. This is the form of the UDS authors'
    list.
    """
    facts: list[Fact] = []
    seen: dict[int, str] = {}
    for record in read_records(path):
        row = record.row("idx")
        if row in seen:
            raise record.error(f"key 'idx' is {row} as in {seen[row]}; keep one")
        seen[row] = record.where
        draft = draft_of(record, _row_id(forget, row), _author(forget, row), "forget")
        prefix, entity = record.text("prefix"), record.text("entity")
        with said_of(record.where):
            facts.append(draft.fact(prefix, entity))
    return FactSet(facts)


def _partner(find: _Find, source: str, asked: str | None, forget: str, split: Split) -> Path | None:
    """The file of another split: the one asked for, or the one that belongs to `forget` where it is there."""
    if asked is not None:
        return _required(find, source, asked) if asked else None
    if not (share := re.fullmatch(r"forget(\d\d)", forget)):
        return None
    percent = int(share[1])
    return find(f"{split}{100 - percent if split == 'retain' else percent:02d}")


def _required(find: _Find, source: str, name: str) -> Path:
    path = find(name)
    if path is None:
        raise FactError(f"{source}: has no {name}.json; check the name, or add the file")
    return path


def _drafts(path: Path, split: Split, perturbed: Path | None) -> list[Draft]:
    """The rows of one file, each with its perturbed form where there is one."""
    extras = {_key(record): record for record in read_records(perturbed)} if perturbed else {}
    drafts = []
    for row, record in enumerate(read_records(path)):
        source = extras.get(_key(record), record)
        drafts.append(draft_of(source, _row_id(path.stem, row), _author(path.stem, row), split))
    return drafts


def _key(record: Record) -> tuple[str, str]:
    """Question and answer: a few TOFU questions are asked of two authors."""
    return record.text("question"), record.text("answer")


def _row_id(name: str, row: int) -> str:
    return f"{name}/{row:04d}"


def _author(name: str, row: int) -> str:
    return f"{name}/author{row // ROWS_PER_AUTHOR:02d}"
