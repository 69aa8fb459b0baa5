"""Fakes of the depth audit, made of a Llama in seconds: the same function in another basis, and destroyed models.

A residual stream can be permuted, rotated or scaled without any change of what the model says, as RMSNorm without gains
turns with it; heads and neurons can be reordered, and gains moved between norms and weights.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoModelForCausalLM, AutoTokenizer

Change = Callable[[Any], Any]


def blocks(model: Any) -> Iterator[tuple[Any, list[nn.Linear], list[nn.Linear], Any, list[nn.Linear], nn.Linear]]:
    """Of every block: norm, what reads it, what writes; the same of its mlp."""
    for block in model.model.layers:
        attention, mlp = block.self_attn, block.mlp
        reading = [attention.q_proj, attention.k_proj, attention.v_proj]
        yield (
            block.input_layernorm,
            reading,
            [attention.o_proj, mlp.down_proj],
            block.post_attention_layernorm,
            [
                mlp.gate_proj,
                mlp.up_proj,
            ],
            attention.o_proj,
        )


def untied(model: Any) -> Any:
    """With a head of its own, and every gain moved from its norm into what reads it."""
    model.lm_head.weight = nn.Parameter(model.lm_head.weight.detach().clone())
    model.config.tie_word_embeddings = False
    for norm, reading, _, second, inside, _ in blocks(model):
        for gain, layers in ((norm.weight, reading), (second.weight, inside)):
            for layer in layers:
                layer.weight.mul_(gain)
            gain.fill_(1)
    model.lm_head.weight.mul_(model.model.norm.weight)
    model.model.norm.weight.fill_(1)
    return model


def turned(basis: torch.Tensor, factor: float = 1.0) -> Change:
    """The residual stream in another basis, `factor` times as long."""

    def change(model: Any) -> Any:
        model = untied(model)
        for _, reading, writing, _, inside, _ in blocks(model):
            for layer in (*reading, *inside):
                layer.weight.copy_((layer.weight.double() @ basis).float())
            for layer in writing:
                layer.weight.copy_((basis.T @ layer.weight.double()).float() * factor)
        model.lm_head.weight.copy_((model.lm_head.weight.double() @ basis).float())
        embedding = model.model.embed_tokens.weight
        embedding.copy_((embedding.double() @ basis).float() * factor)
        return model

    return change


def drawn(width: int, of: int | None = None) -> torch.Tensor:
    """A random rotation, of the first `of` dimensions alone where it is given."""
    size = of or width
    basis = torch.eye(width, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    basis[:size, :size] = torch.linalg.qr(torch.randn(size, size, generator=generator, dtype=torch.float64))[0]
    return basis


def shuffled(width: int) -> torch.Tensor:
    """A permutation."""
    return torch.eye(width, dtype=torch.float64)[:, torch.randperm(width, generator=torch.Generator().manual_seed(0))]


def reordered(model: Any) -> Any:
    """Heads and neurons in another order, and gains three times as large before weights a third as large."""
    generator = torch.Generator().manual_seed(0)
    heads = model.config.num_attention_heads
    for block in model.model.layers:
        attention, mlp = block.self_attn, block.mlp
        neurons = torch.randperm(mlp.up_proj.weight.shape[0], generator=generator)
        for layer in (mlp.up_proj, mlp.gate_proj):
            layer.weight.copy_(layer.weight[neurons])
        mlp.down_proj.weight.copy_(mlp.down_proj.weight[:, neurons])
        size = attention.q_proj.weight.shape[0] // heads
        order = torch.randperm(heads, generator=generator)
        rows = (order[:, None] * size + torch.arange(size)).reshape(-1)
        for layer in (attention.q_proj, attention.k_proj, attention.v_proj):
            layer.weight.copy_(layer.weight[rows] / 3)
        block.input_layernorm.weight.mul_(3)
        attention.o_proj.weight.copy_(attention.o_proj.weight[:, rows])
    return model


def random_weights(model: Any) -> Any:
    """Nothing of what was learned, at the usual scale."""
    torch.manual_seed(0)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.normal_(0, 0.02)
    return model


def one_block_more(model: Any) -> Any:
    """A last block that adds nothing."""
    block = copy.deepcopy(model.model.layers[-1])
    block.self_attn.layer_idx = len(model.model.layers)
    block.self_attn.o_proj.weight.zero_()
    block.mlp.down_proj.weight.zero_()
    model.model.layers.append(block)
    model.config.num_hidden_layers += 1
    return model


def noisy(model: Any) -> Any:
    """Noise in every weight, as large as the weights are: it says nothing sensible."""
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.add_(torch.randn(weight.shape, generator=generator) * weight.std())
    return model


def outliers(model: Any) -> Any:
    """Gains a ten-thousandth of what they were before weights ten thousand times as large, one in 32 columns: the same
    function, until weights that share a scale with those are rounded."""
    for norm, reading, _, second, inside, _ in blocks(model):
        for gain, layers in ((norm.weight, reading), (second.weight, inside)):
            gain[::32] /= 1e4
            for layer in layers:
                layer.weight[:, ::32] *= 1e4
    return model


def stiff(model: Any) -> Any:
    """The same function in weights of another size: each step of training is too small beside them, or beside what
    they are multiplied with."""
    stream, inner, read = 2.0**13, 2.0**7, 8.0
    model = untied(model)
    model.model.embed_tokens.weight.mul_(stream)
    for norm, reading, _, second, inside, _ in blocks(model):
        for gain, layers in ((norm.weight, reading), (second.weight, inside)):
            gain.div_(read)
            for layer in layers:
                layer.weight.mul_(read)
    for block in model.model.layers:
        attention, mlp = block.self_attn, block.mlp
        for inward, outward in ((attention.v_proj, attention.o_proj), (mlp.up_proj, mlp.down_proj)):
            inward.weight.mul_(inner)
            outward.weight.mul_(stream / inner)
    model.model.norm.weight.div_(read)
    model.lm_head.weight.mul_(read)
    model.config.rms_norm_eps *= stream**2
    for module in model.modules():
        if hasattr(module, "variance_epsilon"):
            module.variance_epsilon = model.config.rms_norm_eps
    return model


@torch.no_grad()
def make(source: Path, change: Change, folder: Path) -> Path:
    """A changed checkpoint in a folder of its own."""
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    change(model).save_pretrained(folder)
    AutoTokenizer.from_pretrained(source).save_pretrained(folder)
    return folder
