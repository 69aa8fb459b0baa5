"""The files beside a checkpoint's weights that decide what it says: configuration, tokenizer, chat templates."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from uds_bench.storage import load_json

CONFIG, _TOKENIZER_CONFIG = "config.json", "tokenizer_config.json"
_CONFIGURATION = (CONFIG, "generation_config.json")
_TOKENIZER = re.compile(
    r"(tokenizer.*|special_tokens_map|added_tokens|chat_template|.*vocab.*|byte_maps|emoji|normalizer|word_.*|tekken)"
    r"\.json|(vocab|merges|dict)\.txt|.*\.(model|spm|tiktoken|codes|tokenizer|jinja)"
)
"""The files of tokenizers, by any name that a family of transformers gives them."""
_TEMPLATES = "additional_chat_templates"
_SWITCHES = {
    CONFIG: ("configuration_files", "transformers_weights"),
    _TOKENIZER_CONFIG: ("fast_tokenizer_files", "fix_mistral_regex", "init_inputs", "vocab", "merges"),
}
"""File -> keys by which some or all versions of transformers would read other files, or this one otherwise."""
_ELSEWHERE = re.compile(r"(?!special_tokens_map_)\w+_files?")
"""Keys of `tokenizer_config.json` that are paths, and go before the folder's own files."""
_TOKENS = re.compile(r"[a-z0-9_]+_tokens?")
"""The keys of `special_tokens_map.json`; any other key would be an option of the tokenizer, such as a file."""
_VOLATILE = frozenset(
    {"_name_or_path", "name_or_path", "transformers_version", "base_model_name_or_path", "peft_version", "revision"}
)


def tokenizer_files(folder: Path) -> list[Path]:
    """What a tokenizer is read from, by name."""
    own = (path for path in folder.iterdir() if _TOKENIZER.fullmatch(path.name) and path.is_file())
    return sorted([*own, *folder.glob(f"{_TEMPLATES}/*.jinja")])


def settings_files(folder: Path) -> list[Path]:
    """The files of the tokenizer, and those that the model is built by."""
    own = (folder / name for name in _CONFIGURATION)
    return [*(path for path in own if path.is_file()), *tokenizer_files(folder)]


def require_own(path: Path) -> None:
    """Raises ValueError if a file would have files of other than the usual names read: nobody sees which."""
    value = load_json(path.read_text(encoding="utf-8")) if path.is_file() else {}
    found = _keys(value).intersection(_SWITCHES[path.name])
    if path.name == _TOKENIZER_CONFIG and isinstance(value, dict):
        found |= {key for key, one in value.items() if one and _ELSEWHERE.fullmatch(key)}
        if (value.get("sp_model_kwargs") or {}).get("enable_sampling"):
            raise ValueError(f"{path.name} reads by chance (enable_sampling): take it out")
    if found:
        raise ValueError(
            f"{path.name} would have other files read, or these otherwise ({min(found)}): take the key out"
        )


def require_tokens(path: Path) -> None:
    """Raises ValueError where `special_tokens_map.json` tells more than tokens: options, numbers of them."""
    said = load_json(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if other := [key for key, one in said.items() if isinstance(one, int | float) or not _TOKENS.fullmatch(key)]:
        raise ValueError(f"{path.name} has {other[0]!r}, which is no token: take it out")


def _keys(said: Any) -> set[str]:
    """The keys of a configuration and of those within it, such as that of a model's text part."""
    return {*said, *(key for part in said.values() for key in _keys(part))} if isinstance(said, dict) else set()


def contents(folder: Path, files: Iterable[Path]) -> dict[str, str]:
    """Name -> SHA-256 of what a file says: spaces, and where a model lay, do not count."""
    return {file.relative_to(folder).as_posix(): _content(file) for file in files}


def raw_contents(folder: Path) -> tuple[tuple[str, str], ...]:
    """Name and SHA-256 of each file as it is written: the same for models whose settings need not be read twice."""
    files = settings_files(folder)
    return tuple((file.relative_to(folder).as_posix(), sha256(file.read_bytes())) for file in files)


_said: dict[tuple[str, str], str] = {}
"""By raw content: the candidates of one model share a tokenizer, which takes half a second to read."""


def _content(file: Path) -> str:
    raw = file.read_bytes()
    key = (sha256(raw), file.name)
    if key not in _said:
        _said[key] = sha256(_said_by(raw, file.name)) if file.suffix == ".json" else key[0]
    return _said[key]


def _said_by(raw: bytes, name: str) -> bytes:
    """What a file says, as bytes: of a configuration, without keys that do not count. Order counts: of patterns, say,
    the first that fits acts. Libraries save sorted files, except `tokenizer.json`, whose maps are by key alone."""
    try:
        value = json.loads(raw)
        if name.endswith("config.json"):
            value = _without_volatile(value, name == CONFIG)
        return canonical_bytes(value) if name == "tokenizer.json" else json.dumps(value).encode()
    except (ValueError, RecursionError):
        return raw  # whoever loads it will say what is wrong


def _without_volatile(value: Any, within: bool) -> Any:
    """A configuration without keys that do not count; `within`: also inside configurations within it."""
    if not isinstance(value, dict):
        return value
    kept = {key: item for key, item in value.items() if key not in _VOLATILE}
    return {key: _without_volatile(item, within) for key, item in kept.items()} if within else kept


def canonical_bytes(value: Any) -> bytes:
    """JSON that is the same for the same value."""
    return json.dumps(value, sort_keys=True, ensure_ascii=True).encode()


def sha256(data: bytes) -> str:
    """SHA-256 of some bytes, in hexadecimal."""
    return hashlib.sha256(data).hexdigest()
