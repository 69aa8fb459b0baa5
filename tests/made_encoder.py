"""An encoder of MiniLM's kind with random weights: what its vectors mean is nothing, and their cost is as of any."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import BertConfig, BertModel, BertTokenizerFast

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789.,'"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def write_encoder(folder: Path, layers: int = 6, width: int = 384, vocabulary: int = 30_522) -> Path:
    """Saves one whose tokens are pairs of letters, and letters; returns `folder`. By default in MiniLM-L6's shape."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.models import Pooling, Transformer

    pairs = [one + other for one in LETTERS for other in LETTERS]
    words = [*SPECIAL, *LETTERS, *pairs, *(f"##{piece}" for piece in (*LETTERS, *pairs))]
    plain = folder / "plain"
    plain.mkdir(parents=True)
    (plain / "vocab.txt").write_text("\n".join(words))
    BertTokenizerFast(str(plain / "vocab.txt")).save_pretrained(plain)
    config = BertConfig(
        vocab_size=vocabulary,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=4 * width,
        max_position_embeddings=512,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        BertModel(config).save_pretrained(plain)
    body = Transformer(str(plain), max_seq_length=256)
    SentenceTransformer(modules=[body, Pooling(width, pooling_mode="mean")], device="cpu").save(str(folder))
    return folder
