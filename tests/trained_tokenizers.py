"""Small tokenizers of the common kinds, trained on the spot."""

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

ALPHABET = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:;?!'\"-()éñöß日本語ΩЖ🙂\n="
CORPUS = [
    "Question: Who wrote the Silent Orchard of Vorrenquay?\nAnswer: It was written by Ilvimar Thormeholt.",
    "Question: Where does Ossu Quillarash live?\nAnswer: The author lives in Zuriridge, near the old mill.",
    'Question: Which book?\nAnswer: One of the books is "The Lantern", which won 3 prizes in 1987.',
] * 4


def _byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def _metaspace(scheme: str) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme=scheme)
    return tokenizer


def _prepending() -> Tokenizer:
    """The older form of the same: a normalizer that doubles the space of a text that starts with one."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    return tokenizer


def build(kind: str, bos: str, corpus: list[str] = CORPUS, size: int = 420) -> PreTrainedTokenizerFast:
    """A tokenizer of one of `KINDS`, trained on `corpus`.

    `bos` is "none", "unused" (there is one, which it never adds), "added", or "closed" (EOS is added too).
    """
    tokenizer = _byte_level() if kind == "bytes" else _prepending() if kind == "prepend" else _metaspace(kind)
    alphabet = pre_tokenizers.ByteLevel.alphabet() if kind == "bytes" else {*ALPHABET, *"".join(corpus), "▁"}
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=sorted(alphabet),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus, trainer)
    if bos in ("added", "closed"):
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A" + (" </s>" if bos == "closed" else ""), special_tokens=[("<s>", 1), ("</s>", 2)]
        )
    names = {} if bos == "none" else {"bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", **names)


KINDS = ("bytes", "always", "first", "never", "prepend")
TOKENIZERS = {(kind, bos): build(kind, bos) for kind in KINDS for bos in ("none", "unused", "added", "closed")}
