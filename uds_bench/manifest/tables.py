"""Tables of a TOML file as frozen pydantic models, and what is wrong in them as one clear line."""

from __future__ import annotations

from datetime import date, time
from typing import Any, ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.manifest.locate import MissingError
from uds_bench.manifest.toml import Keys, TomlDocument


class Table(BaseModel):
    """A table that takes its fields' keys and no others, and values of exactly their types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    accepts: ClassVar[str] = "a table"

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        """Tells nearest keys, as pydantic's own complaint about an extra key names no neighbours."""
        if not isinstance(value, dict):
            raise problem(f"is {_shown(value)}: it must be {cls.accepts}")
        for key in value:
            if key not in cls.model_fields:
                raise problem(f"unknown key: {did_you_mean(key, cls.model_fields)}", key)
        return value


_Model = TypeVar("_Model", bound=Table)


def validate(model: type[_Model], document: TomlDocument, context: Any = None) -> _Model:
    """The document as a `model`; raises ConfigurationError with file, line and key for the first problem."""
    try:
        return model.model_validate(document.values, context=context)
    except ValidationError as error:
        raise _first(error.errors(include_url=False), document) from None


def problem(text: str, key: str | int | None = None) -> PydanticCustomError:
    """An error to raise inside a validator: what is wrong with the value, or with `key` in it, and what to do."""
    return PydanticCustomError("problem", "{text}", {"text": text} | ({} if key is None else {"key": key}))


def _first(errors: list[ErrorDetails], document: TomlDocument) -> ConfigurationError:
    """The topmost problem; missing keys come last, as a mistyped key is missing too.

    If that is a path that is not there, all such paths are told: a moved folder takes many names with it.
    """
    found: list[tuple[bool, int, int, Keys, str, bool]] = []
    for error in errors:
        missing = error["type"] == "missing"
        keys = _keys(error, document.values, missing)
        absent = isinstance(error.get("ctx", {}).get("error"), MissingError)
        found.append((missing, document.line(keys) or 0, len(found), keys, _text(error), absent))
    first, *others = sorted(found)
    told = [first, *(other for other in others if first[-1] and other[-1])]
    return ConfigurationError(*(str(document.error(keys, text)) for *_, keys, text, _ in told))


def _keys(error: ErrorDetails, values: Any, missing: bool) -> Keys:
    """The place in the file of what pydantic complains about, without the steps that only the models have."""
    loc: Keys = error["loc"]
    keys: Keys = ()
    for part in loc:
        items = dict(enumerate(values)) if isinstance(values, list) else values
        if isinstance(items, dict) and part in items:
            keys, values = (*keys, part), items[part]
    extra = loc[-1] if missing else error.get("ctx", {}).get("key")
    return keys if extra is None else (*keys, extra)


def _text(error: ErrorDetails) -> str:
    match error["type"]:
        case "missing":
            return "is missing: add it"
        case "problem":
            return error["msg"]
        case "value_error":
            return str(error["ctx"]["error"])
        case "date_type":
            return f"is {_shown(error['input'])}: it must be a date without quotes, as 2026-12-31"
    wanted = error["msg"].removeprefix("Input should be ").replace("dictionary", "table").replace("tuple", "list")
    return f"is {_shown(error['input'])}: it must be {wanted}"


def _shown(value: Any) -> str:
    """As TOML would write it, or nearly."""
    text = value.isoformat() if isinstance(value, date | time) else repr(value)
    text = text.lower() if isinstance(value, bool) else text
    return text if len(text) <= 60 else f"{text[:57]}..."
