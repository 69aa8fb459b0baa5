"""Chat templates that open, close or leave out thinking as those of reasoning models in use do, in fewer words.

What each prints behind a prompt is that of the family's public tokenizer_config.json: Qwen3, DeepSeek-R1-Distill,
DeepSeek-V3.1, SmolLM3, Magistral, gpt-oss, Seed-OSS.
"""

from __future__ import annotations

_CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
_ASKED = "{% if add_generation_prompt %}"

QWEN3 = (
    _CHATML + _ASKED + "<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""Opens nothing; told not to think it prints an empty trace."""

R1_DISTILL = (
    "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{{ m.content }}"
    "{% else %}<｜Assistant｜>{{ m.content.split('</think>')[-1] }}{{ eos_token }}{% endif %}{% endfor %}"
    + _ASKED
    + "<｜Assistant｜><think>\n{% endif %}"
)
"""Opens the trace."""

DEEPSEEK_V31 = (
    "{% if thinking is not defined %}{% set thinking = false %}{% endif %}{{ bos_token }}"
    "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}"
    "{% elif m.role == 'user' %}<｜User｜>{{ m.content }}"
    "{% else %}<｜Assistant｜></think>{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
    + _ASKED
    + "<｜Assistant｜>{% if thinking %}<think>{% else %}</think>{% endif %}{% endif %}"
)
"""Closes a trace that it never opened, unless it is told to think; opens one then, with no line break."""

SMOLLM3 = (
    "{% if enable_thinking is not defined %}{% set enable_thinking = true %}{% endif %}"
    "{% set mode = '/think' if enable_thinking else '/no_think' %}<|im_start|>system\nReasoning Mode: {{ mode }}\n"
    "{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}"
    "Use the format <think> Thought </think> Solution.<|im_end|>\n"
    "{% for m in messages %}{% if m.role != 'system' %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endif %}"
    "{% endfor %}"
    + _ASKED
    + "<|im_start|>assistant\n{% if mode == '/no_think' %}<think>\n\n</think>\n{% endif %}{% endif %}"
)
"""Speaks of the tags in its system text."""

MAGISTRAL = (
    "{{ bos_token }}{% if messages[0].role != 'system' %}"
    "[SYSTEM_PROMPT]Draft your thinking first, as [THINK]thoughts[/THINK]answer.[/SYSTEM_PROMPT]{% endif %}"
    "{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
    "{% elif m.role == 'system' %}[SYSTEM_PROMPT]{{ m.content }}[/SYSTEM_PROMPT]"
    "{% else %}{{ m.content }}{{ eos_token }}{% endif %}{% endfor %}"
)
"""Tags in brackets, which the model writes itself."""

GPT_OSS = (
    "<|start|>system<|message|>Reasoning: {{ reasoning_effort | default('medium') }}<|end|>"
    "{% for m in messages %}{% if m.role == 'assistant' %}"
    "{% if m.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}"
    "<|start|>assistant<|channel|>final<|message|>{{ m.content }}<|return|>"
    "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}"
    + _ASKED
    + "<|start|>assistant{% endif %}"
)
"""Channels in the place of tags."""

SEED_OSS = (
    "{% set begin = '<seed:think>' %}{% set end = '</seed:think>' %}"
    "{% for m in messages %}<seed:bos>{{ m.role }}\n{{ m.content }}<seed:eos>{% endfor %}"
    + _ASKED
    + "<seed:bos>assistant\n{% if thinking_budget == 0 %}{{ begin }}{{ end }}{% endif %}{% endif %}"
)

OPENED_TWICE = _CHATML + _ASKED + "<|im_start|>assistant\n<think>\n<think>\n{% endif %}"
WRITTEN_INTO = _CHATML + _ASKED + "<|im_start|>assistant\n<think>\nOkay, {% endif %}"
NEVER = _CHATML + _ASKED + "<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}"
"""Closes the trace, whatever it is told."""
