"""Replies that another engine has given: which prompts they are to, and models of which there is nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from uds_bench.audits.bypass.prompts import Prompt, prompts
from uds_bench.audits.bypass.section import ReplySettings
from uds_bench.checkpoints import CheckpointSpec, digest
from uds_bench.checkpoints.loading import read_tokenizer, tokenizer_in
from uds_bench.checkpoints.spec import SPECIMEN
from uds_bench.errors import CheckpointError, ConfigurationError
from uds_bench.facts.canaries import CanarySet
from uds_bench.facts.reasoning import text_alone
from uds_bench.facts.records import Record, read_records
from uds_bench.facts.tokens import tokenizer_key
from uds_bench.storage import content_key
from uds_bench.zoo import specimens

ENDS = {"stop": True, "length": False}
"""Whether a reply was over, by `finish_reason`."""
WEIGHTS = ("*.safetensors*", "*.bin", "*.pt", "*.pth", "*.gguf")


@dataclass(frozen=True)
class RawReply:
    """What an engine said behind a prompt; `ended`: whether it was over before the token limit. `reasoning`: the trace,
    where the engine took it out of the text."""

    text: str
    ended: bool
    reasoning: str | None = None

    def whole(self, prompt: Prompt) -> str:
        """All of it, the trace in its tags again; without the closing one where it was cut inside the trace."""
        if self.reasoning is None:
            return self.text
        tags = prompt.turn.tags
        closing = tags.closing if self.text or self.ended else ""
        return f"{self._opening(prompt)}{self.reasoning}{closing}{self.text}"

    def joints(self, prompt: Prompt) -> tuple[int, ...]:
        """Characters of it before which an engine that took the trace out may have taken line breaks out too."""
        if self.reasoning is None:
            return ()
        start = len(self._opening(prompt))
        end = start + len(self.reasoning)
        return (start, end, end + len(prompt.turn.tags.closing))

    @staticmethod
    def _opening(prompt: Prompt) -> str:
        """The tag that opens the trace, where the prompt has not given it."""
        return "" if prompt.given and prompt.given == prompt.turn.opening else prompt.turn.tags.opening


@dataclass(frozen=True)
class Recorded:
    """Replies of one checkpoint by the digest of their prompt. `digest`: what its prompts were drawn by; `name`: of the
    checkpoint."""

    digest: str
    replies: Mapping[str, RawReply]
    name: str = ""


@dataclass(frozen=True)
class Surface:
    """A model of which there are a tokenizer and replies alone: nothing can be generated or forced."""

    spec: CheckpointSpec
    tokenizer: Any
    digest: str
    model: Any = field(default_factory=lambda: SimpleNamespace(dtype="none"))


def is_surface(spec: CheckpointSpec) -> bool:
    """Whether a checkpoint's folder holds no weights of any form."""
    folder = Path(spec.model)
    return spec.adapter is None and folder.is_dir() and not any(found for one in WEIGHTS for found in folder.glob(one))


def surface(spec: CheckpointSpec) -> Surface:
    """A folder without weights. Whoever serves the model may have changed it: its name alone tells it from others."""
    tokenizer = tokenizer_in(Path(spec.model), spec.model)
    return Surface(spec, tokenizer, content_key([Path(spec.model).name, tokenizer_key(tokenizer)]))


def drawn_by(spec: CheckpointSpec) -> str:
    """What the prompts of a checkpoint are drawn by where they are written down: the same on every machine."""
    return surface(spec).digest if is_surface(spec) else digest(spec, "cpu")


def prompts_of(spec: CheckpointSpec, canaries: CanarySet, asking: ReplySettings) -> tuple[Any, tuple[Prompt, ...]]:
    """A checkpoint's tokenizer, and everything that it is asked, no model loaded."""
    if spec.model.startswith(SPECIMEN):
        spec = CheckpointSpec(str(specimens.folder(spec.model)))
    found = surface(spec) if is_surface(spec) else None
    tokenizer = read_tokenizer(spec) if found is None else found.tokenizer
    return tokenizer, prompts(tokenizer, canaries, asking, drawn_by(spec)).every


def read_replies(
    files: Sequence[Path], specs: Mapping[str, CheckpointSpec], canaries: CanarySet, asking: ReplySettings
) -> dict[str, Recorded]:
    """Replies by what their checkpoint's prompts are drawn by; those without any are left out.

    Raises FactError, with file and line, for a reply to a prompt that none of the checkpoints is asked, and for a
    second one to the same prompt; ConfigurationError where two checkpoints are asked the same.
    """
    whose: dict[str, str] = {}
    owners: dict[str, str] = {}
    unread = False
    for name, spec in specs.items():
        try:
            asked_of_it = prompts_of(spec, canaries, asking)[1]
        except CheckpointError:  # it is refused by itself, and what it would have been asked is not known
            unread = True
            continue
        for one in asked_of_it:
            drawn_by = one.key.partition(" ")[2]
            if owners.setdefault(drawn_by, name) != name:
                raise ConfigurationError(
                    f"[bypass] models {owners[drawn_by]}, {name}: are asked the same, so that no reply tells whose it "
                    "is: name two checkpoints, or folders of two names"
                )
            whose[one.digest] = drawn_by
    found: dict[str, dict[str, RawReply]] = {}
    for file in files:
        for record in read_records(file):
            asked = record.text("digest")
            if asked not in whose:
                if unread:
                    continue
                raise record.error(
                    f"digest {asked[:12]} is of no prompt that is asked now: the checkpoint, the canaries or [bypass] "
                    "have changed since; write the prompts anew with uds-bench ask, and ask those"
                )
            if found.setdefault(whose[asked], {}).setdefault(asked, replies := _raw_reply(record)) is not replies:
                raise record.error("is a second reply to the same prompt: keep one")
    return {drawn_by: Recorded(drawn_by, replies, owners[drawn_by]) for drawn_by, replies in found.items()}


def _raw_reply(record: Record) -> RawReply:
    reason, text = record.text("finish_reason"), record.text("reply")
    if reason not in ENDS:
        raise record.error(f"key 'finish_reason' is {reason!r}; it must be one of {', '.join(ENDS)}")
    return RawReply(text, ENDS[reason], record.text_or("reasoning", None))


def require_all(asked: Sequence[Prompt], recorded: Recorded, has_weights: bool) -> None:
    """Raise CheckpointError where replies are missing that the model cannot give, or must not: of those to be forgotten
    all are of one engine."""
    missing = [one for one in asked if one.digest not in recorded.replies]
    lacking = [one for one in missing if not has_weights or one.canary.split == "forget"]
    if lacking:
        counts = Counter(
            f"{one.canary.split} {'questions' if one.question is not None else one.arm}" for one in lacking
        )
        replies = ", ".join(f"{count} {what}" for what, count in counts.most_common(4))
        raise CheckpointError(
            f"{len(lacking)} of {len(asked)} replies are missing ({replies}{' ...' if len(counts) > 4 else ''}): ask "
            "those prompts of uds-bench ask too, and add their replies"
        )


def to_json(model: str, prompt: Prompt, tokenizer: Any, stops: Sequence[str]) -> dict[str, Any]:
    """A prompt as `uds-bench ask` writes it; `tokenizer`: of the model."""
    form, canary = prompt.asking.form, prompt.canary
    return {
        "model": model,
        "id": canary.id,
        "author": canary.author,
        "split": canary.split,
        "arm": prompt.arm,
        "question": prompt.question,
        "sample": prompt.sample,
        "messages": prompt.messages,
        "chat_template_kwargs": dict(form.options),
        "prompt": text_alone(tokenizer, prompt.turn) + prompt.given,
        "prompt_token_ids": list(prompt.ids),
        "tags": list(asdict(prompt.turn.tags).values()),
        "temperature": prompt.temperature,
        "seed": None if prompt.sample is None else int(content_key(prompt.luck)[:8], 16),
        "max_tokens": prompt.asking.limit,
        "stop": list(stops),
        "digest": prompt.digest,
    }
