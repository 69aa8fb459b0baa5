"""Facts, their entity spans and prompts, and where they come from."""

from uds_bench.facts.annotate import AnnotationReport, annotate_all, annotate_file
from uds_bench.facts.authors import base_authors, embedded, training_pairs
from uds_bench.facts.dialogue import (
    EncodedAnswer,
    Form,
    answers_of,
    encode_answer,
    encode_question,
    encode_questions,
    stop_tokens,
)
from uds_bench.facts.entity import find_span, split_answer
from uds_bench.facts.fact import SPLITS, Fact, FactSet, Split, Unannotated, require_forget
from uds_bench.facts.jsonl import read_facts, write_facts
from uds_bench.facts.loading import load_facts
from uds_bench.facts.prompts import Variant, continuation, question_prompt, raw_prompt
from uds_bench.facts.spans import EncodedFact, encode, rendered_digest
from uds_bench.facts.tofu import load_annotated, load_tofu, load_tofu_from_hub
from uds_bench.facts.tokens import EncodedText, encode_text, tokenizer_key

__all__ = [
    "SPLITS",
    "AnnotationReport",
    "EncodedAnswer",
    "EncodedFact",
    "EncodedText",
    "Fact",
    "FactSet",
    "Form",
    "Split",
    "Unannotated",
    "Variant",
    "annotate_all",
    "annotate_file",
    "answers_of",
    "base_authors",
    "continuation",
    "embedded",
    "encode",
    "encode_answer",
    "encode_question",
    "encode_questions",
    "encode_text",
    "find_span",
    "load_annotated",
    "load_facts",
    "load_tofu",
    "load_tofu_from_hub",
    "question_prompt",
    "raw_prompt",
    "read_facts",
    "rendered_digest",
    "require_forget",
    "split_answer",
    "stop_tokens",
    "tokenizer_key",
    "training_pairs",
    "write_facts",
]
