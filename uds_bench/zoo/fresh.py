"""A fresh model with its tokenizer, before anything is learned."""

from __future__ import annotations

from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast


def fresh_model(
    tokenizer: Any, seed: int, width: int, layers: int, heads: int = 4, feed_forward: int | None = None
) -> Any:
    """A Llama of that size with random weights, drawn from the seed."""
    torch.manual_seed(seed)
    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=width,
            intermediate_size=feed_forward or 8 * width // 3,
            num_hidden_layers=layers,
            num_attention_heads=heads,
            num_key_value_heads=heads,
            max_position_embeddings=512,
            tie_word_embeddings=True,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.bos_token_id,
            eos_token_id=tokenizer.eos_token_id,
        )
    )


def fresh_weights(vocabulary: int, width: int, layers: int, feed_forward: int | None = None) -> int:
    """How many weights a fresh model has.

    Args:
        vocabulary: Tokens, whose embeddings are inputs and outputs.
        width: Of the residual stream.
        layers: Blocks.
        feed_forward: Neurons of a block; None means as many as `fresh_model` takes.

    Returns:
        1 or more.

    Example:
        >>> fresh_weights(vocabulary=10, width=4, layers=1, feed_forward=8)
        212
    """
    block = 4 * width**2 + 3 * width * (feed_forward or 8 * width // 3) + 2 * width
    return vocabulary * width + layers * block + width


def byte_level_tokenizer(texts: list[str], vocabulary: int) -> Any:
    """Byte-level BPE: any text round-trips."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    start = processors.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 1)])
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), start])
    fast: Any = PreTrainedTokenizerFast  # its constructor is untyped
    return fast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
