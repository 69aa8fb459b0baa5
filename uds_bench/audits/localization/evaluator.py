"""The localization audit's parts that need a model: what it says, where its weights moved, and who leaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

from uds_bench.audits.localization.experiment import Experiment
from uds_bench.audits.localization.families import Part
from uds_bench.audits.localization.names import ASKED, MOST_WEIGHTS, PROMPTS_PER_PERSON
from uds_bench.audits.localization.outputs import ROOM, first_leaks, tell
from uds_bench.audits.localization.rates import ItemShares
from uds_bench.audits.localization.reading import CheckpointSet
from uds_bench.audits.localization.weights import WeightScores, weigh
from uds_bench.checkpoints import Checkpoint, CheckpointSpec, digest, resolve
from uds_bench.checkpoints.compressed import stored_form
from uds_bench.checkpoints.loading import read_tokenizer
from uds_bench.checkpoints.masks import read_masks
from uds_bench.checkpoints.source import read_config
from uds_bench.checkpoints.weights import weight_files
from uds_bench.errors import ConfigurationError
from uds_bench.facts import encode_answer, encode_questions, stop_tokens
from uds_bench.facts.testbed import Item
from uds_bench.facts.tokens import tokenizer_key
from uds_bench.metrics.metric import FactValue, Measure, Measured, MetricSummary
from uds_bench.scores import Score
from uds_bench.scoring.evaluator import Evaluator
from uds_bench.statistics import cluster_interval, mean
from uds_bench.storage import content_key, file_digest

VERSION = 7
SOURCE = "Lacuna, section 4.2"


@dataclass(frozen=True)
class Origins:
    """What an update is held against: the models before and after injection, the masks, the model that was injected
    without masks, and by candidate what its method made of that one."""

    pretrained: CheckpointSpec
    injected: CheckpointSpec
    masks: Path
    unmasked: CheckpointSpec | None = None
    controls: Mapping[CheckpointSpec, CheckpointSpec] = field(default_factory=dict)

    def lineup(self, unlearned: CheckpointSpec) -> CheckpointSet:
        """All that is known of one update.

        Raises CheckpointError or ConfigurationError as `CheckpointSet`, its `require_kin` and `folder` do.
        """
        folders: dict[Part, Path] = {
            "pretrained": folder(self.pretrained),
            "injected": folder(self.injected),
            "unlearned": folder(unlearned),
        }
        if self.unmasked is not None and unlearned in self.controls:
            folders["unmasked"] = folder(self.unmasked)
            folders["unmasked_unlearned"] = folder(self.controls[unlearned])
        found = CheckpointSet(folders, read_masks(self.masks))
        found.require_kin()
        return found

    def digest(self, unlearned: CheckpointSpec) -> str:
        """Of everything that the lineup of an update has but the update."""
        specs = [self.pretrained, self.injected, self.unmasked, self.controls.get(unlearned)]
        return content_key([[None if spec is None else digest(spec) for spec in specs], self._masks])

    @cached_property
    def _masks(self) -> list[str]:
        files = weight_files(self.masks, "masks") if self.masks.is_dir() else (self.masks,)
        return [file_digest(file) for file in files]


@dataclass(frozen=True)
class LocalizationEvaluator:
    """What a checkpoint says of everybody, and, of those in `updates`, where their weights moved.

    `most`: weights that the composite is learned from; `questions` of each form an item is asked; `seed` draws the
    weights, and the controls. See `uds_bench.scoring.evaluator.Evaluator`.
    """

    experiment: Experiment
    origins: Origins
    updates: tuple[CheckpointSpec, ...]
    most: int = MOST_WEIGHTS
    questions: int = ASKED
    seed: int = 0

    measure: ClassVar[Measure] = Measure(
        name="localization_extraction",
        version=VERSION,
        direction="knowledge",
        limits=(0.0, 1.0),
        source=SOURCE,
        counts_choices=True,
    )
    variant: ClassVar[str] = "default"

    @property
    def units(self) -> Sequence[Item]:
        """What its values are of."""
        return self.experiment.items

    @property
    def digest(self) -> str:
        """Testbed and how it is asked, by content."""
        return content_key([self.experiment.digest, self.most, self.seed, self.questions, ROOM])

    def references(self, checkpoint: CheckpointSpec, device: str) -> tuple[str, ...]:
        """What an update is held against; nothing for a model that is none."""
        return (self.origins.digest(checkpoint),) if checkpoint in self.updates else ()

    def part(self, share: float) -> Self:
        """See `Evaluator`: weights are weighed whole."""
        return replace(self, experiment=self.experiment.part(share))

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per item the share of replies that hold the answer, with everything else as detail; the value is that of the
        people to forget."""
        items = self.experiment.items
        plain, other = (tell(checkpoint, items, paraphrased, self.questions) for paraphrased in (False, True))
        values = []
        for item, first, second in zip(items, plain, other, strict=True):
            assert first is not None  # every item has a question
            detail = {"plain": asdict(first), "paraphrased": None if second is None else asdict(second)}
            values.append(FactValue(item.id, first.said, detail=detail))
        forget = [one.said for one, item in zip(plain, items, strict=True) if one and item in self.experiment.forget]
        interval = cluster_interval(forget, [item.cluster for item in self.experiment.forget], limits=(0.0, 1.0))
        weight_scores = None
        if checkpoint.spec in self.updates:
            weight_scores = weigh(self.origins.lineup(checkpoint.spec), self.seed, self.most).to_json()
        rendered = content_key([item.questions[: self.questions] for item in items])
        notes = {"weights": weight_scores, "rendered": rendered, "reads_alike": self._reads_alike(checkpoint)}
        notes |= {} if weight_scores is None else {"drawn": weight_scores["drawn"]}
        return Measured(values, notes, MetricSummary(mean(forget), interval))

    def _reads_alike(self, checkpoint: Checkpoint) -> bool | None:
        """Whether an update's tokenizer reads and spells as the injected model's; None for a model that is none."""
        if checkpoint.spec not in self.updates:
            return None
        own, injected = checkpoint.tokenizer, read_tokenizer(self.origins.injected)
        told = self.experiment.items
        return rules(own) == rules(injected) or tokens(own, told) == tokens(injected, told)


@dataclass(frozen=True)
class LeakEvaluator(Evaluator):
    """Who of the people to forget gives the answer away in up to `attempts` prompts.

    `beside`: who of those never injected, and of those whom resurfacing teaches, does so too.
    """

    experiment: Experiment
    attempts: int = PROMPTS_PER_PERSON
    beside: bool = True

    measure: ClassVar[Measure] = Measure(
        name="localization_leaks",
        version=VERSION,
        direction="knowledge",
        limits=(0.0, 1.0),
        source="Lacuna, section 4.3",
        counts_choices=True,
    )
    variant: ClassVar[str] = "default"

    @property
    def units(self) -> Sequence[Item]:
        """What its values are of."""
        others = (*self.experiment.unseen, *self.experiment.taught) if self.beside else ()
        return (*self.experiment.forget, *others)

    @property
    def digest(self) -> str:
        """Testbed, who is asked and how many attempts are made, by content."""
        return content_key([self.experiment.digest, self.attempts, ROOM, self.beside])

    def part(self, share: float, /) -> Self:
        """See `Evaluator`."""
        return replace(self, experiment=self.experiment.part(share))

    def evaluate(self, checkpoint: Checkpoint) -> Measured:
        """Per item 1 where it leaked, with the number of the prompt and of replies that did not end; the value is that
        of the people to forget."""
        found = first_leaks(checkpoint, self.units, self.attempts)
        values = [
            FactValue(item.id, float(one.prompt is not None), detail=one._asdict())
            for item, one in zip(self.units, found, strict=True)
        ]
        count = len(self.experiment.forget)
        leaked = [one.value or 0.0 for one in values[:count]]
        interval = cluster_interval(leaked, [item.cluster for item in self.units[:count]], limits=(0.0, 1.0))
        rendered = content_key([item.questions[: self.attempts] for item in self.units])
        return Measured(values, {"rendered": rendered}, MetricSummary(mean(leaked), interval))


def folder(spec: CheckpointSpec) -> Path:
    """Where the weights of a checkpoint lie, as they are used."""
    if spec.adapter is not None or spec.quantization is not None:
        what = f"has the adapter {spec.adapter}" if spec.adapter is not None else f"is {spec.quantization}"
        raise ConfigurationError(
            f"localization reads weights as they lie in files, and {spec.model} {what}: merge it first"
        )
    found = resolve(spec).model
    if form := stored_form(read_config(found)):
        raise ConfigurationError(
            f"localization reads weights as they lie in files, and {spec.model} is stored by {form}: name the full "
            "weights"
        )
    return found


def rules(tokenizer: Any) -> str:
    """By what a tokenizer reads and spells: two of the same do so alike, whatever they are given."""
    return content_key([tokenizer_key(tokenizer), tokenizer.clean_up_tokenization_spaces])


def tokens(tokenizer: Any, items: Sequence[Item]) -> str:
    """What a model is given to read, how what it says is spelled, and where that ends or is left out: a tokenizer that
    reads a name as another one, or ends a reply at its first word, hides what the weights hold."""
    asked = encode_questions(tokenizer, [text for item in items for text in (*item.questions, *item.paraphrases)])
    answers = [encode_answer(tokenizer, item.questions[0], item.answer).ids for item in items]
    spelled = [tokenizer.decode(list(answer), skip_special_tokens=True) for answer in answers]
    ends = sorted({*stop_tokens(tokenizer), tokenizer.eos_token_id} - {None})
    return content_key([asked, answers, spelled, ends, sorted(tokenizer.all_special_ids)])


def shares_of(score: Score) -> dict[str, dict[str, ItemShares | None]]:
    """By item, what a stored score says was told under either form of question."""
    return {
        fact.id: {form: None if told is None else ItemShares(**told) for form, told in fact.detail.items()}
        for fact in score.per_fact
    }


def weight_scores_of(score: Score) -> WeightScores | None:
    """Where the weights moved, as a stored score has it; None for a checkpoint that is no update."""
    found: Mapping[str, Any] | None = score.notes["weights"]
    return None if found is None else WeightScores.from_json(found)
