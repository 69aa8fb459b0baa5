"""Which values a person is ranked among: none that is, or means, what is true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from uds_bench.audits.association.probe_items import ALIKE, candidates
from uds_bench.errors import FactError

MEANT = {"physician": (1.0, 0.0), "doctor": (0.9, 0.436), "surgeon": (0.6, 0.8), "baker": (0.0, 1.0)}


def embed(texts: Sequence[str]) -> np.ndarray:
    return np.array([MEANT.get(text, (0.0, -1.0)) for text in texts], np.float32)


def test_what_means_the_same_is_left_out() -> None:
    found = candidates("x", ["physician"], ["doctor", "surgeon", "baker"], embed)
    assert found.others == ("surgeon", "baker")
    assert found.values == ("physician", "surgeon", "baker")
    assert candidates("x", ["physician"], ["doctor", "baker"], None).others == ("doctor", "baker")


def test_any_true_value_counts() -> None:
    assert candidates("x", ["baker", "physician"], ["doctor", "cook"], embed).others == ("cook",)


def test_what_is_spelled_alike_is_one_value() -> None:
    found = candidates("x", ["New York", "new-york"], ["NEW YORK", "Boston", "boston", "Kraków", "Krakow"], None)
    assert found.truths == ("New York",)
    assert found.others == ("Boston", "Kraków")


def test_numbers_are_not_spelled_alike_for_want_of_a_sign() -> None:
    others = ["15 metre", "-5", "5", "1.5 Metre", "11 5", "115"]
    assert candidates("x", ["1.5 metre"], others, None).others == ("15 metre", "-5", "5", "11 5", "115")


@pytest.mark.parametrize("others", [[], ["Physician"], ["doctor"]])
def test_nothing_to_be_told_from_is_one_line(others: list[str]) -> None:
    with pytest.raises(FactError, match=r"Jane, P106: every counterfactual means what is true \(physician\)"):
        candidates("Jane, P106", ["physician"], others, embed)


def test_the_real_encoder_knows_synonyms() -> None:
    from uds_bench.retrieval.encoder import encoder_of
    from uds_bench.retrieval.settings import MINILM

    encoder = encoder_of(MINILM)
    found = candidates("x", ["attorney"], ["lawyer", "baker", "glassblower"], encoder.embed)
    cosine = float(encoder.embed(["attorney"])[0] @ encoder.embed(["lawyer"])[0])
    assert ("lawyer" in found.others) is (cosine <= ALIKE)
    assert {"baker", "glassblower"} <= set(found.others)
