"""Attacks by name, and keys that say under which settings a score was made."""

import pytest

from uds_bench.attacks import ATTACKS, NONE, find_attack
from uds_bench.errors import ConfigurationError


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_has_its_own_name_and_a_source(name: str) -> None:
    attack = find_attack(name)
    assert attack.name == name != NONE
    assert attack.source


def test_an_unknown_attack_is_an_error_that_lists_the_names() -> None:
    with pytest.raises(ConfigurationError, match=r"^there is no attack 'prune': choose from nf4, relearn$"):
        find_attack("prune")


@pytest.mark.parametrize("change", [{"epochs": 2}, {"lr": 1e-4}, {"batch_size": 10}, {"seed": 1}])
def test_every_setting_is_in_the_key_and_in_the_record(change: dict[str, float]) -> None:
    plain, changed = find_attack("relearn"), find_attack("relearn", **change)
    assert plain.key != changed.key
    assert changed.settings == plain.settings | change


def test_equal_settings_have_one_key_whether_given_or_left_out() -> None:
    assert find_attack("relearn").key == find_attack("relearn", epochs=1, lr=2e-5, batch_size=32, seed=0).key
    assert find_attack("relearn").key != find_attack("nf4").key
