"""The page of docs that a file of `gpu_figures.py` comes to; every number in it is that file's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Figures = dict[str, Any]
WAYS = {
    "streams": "one candidate, all layers (part stored)",
    "first_streams": "the first candidate (part computed)",
    "loop": "the usual loop over layers",
}


def page(found: Figures) -> str:
    """Markdown."""
    on, parts = found["on"], found["parts"]
    said = [
        "# On a GPU",
        f"Measured on one **{on['device']}** beside {on['cores']} processor cores, with torch {on['torch']} (CUDA "
        f"{on.get('cuda')}, TF32 {'on' if on.get('tf32') else 'off'}), transformers {on['transformers']} and "
        f"sentence-transformers {on['sentence_transformers']}. Figures are this command's:",
        "    python benchmarks/gpu_figures.py --out docs/explanation/gpu.json --page docs/explanation/gpu.md",
        "Weights are random, in the shape of Llama-3.2-1B; cost does not depend on what they are. Seconds are wall "
        "time, the median of rounds in which all ways took turns. Memory is what torch allocated at most.",
    ]
    for name, told in SECTIONS.items():
        if (figures := parts.get(name)) is None:
            continue
        short = figures.get("failed") or figures.get("stopped")
        said += [] if short and name != "score" else list(told(figures))
        said += [f"**{name}**: {short}"] if short else []
    for heading, sentences in found.get("beside", {}).items():  # written into the file by hand
        said += [f"## {heading}", *sentences]
    return "\n\n".join(said) + "\n"


def _table(head: str, rows: list[str]) -> str:
    return "\n".join([head, "|" + "---|" * (head.count("|") - 1), *rows])


def _depth(dtype: str) -> Any:
    def told(figures: Figures) -> Iterator[str]:
        yield f"## Depth in {dtype}"
        above, ratios, spent = (figures[key] for key in ("above_weights_bytes", "plain_passes", "milliseconds"))
        yield (
            f"One batch of {figures['facts']} facts and {figures['tokens']} tokens. A plain pass takes "
            f"{spent['plain']:.1f} ms and {_gb(above['plain'])} beside the weights ({_gb(figures['weights_bytes'])}). "
            f"Streams and loop differ by {figures['largest_gap_nats']:.1e} nats at most. The aim of "
            f"{figures['goal']} plain passes is {'met' if ratios['streams'] <= figures['goal'] else 'missed'}."
        )
        if counted := figures.get("launches"):
            yield (
                f"A plain pass launches {counted['plain']:,} operations, the streams {counted['streams']:,}, the loop "
                f"{counted['loop']:,}."
            )
        yield _table(
            "| way | ms | plain passes | memory beside the weights |",
            [
                f"| {words} | {spent[way]:.1f} | {ratios[way]:.2f} | {_gb(above[way]) if way in above else ''} |"
                for way, words in WAYS.items()
            ],
        )

    return told


def _reading(figures: Figures) -> Iterator[str]:
    yield "## A candidate's reading, and its metrics"
    yield (
        f"{figures['facts']} facts, {figures['tokens']} tokens, bfloat16. One reading of a candidate takes "
        f"{figures['seconds_one_reading']:.2f} s, {figures['reading_in_plain_passes']:.2f} plain passes over the same "
        f"batches. Its path is `{figures['path']}`. The {figures['why']}."
    )


def _score(figures: Figures) -> Iterator[str]:
    if "seconds_reading_references" not in figures:
        return
    yield (
        f"{figures['facts']} facts, by the runner of `uds-bench score`, three models loaded. Reading the references "
        f"takes {figures['seconds_reading_references']:.1f} s, once for all candidates."
    )
    yield _table(
        "| metric | seconds | memory beside the models |",
        [
            f"| {name} | {row['failed']} | |"
            if "failed" in row
            else f"| {name} | {row['seconds']:.2f} | {_gb(row['above_models_bytes']) if len(row) > 2 else ''} |"
            for name, row in figures["metrics"].items()
        ],
    )
    yield "The first of several metrics has the pass that they share."


def _weighing(figures: Figures) -> Iterator[str]:
    yield "## Localization, on the processor"
    yield (
        f"Weighing an update of {figures['weights']:,} weights takes {figures['cpu_weigh']:.0f} s of one thread, "
        f"{figures['ratio']:.1f} times one family's pass, and {_gb(figures['peak'])}. "
        "The command: `python benchmarks/gpu_figures.py --out FILE --device cpu --weigh 1e9`."
    )


def _generation(figures: Figures) -> Iterator[str]:
    yield "## Generation, relearning, loading"
    yield (
        f"{figures['prompts']} prompts at a time: {figures['tokens_a_second']:,.0f} new tokens a second "
        f"({figures['new_tokens']:,} in {figures['seconds']:.1f} s)."
    )


def _relearning(figures: Figures) -> Iterator[str]:
    for dtype in ("bfloat16", "float32"):
        row = figures[dtype]
        yield (
            f"Relearning in {dtype}, 32 answers a step: {row['steps_a_second']:.1f} steps a second, "
            f"{_gb(row['above_weights_bytes'])} beside the weights."
        )


def _loading(figures: Figures) -> Iterator[str]:
    yield _table(
        "| loaded as | seconds | memory held | ms a batch of 16 facts |",
        [
            f"| {bits} | {figures[bits]['seconds_to_load']:.1f} | {_gb(figures[bits]['bytes'])} | "
            f"{figures[bits]['milliseconds_a_batch']:.1f} |"
            for bits in ("bfloat16", "nf4")
        ],
    )


def _encoder(figures: Figures) -> Iterator[str]:
    yield "## Rows of a memory as vectors"
    yield (
        f"An encoder in MiniLM-L6's shape, random weights, float32: {figures['rows']:,} rows of "
        f"{figures['tokens_a_row']:.0f} tokens in {figures['seconds']:.1f} s, {figures['rows_a_second']:,.0f} rows a "
        f"second. The same machine's processor embeds {figures['rows_a_second_on_the_cpu']:,.0f} a second. Vectors "
        f"differ by {figures['largest_difference']:.0e} at most."
    )


def _gb(count: int | None) -> str:
    return "not counted" if count is None else f"{count / 1e9:.2f} GB"


SECTIONS = {
    "depth_bfloat16": _depth("bfloat16"),
    "depth_float32": _depth("float32"),
    "reading": _reading,
    "score": _score,
    "generation": _generation,
    "relearning": _relearning,
    "loading": _loading,
    "encoder": _encoder,
    "weighing": _weighing,
}
