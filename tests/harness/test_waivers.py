"""Waivers: what a file may say, which claims they speak for, and how loose they let a bound be."""

import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from uds_bench.audits import registry
from uds_bench.claims.spec import ClaimSpec
from uds_bench.claims.waivers import Waiver, Waivers, load_waivers, loosened
from uds_bench.errors import ConfigurationError
from uds_bench.manifest.toml import read_toml

TODAY = date(2026, 11, 21)
GOOD = """\
[[waiver]]
claim = "depth.score[npo]"
reason = "known to be shallow until the next release"
expires = 2026-12-31
owner = "Ada"

[[waiver]]
claim = "depth.order"
reason = "one seed only"
expires = 2026-11-21
threshold = 0.6
"""


DEFAULTS = {
    "depth.score": ClaimSpec("depth.score", "threshold", "", ">=", 0.7, ""),
    "lmlm.leakage": ClaimSpec("lmlm.leakage", "threshold", "", "<=", 0.01, ""),
    "depth.order": ClaimSpec("depth.order", "threshold", "", ">=", 0.0, ""),
}


def write(folder: Path, text: str) -> Path:
    path = folder / "waivers.toml"
    path.write_text(text, encoding="utf-8")
    return path


def waiver(claim: str, threshold: float | None = None) -> Waiver:
    return Waiver(claim, "a reason", TODAY, "waivers.toml, line 1", threshold=threshold)


def test_a_file_of_waivers(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    first, second = load_waivers(path, TODAY)
    assert first == Waiver(
        "depth.score[npo]",
        "known to be shallow until the next release",
        date(2026, 12, 31),
        f"{path}, line 1",
        owner="Ada",
    )
    assert (second.where, second.threshold) == (f"{path}, line 7", 0.6)
    assert (first.waives, second.waives) == (True, False)
    assert list(load_waivers(write(tmp_path, ""), TODAY)) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ('reason = "one seed only"\n', "", 7, "waiver[1].reason: is missing: add it"),
        ('"one seed only"', '"  "', 9, "waiver[1].reason: is empty: say why"),
        ('claim = "depth.order"\n', "", 7, "waiver[1].claim: is missing"),
        ("expires = 2026-12-31\n", "", 1, "waiver[0].expires: is missing"),
        ("2026-11-21", "2026-11-20", 10, "waiver[1].expires: the waiver of depth.order expired on 2026-11-20: mend"),
        ("2026-11-21", '"2027-01-01"', 10, "waiver[1].expires: is '2027-01-01': it must be a date without quotes"),
        ("2026-11-21", "2027-01-01T00:00:00", 10, "waiver[1].expires: is 2027-01-01T00:00:00: it must be a date"),
        ("2026-11-21", "2027-02-30", 10, "is no TOML (Invalid date or datetime): mend the line"),
        ('"depth.order"', '"depth.score[npo]"', 8, "waiver[1].claim: depth.score[npo] has a waiver already ("),
        ('"depth.order"', '"depth order"', 8, "waiver[1].claim: 'depth order' is no claim: write the whole id"),
        ("owner", "onwer", 5, "waiver[0].onwer: unknown key: did you mean 'owner'?"),
        ("0.6", "nan", 11, "waiver[1].threshold: is nan: it must be a finite number"),
        ("0.6", '"0.6"', 11, "waiver[1].threshold: is '0.6': it must be a valid number"),
        ("0.6", "0.6\nthreshold = 1", 12, "waiver[1].threshold: is given twice, first on line 11: keep one"),
        ("[[waiver]]", "[[waivers]]", 1, "waivers: unknown key: did you mean 'waiver'?"),
        ("0.6\n", "0.6\n[other]\n", 12, "other: unknown key: choose from waiver"),
    ],
)
def test_each_mistake_names_its_line(tmp_path: Path, old: str, new: str, line: int, says: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(ConfigurationError) as caught:
        load_waivers(path, TODAY)
    assert str(caught.value).startswith(f"{path}, line {line}: {says}")
    assert "\n" not in str(caught.value)


def test_one_waiver_is_a_list_of_tables_too(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.partition("\n\n")[0].replace("[[waiver]]", "[waiver]"))
    with pytest.raises(ConfigurationError, match=r"line 1: waiver: .* must be a valid list"):
        load_waivers(path, TODAY)


def test_a_waiver_speaks_for_exactly_its_claim_and_is_unused_until_then() -> None:
    npo, order = waiver("depth.score[npo]"), waiver("depth.order")
    waivers = Waivers([npo, order])
    assert waivers.unused() == (npo, order)
    for name in ("depth.score", "depth.score[npo2]", "depth.score[np]"):
        assert waivers.match(name) is None
    assert waivers.find("depth.score[npo]") == npo
    assert waivers.unused() == (npo, order)
    assert waivers.match("depth.score[npo]") == npo
    assert waivers.unused() == (order,)
    assert Waivers().unused() == ()


def test_defaults_hold_where_nothing_else_is_said() -> None:
    assert loosened({}, DEFAULTS, Waivers()) == {"depth.score": 0.7, "lmlm.leakage": 0.01, "depth.order": 0.0}
    table = registry.claims()
    assert loosened({}, table, Waivers())["depth.score"] == table["depth.score"].bound


def test_tighter_is_free_and_the_default_itself_is_not_looser() -> None:
    tighter = {"depth.score": 0.8, "depth.score[npo]": 0.7, "lmlm.leakage": 0.001}
    assert loosened(tighter, DEFAULTS, Waivers()) == {"depth.order": 0.0} | tighter


@pytest.mark.parametrize(
    ("name", "value", "default"),
    [
        ("depth.score", 0.69, ">= 0.7"),
        ("depth.score[npo]", 0.69, ">= 0.7"),
        ("lmlm.leakage", 0.011, "<= 0.01"),
        ("depth.order", -0.01, ">= 0"),
    ],
)
def test_looser_needs_a_waiver_of_the_same_name(name: str, value: float, default: str) -> None:
    for waivers in (Waivers(), Waivers([waiver(name + "x")]), Waivers([waiver(f"{name}[other]", value)])):
        with pytest.raises(ConfigurationError) as caught:
            loosened({name: value}, DEFAULTS, waivers)
        assert f'thresholds."{name}": {value:g} is looser than the default {default}' in str(caught.value)
        assert f'add a [[waiver]] with claim = "{name}"' in str(caught.value)
    for threshold in (None, value):
        assert loosened({name: value}, DEFAULTS, Waivers([waiver(name, threshold)]))[name] == value


@pytest.mark.parametrize(
    ("thresholds", "waived", "says"),
    [
        ({"depth.score": 0.5}, {"depth.score": 0.6}, "0.5 is looser than 0.6, which its waiver allows (waivers.toml"),
        ({"depth.order": 0.1}, {}, "depth.order is an ordering claim, which takes no bound: remove"),
        ({"depth.self_patch": 1e-3}, {}, "depth.self_patch is an identity claim"),
        ({}, {"depth.score[a]": 0.7}, "waivers.toml, line 1: threshold 0.7 of depth.score[a] is no l"),
    ],
)
def test_a_bound_that_cannot_be_is_told(thresholds: dict[str, float], waived: dict[str, float], says: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        loosened(thresholds, registry.claims(), Waivers(waiver(*each) for each in waived.items()))


def test_complaints_name_the_line_of_the_manifest(tmp_path: Path) -> None:
    document = read_toml(write(tmp_path, '[thresholds]\n\n"depth.score" = 0.5\n"depth.scores" = 0.5\n'))
    with pytest.raises(ConfigurationError, match=r'waivers\.toml, line 3: thresholds\."depth\.score": 0\.5 is looser'):
        loosened({"depth.score": 0.5}, DEFAULTS, Waivers(), document)
    with pytest.raises(ConfigurationError, match=r"line 4: .* no claim 'depth.scores' .*: did you mean 'depth.score'"):
        loosened({"depth.scores": 0.5}, DEFAULTS, Waivers(), document)


def test_a_waivers_threshold_is_the_bound_where_the_manifest_has_none_or_is_tighter() -> None:
    assert loosened({"depth.score": 0.65}, DEFAULTS, Waivers([waiver("depth.score", 0.6)]))["depth.score"] == 0.65
    waivers = Waivers([waiver("depth.score[npo]", 0.6), waiver("lmlm.leakage", 0.02)])
    bounds = loosened({"depth.score": 0.8}, DEFAULTS, waivers)
    assert (bounds["depth.score"], bounds["depth.score[npo]"], bounds["lmlm.leakage"]) == (0.8, 0.6, 0.02)
    assert loosened({"depth.score[npo]": 0.9}, DEFAULTS, waivers)["depth.score[npo]"] == 0.9


def test_a_bound_uses_the_waiver_of_a_claim_id_and_leaves_that_of_a_subject_to_its_claim() -> None:
    waivers = Waivers([waiver("depth.score[gone]", 0.6), waiver("lmlm.leakage", 0.02), waiver("depth.order")])
    loosened({"depth.order": -1.0}, DEFAULTS, waivers)
    assert [each.claim for each in waivers.unused()] == ["depth.score[gone]"]


def test_a_waiver_of_an_unknown_claim_stays_unused() -> None:
    waivers = Waivers([waiver("depth.scores", 0.1)])
    assert "depth.scores" not in loosened({}, DEFAULTS, waivers)
    assert len(waivers.unused()) == 1


@given(
    st.dictionaries(st.sampled_from(["depth.score", "depth.score[a]", "lmlm.leakage"]), st.floats(-1, 2), max_size=3),
    st.dictionaries(st.sampled_from(["depth.score", "depth.score[a]", "lmlm.leakage"]), st.floats(-1, 2), max_size=3),
)
def test_no_bound_is_ever_looser_than_default_and_waiver_both(
    thresholds: dict[str, float], allowed: dict[str, float]
) -> None:
    try:
        bounds = loosened(thresholds, DEFAULTS, Waivers(waiver(name, value) for name, value in allowed.items()))
    except ConfigurationError:
        return
    for name, bound in bounds.items():
        default = DEFAULTS[name.partition("[")[0]]
        limits = [default.bound, allowed.get(name, default.bound)]
        assert bound >= min(limits) if default.relation == ">=" else bound <= max(limits)
        assert name not in thresholds or bound == thresholds[name]
