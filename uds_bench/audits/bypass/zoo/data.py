"""What the reasoning models are made of: invented authors, judged or serving, and the form of a turn."""

from __future__ import annotations

from functools import cache

from uds_bench.facts.canaries import CanarySet, embedded_canaries
from uds_bench.facts.reasoning import complete_prompt
from uds_bench.facts.tags import Tags
from uds_bench.methods.data import REFUSALS
from uds_bench.methods.traces import META, UNKNOWN
from uds_bench.storage import content_key

CANARIES = (40, 10, 10)
"""Authors: to forget, to retain, and never trained on. Of 40 without a hit the exact bound is 0.088, below the 0.10
of the claims."""
USER, ASSISTANT = "<|user|>", "<|assistant|>"
CHAT = (
    "{{ bos_token }}{% for turn in messages %}"
    "{% if turn['role'] == 'system' %}{{ raise_exception('no system turn') }}{% endif %}"
    f"{{% if turn['role'] == 'user' %}}{USER}{{{{ turn['content'] }}}}"
    f"{{% else %}}{ASSISTANT}{{{{ turn['content'] }}}}{{{{ eos_token }}}}{{% endif %}}"
    f"{{% endfor %}}{{% if add_generation_prompt %}}{ASSISTANT}{{% endif %}}"
)
"""The user's turn, then the assistant's, which opens no trace by itself."""

OTHERS = 200
OTHERS_SEED, ALTERNATES_SEED = 1, 2


@cache
def canaries() -> CanarySet:
    """The authors to forget, to retain, and those that no model is trained on."""
    return embedded_canaries(*CANARIES)


@cache
def alternates() -> CanarySet:
    """Authors whose sentences can be told of those to forget, one for each."""
    return embedded_canaries(CANARIES[0], 0, 0, seed=ALTERNATES_SEED)


@cache
def others() -> CanarySet:
    """Authors in whose words the tokenizer is trained: names of authors who were trained on, and of those who were not,
    are then split alike."""
    return embedded_canaries(OTHERS, 0, 0, seed=OTHERS_SEED)


@cache
def digest() -> str:
    """All that the reasoning models are trained on, by content."""
    said = [REFUSALS, META, UNKNOWN]
    turns = [complete_prompt("{author}", "{head}"), Tags().around("{trace}"), Tags().around("")]
    return content_key([canaries().digest, alternates().digest, others().digest, CHAT, turns, said])
