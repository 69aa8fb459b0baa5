"""The cells of a manifest's [lmlm]: which prompts ask which database, found by where the files stand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from uds_bench.audits.lmlm.asking.database_cell import DatabaseCell
from uds_bench.audits.lmlm.section import LmlmSection
from uds_bench.errors import ConfigurationError, FactError
from uds_bench.facts.lookup_prompts import LookupPrompts, read_prompts
from uds_bench.facts.topology import DOMAINS, OTHER, TOPOLOGIES, embedded
from uds_bench.facts.triplets import read_database
from uds_bench.inference.markup import TOKENS
from uds_bench.manifest.locate import matches


def cells_of(section: LmlmSection) -> tuple[DatabaseCell, ...]:
    """Every database with its prompts, in the wordings that are wanted.

    Raises FactError or ConfigurationError, in a line, for the first that cannot be used.
    """
    source: list[tuple[str, str, LookupPrompts]]
    if not section.databases:
        source = [(domain, topology, embedded(domain, topology)) for domain in DOMAINS for topology in TOPOLOGIES]
    else:
        source = [(*_names(path), _read(path, files, section)) for path, files in _assigned(section)]
    cells = [_cell(domain, topology, one, section) for domain, topology, one in source]
    if twice := [cell.name for cell in cells if sum(other.name == cell.name for other in cells) > 1]:
        raise ConfigurationError(f"[lmlm] databases: two of them would be called {twice[0]}: put them in other folders")
    return tuple(cells)


def _cell(domain: str, topology: str, source: LookupPrompts, section: LmlmSection) -> DatabaseCell:
    kept = source.of(section.wordings) if section.wordings else source
    if not kept.prompts:
        wanted = ", ".join(section.wordings)
        raise ConfigurationError(f"[lmlm] {domain}/{topology} has no prompt in the wordings {wanted}: name others")
    return DatabaseCell(domain, topology, kept, section.deletion, section.radius)


def _read(path: Path, files: Sequence[Path], section: LmlmSection) -> LookupPrompts:
    if not files:
        raise FactError(f"{path}: no prompts ask it: put them into {path.parent / 'prompts' / path.stem}")
    database = read_database(path)
    for at, row in enumerate(database):
        if held := next((token for token in TOKENS if any(token in text for text in row)), None):
            raise FactError(f"{path}: row {at} holds {held}: a model would read it as markup; take it out")
    return read_prompts(database, files, section.transitive)


def _assigned(section: LmlmSection) -> list[tuple[Path, list[Path]]]:
    """Prompts belong to the database whose folder they lie under and whose name is one of the folders on the way, or to
    the only one of that folder."""
    databases = [Path(path) for pattern in section.databases for path in matches(pattern)]
    found: dict[Path, list[Path]] = {path: [] for path in dict.fromkeys(databases)}
    for file in dict.fromkeys(Path(path) for pattern in section.prompts for path in matches(pattern)):
        beneath = [path for path in found if path.parent in file.parents]
        named = [path for path in beneath if path.stem in file.relative_to(path.parent).parts]
        chosen = named or beneath
        if len(chosen) != 1:
            among = ", ".join(path.name for path in chosen) or "none of them"
            raise FactError(
                f"{file}: asks which database ({among})? Put prompts into prompts/NAME/ beside the database NAME.json"
            )
        found[chosen[0]].append(file)
    return list(found.items())


def _names(path: Path) -> tuple[str, str]:
    """Domain and topology: the folder's name, and the file's where it is a topology."""
    if path.stem in TOPOLOGIES:
        return path.parent.name, path.stem
    return path.parent.name, OTHER
