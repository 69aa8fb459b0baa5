"""One experiment: one field is forgotten of some people of a testbed while another is retained of others."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from uds_bench.errors import ConfigurationError, did_you_mean
from uds_bench.facts.testbed import Item, Testbed
from uds_bench.grouping import grouped
from uds_bench.scoring.part import some
from uds_bench.storage import content_key


@dataclass(frozen=True)
class Experiment:
    """The cross-field scheme (Lacuna, section 3.4). A field that is None: all that the part has.

    Raises ConfigurationError where nobody is to be forgotten, and nothing with them.
    """

    testbed: Testbed
    forgotten: str | None = None
    retained: str | None = None

    def __post_init__(self) -> None:
        known = self.testbed.fields
        for key, field in (("forget_field", self.forgotten), ("retain_field", self.retained)):
            if field is not None and field not in known:
                raise ConfigurationError(f"{key} = {field!r} is no field of the testbed: {did_you_mean(field, known)}")
        if not self.forget:
            raise ConfigurationError("the testbed has nobody to forget: give it items with part 'forget'")

    @cached_property
    def forget(self) -> tuple[Item, ...]:
        """What is to be forgotten, of the field that is."""
        return self.testbed.of("forget", field=self.forgotten)

    @cached_property
    def retain(self) -> tuple[Item, ...]:
        """What is to be retained, of the field that is."""
        return self.testbed.of("retain", field=self.retained)

    @cached_property
    def spared(self) -> tuple[Item, ...]:
        """Those to be retained, asked for what others are to forget; nothing where that is all they are asked."""
        fields = {item.field for item in self.forget}
        if fields == {self.retained}:
            return ()
        return tuple(item for item in self.testbed.of("retain") if item.field in fields)

    @cached_property
    def unseen(self) -> tuple[Item, ...]:
        """People who were never injected, asked for what is forgotten: the floor."""
        return self.testbed.of("unseen", field=self.forgotten)

    @cached_property
    def public(self) -> tuple[Item, ...]:
        """What is known before injection: the probe of utility."""
        return self.testbed.of("public")

    @cached_property
    def held_out(self) -> tuple[Item, ...]:
        """What resurfacing teaches."""
        return self.testbed.of("held_out")

    @cached_property
    def taught(self) -> tuple[Item, ...]:
        """Those of them who show how much it teaches: asked for what is forgotten, or for all where nobody is."""
        return self.testbed.of("held_out", field=self.forgotten) or self.held_out

    @property
    def items(self) -> tuple[Item, ...]:
        """All that a model is asked once."""
        return tuple(dict.fromkeys((*self.forget, *self.retain, *self.spared, *self.unseen, *self.public)))

    def part(self, share: float) -> Experiment:
        """The same of a share of the items of each part and field."""
        sorts = grouped(self.testbed, lambda item: (item.part, item.field))
        asked = {item.id for own in sorts.values() for item in some(own, share)}
        return replace(self, testbed=Testbed(item for item in self.testbed if item.id in asked))

    @property
    def digest(self) -> str:
        """Testbed and fields, by content."""
        return content_key([self.testbed.digest, self.forgotten, self.retained])
