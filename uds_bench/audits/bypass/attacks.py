"""The attacks under which a reasoning model is asked again."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from uds_bench.attacks import Attack, find_attack, find_attacks
from uds_bench.audits.bypass.section import Bypass
from uds_bench.errors import ConfigurationError
from uds_bench.facts import FactSet
from uds_bench.facts.canaries import CanarySet
from uds_bench.facts.tags import Form
from uds_bench.methods.examples import Example
from uds_bench.methods.traces import Course, lessons
from uds_bench.storage import content_key

COURSE = Course(prefilled=False)
"""Traces restate the biography. Behind the traces that are forced on a model nothing is taught: they are asked."""


def attacks_of(section: Bypass, canaries: CanarySet) -> dict[str, Attack]:
    """The attacks that a manifest names, by name.

    Raises ConfigurationError where turns of authors to be retained are to be taught and there is none.
    """
    found, asked = find_attacks(section.attacks.settings()), section.attacks.relearn_retain
    if asked is None:
        return found
    kept, form = canaries.split("retain"), section.asking.form
    if not kept:
        raise ConfigurationError(
            "[bypass.attacks] relearn_retain teaches authors to be retained, and no canary is of split 'retain': add "
            "some, or take it out"
        )
    taught = find_attack("relearn_retain", lessons=partial(_turns, kept, form), **asked.model_dump(exclude_none=True))
    told = {"turns": content_key([kept.digest, section.asking.to_json()])}
    return found | {taught.name: replace(taught, settings=taught.settings | told, teaching=None)}


def _turns(canaries: CanarySet, form: Form, tokenizer: Any, facts: FactSet) -> list[Example]:
    return lessons(tokenizer, canaries, COURSE, form)
