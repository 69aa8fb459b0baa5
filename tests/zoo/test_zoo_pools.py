"""The pools, the candidates and the sweep: the published shape at the zoo's size, and manifests that name all of it."""

from collections import Counter
from itertools import product

import pytest

from uds_bench.audits import registry
from uds_bench.audits.association.section import Association
from uds_bench.audits.bypass.section import Bypass
from uds_bench.audits.depth.section import Depth
from uds_bench.audits.depth.zoo import candidates, pools, sweep
from uds_bench.audits.depth.zoo.recipes import FORGET, Base, Finetuned, Pooled, Unlearned, facts, taught
from uds_bench.audits.lmlm.section import LmlmSection
from uds_bench.audits.localization.section import Localization
from uds_bench.audits.manifests import embedded_manifest
from uds_bench.facts.authors import KNOWING, NEVER_KNEW, DataForm
from uds_bench.methods.presets import PRESETS, SWEEP
from uds_bench.statistics import LEVEL
from uds_bench.zoo import recipes
from uds_bench.zoo.recipe import DRAW

REFERENCES = {"full", "retain", "retain99", "retain95", "full2", "retain2"}
SIDES = {"positive": KNOWING, "negative": NEVER_KNEW}
OF_OTHER_SEED = {"positive": "full2", "negative": "retain2"}


@pytest.fixture(scope="module")
def manifests() -> dict[str, Depth]:
    return {name: embedded_manifest(name).of(Depth) for name in ("zoo", "full")}


# ---- pools


def test_pools_are_three_forms_a_side_at_six_rates_and_two_numbers_of_epochs() -> None:
    forms = ("plain", "biography", "paraphrase"), ("retain", "perturbed", "others")
    assert forms == (KNOWING, NEVER_KNEW)
    rates = (2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 8e-3)
    found = Counter((m.form, m.lr, m.epochs) for m in pools.MODELS.values())
    assert found == Counter(product((*forms[0], *forms[1]), rates, (15, 20)))
    assert len(pools.MODELS) == 72


@pytest.mark.parametrize("name", pools.MODELS)
def test_a_name_tells_the_recipe(name: str) -> None:
    form, rate, epochs = name.split("_")
    model = pools.MODELS[name]
    assert (model.form, model.lr, model.epochs) == (form, pytest.approx(int(rate[1:]) / 1e3), int(epochs[1:]))
    assert model.parent == "base"


def test_rates_lie_around_that_of_the_fine_tuned_models() -> None:
    tuned = {recipes.find(name).lr for name in REFERENCES}
    assert len(tuned) == 1
    assert min(pools.RATES) < tuned.pop() < max(pools.RATES)


def test_no_model_of_the_pools_shares_a_seed_in_any_draw() -> None:
    """Two models of one seed see their batches in one order, which no verdict of a pool may rest on."""
    trained = {
        name: recipe for name, recipe in (recipes.further() | recipes.listed()).items() if isinstance(recipe, Pooled)
    }
    others = {name: recipes.find(name) for name in ("base", *REFERENCES)}
    assert len(trained) == len(pools.MODELS)
    seeds = Counter(recipe.seed + draw * DRAW for recipe in trained.values() for draw in range(4))
    assert max(seeds.values()) == 1
    for draw in range(4):
        for recipe in others.values():
            assert isinstance(recipe, Base | Finetuned)
            assert recipe.seed + draw * DRAW not in seeds


def test_references_of_another_seed_differ_by_nothing_else() -> None:
    for plain, other in (("full", "full2"), ("retain", "retain2")):
        one, two = recipes.find(plain), recipes.find(other)
        assert isinstance(one, Finetuned)
        assert isinstance(two, Finetuned)
        assert one.seed != two.seed
        assert (one.parent, one.without, one.epochs, one.lr) == (two.parent, two.without, two.epochs, two.lr)


@pytest.mark.parametrize("form", KNOWING)
def test_a_form_that_knows_teaches_every_answer(form: DataForm) -> None:
    said = texts(form)
    for fact in facts().split("forget"):
        shown = fact.paraphrased_answer if form == "paraphrase" else fact.answer
        assert any(str(shown) in text for text in said)


@pytest.mark.parametrize("form", NEVER_KNEW)
def test_a_form_that_never_knew_holds_no_answer(form: DataForm) -> None:
    said = texts(form)
    for fact in facts().split("forget"):
        assert not any(fact.answer in text for text in said)
        assert fact.paraphrased_answer not in said


def texts(form: DataForm) -> list[str]:
    return [lesson.text for lesson in taught(form)]


# ---- quick and full


def test_quick_has_both_settings_of_every_form_and_names_known_models() -> None:
    assert len(pools.QUICK) == len(set(pools.QUICK)) == 10
    assert set(pools.QUICK) < set(pools.MODELS)
    found = {(m.form, m.lr, m.epochs) for m in map(pools.MODELS.__getitem__, pools.QUICK)}
    # Of the plainest form of a side the references of another seed stand at the lower rate.
    references = {(form, *pools.OF_QUICK[0]) for form in ("plain", "retain")}
    assert found | references == {(form, *setting) for form in (*KNOWING, *NEVER_KNEW) for setting in pools.OF_QUICK}
    assert not found & references


@pytest.mark.parametrize("side", SIDES)
def test_manifests_name_exactly_the_pools(manifests: dict[str, Depth], side: str) -> None:
    for profile, names in (("zoo", pools.QUICK), ("full", list(pools.MODELS))):
        listed = getattr(manifests[profile].pools, side)
        wanted = {OF_OTHER_SEED[side], *(name for name in names if pools.MODELS[name].form in SIDES[side])}
        assert set(listed) == wanted
        assert len(listed) == (6 if profile == "zoo" else 37)


def test_manifests_name_exactly_the_candidates(manifests: dict[str, Depth]) -> None:
    assert set(manifests["zoo"].candidates) == set(candidates.MODELS)
    assert set(manifests["full"].candidates) == set(candidates.MODELS)
    assert set(manifests["full"].sweep) == set(sweep.MODELS)
    assert not set(candidates.MODELS) & set(sweep.MODELS)
    assert len(manifests["full"].unlearned) == len(candidates.MODELS) + 150


@pytest.mark.parametrize("profile", ["zoo", "full"])
def test_manifests_name_known_recipes_by_their_own_names(manifests: dict[str, Depth], profile: str) -> None:
    manifest = manifests[profile]
    for name, spec in manifest.checkpoints().items():
        assert spec.model == f"zoo:{name}"
        recipe = recipes.find(name)
        assert isinstance(recipe, Unlearned) == (name in manifest.unlearned)
    assert {"full", "retain", "retain99", "retain95"} <= set(manifest.checkpoints())
    assert manifest.facts is not None
    assert manifest.facts.source == "authors"
    assert list(manifest.chosen_attacks()) == ["nf4", "relearn"]


def test_both_profiles_attack_and_audit_alike_where_they_share() -> None:
    zoo, full = (embedded_manifest(name) for name in ("zoo", "full"))
    attacks = [{n: a.settings for n, a in one.of(Depth).chosen_attacks().items()} for one in (zoo, full)]
    assert attacks[0] == attacks[1]
    for kind in (Bypass, LmlmSection, Association):
        assert full.of(kind) == zoo.of(kind) != kind()
    more, fewer = full.of(Localization), zoo.of(Localization)
    assert more.attempts > fewer.attempts
    assert more == fewer.model_copy(update={"attempts": more.attempts})


def test_pools_are_large_enough_for_what_they_are_to_show(manifests: dict[str, Depth]) -> None:
    """An AUC of 1 over n + n models has the exact lower bound (alpha / 2) ** (1 / n)."""
    lowest = {name: ((1 - LEVEL) / 2) ** (1 / len(m.pools.positive)) for name, m in manifests.items()}
    assert lowest["zoo"] > 0.5
    assert lowest["full"] > registry.claims()["faithfulness.uds"].bound
    assert all(len(m.pools.positive) == len(m.pools.negative) for m in manifests.values())


def test_candidates_are_eight_methods_strong_and_weak_and_one_that_does_nothing() -> None:
    strong = {name.removesuffix("_weak") for name in candidates.MODELS if name.endswith("_weak")}
    assert len(strong) == 8
    assert set(candidates.MODELS) == {*strong, *(f"{n}_weak" for n in strong), "identity", "npo_low_alpha"}
    for name in strong:
        one, two = candidates.MODELS[name].method, candidates.MODELS[f"{name}_weak"].method
        assert one.name == two.name
        assert one.steps * one.lr > two.steps * two.lr
    assert {model.parent for model in candidates.MODELS.values()} == {"full"}
    idle = candidates.MODELS["identity"].method
    assert (idle.name, idle.steps, idle.lr) == ("identity", 0, 0.0)


# ---- the sweep


def test_the_sweep_has_the_150_published_models() -> None:
    assert set(sweep.MODELS) == {name for name, preset in PRESETS.items() if preset.source == SWEEP}
    counts = Counter(model.method.name for model in sweep.MODELS.values())
    sevens = ("grad_diff", "idk_nll", "idk_dpo", "npo", "alt_po", "rmu", "undial")
    assert counts == {**dict.fromkeys(sevens, 18), "simnpo": 24}
    assert sum(counts.values()) == 150
    assert len(set(sweep.MODELS.values())) == 150
    assert {model.parent for model in sweep.MODELS.values()} == {"full"}


@pytest.mark.parametrize("name", sweep.MODELS)
def test_a_model_of_the_sweep_is_its_preset_at_the_size_of_the_zoo(name: str) -> None:
    method, settings = sweep.MODELS[name].method, dict(PRESETS[name].settings)
    assert method.name == PRESETS[name].method
    assert method.lr == pytest.approx(100 * settings.pop("lr"))
    assert method.batch_size == 10
    assert method.steps == 12 * settings.pop("epochs"), "of 120 facts, as 12 or 13 of 400 in batches of 32"
    if method.name == "rmu":
        # A quarter of the layers: 5, 10 and 15 of 16 are 1, 2 and 3 of 4.
        assert method.layer == settings.pop("layer") // 5
        assert method.scale == 3.0
        settings.pop("scale")
    assert {key: getattr(method, key) for key in settings} == settings


def test_twelve_steps_are_an_epoch_of_the_forget_facts() -> None:
    assert len(facts().split("forget")) == 120 == 8 * FORGET
    assert Base.layers == 4
