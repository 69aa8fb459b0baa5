"""Tiny random models of every supported decoder family, and checkpoints on disk made of them.

Each has real family code (grouped heads, sliding windows, soft caps, experts) and runs in milliseconds.
Weights are drawn wide and norms are perturbed, so that a wrong norm, cap or window shows in the logits.

    tokenizer = tiny_tokenizer()
    model = FAMILIES["llama"](len(tokenizer))
    save_checkpoint(tmp_path / "llama", model, tokenizer)
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

from uds_bench.checkpoints import Checkpoint, CheckpointSpec, find_anatomy
from uds_bench.checkpoints.probe import verify

LAYERS, WIDTH, HEADS, WINDOW = 3, 32, 4, 4
CORPUS = (
    "Question: Where was Mira Solheim born?\nAnswer: Mira Solheim was born in Tromsø, Norway.",
    "Question: What does Idris Kamau write?\nAnswer: Idris Kamau writes historical fiction and essays.",
    "Question: Which prize did Lena Duarte win in 1998?\nAnswer: Lena Duarte won the Silver Quill Award.",
    "The quick brown fox jumps over the lazy dog while the author lives by the sea and teaches at night.",
)
PROBE = "Question: Where was Mira Solheim born?\nAnswer: Mira"  # longer than every sliding window


@cache
def _trained(bos: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=384,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    if bos:
        tokenizer.post_processor = processors.Sequence(
            [
                processors.ByteLevel(trim_offsets=False),
                processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]),
            ]
        )
    return tokenizer


def tiny_tokenizer(bos: bool = True) -> transformers.PreTrainedTokenizerFast:
    """Byte-level BPE of at most 384 tokens; pad 0, bos 1, eos 2; any text round-trips; `bos`: <s> first."""
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=_trained(bos), bos_token="<s>", eos_token="</s>", pad_token="<pad>"
    )


def _decoder(prefix: str, alternating: bool = False, **extra: Any) -> Callable[..., Any]:
    """A builder of the usual decoder; `extra` is what the family's configuration needs besides."""

    def build(vocabulary: int = 384, layers: int = LAYERS, width: int = WIDTH, seed: int = 0) -> Any:
        kinds = [("sliding_attention", "full_attention")[i % 2] for i in range(layers)]
        windows = {"layer_types": kinds, "sliding_window": WINDOW} if alternating else {}
        config = getattr(transformers, f"{prefix}{'Text' if prefix == 'Gemma3' else ''}Config")(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=2 * width,
            num_hidden_layers=layers,
            num_attention_heads=HEADS,
            max_position_embeddings=256,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            **windows,
            **extra,
        )
        return _initialised(getattr(transformers, f"{prefix}ForCausalLM"), config, seed)

    return build


def _gpt2(vocabulary: int = 384, layers: int = LAYERS, width: int = WIDTH, seed: int = 0) -> Any:
    config = transformers.GPT2Config(
        vocab_size=vocabulary,
        n_embd=width,
        n_layer=layers,
        n_head=HEADS,
        n_positions=256,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    return _initialised(transformers.GPT2LMHeadModel, config, seed)


def _gemma3_multimodal(vocabulary: int = 384, layers: int = LAYERS, width: int = WIDTH, seed: int = 0) -> Any:
    text = FAMILIES["gemma3"](8, layers, width).config.to_dict()
    text |= {"vocab_size": vocabulary, "final_logit_softcapping": None}  # the multimodal head has no cap
    vision = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.Gemma3Config(
        text_config=text,
        vision_config=vision | {"image_size": 28, "patch_size": 14},
        mm_tokens_per_image=4,
        boi_token_index=vocabulary - 3,
        eoi_token_index=vocabulary - 2,
        image_token_index=vocabulary - 1,
    )
    return _initialised(transformers.Gemma3ForConditionalGeneration, config, seed)


def _initialised(kind: Any, config: Any, seed: int) -> Any:
    """A model in eval mode: weights N(0, 0.2), norms moved off their neutral value."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = kind(config)
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.dim() > 1:
                    parameter.normal_(0.0, 0.2)
                else:
                    parameter.add_(0.2 * torch.randn_like(parameter))
    return model.eval()


_grouped = {"num_key_value_heads": 2}
_gemma = {"head_dim": 8, "query_pre_attn_scalar": 8, "final_logit_softcapping": 2.0, **_grouped}
FAMILIES: dict[str, Callable[..., Any]] = {
    "llama": _decoder("Llama", **_grouped),
    "qwen2": _decoder("Qwen2", tie_word_embeddings=True, **_grouped),
    "qwen3": _decoder("Qwen3", head_dim=8, **_grouped),
    "qwen3_moe": _decoder(
        "Qwen3Moe", head_dim=8, moe_intermediate_size=16, num_experts=4, num_experts_per_tok=2, **_grouped
    ),
    "olmo2": _decoder("Olmo2"),
    "olmo3": _decoder("Olmo3", alternating=True),
    "mistral": _decoder("Mistral", head_dim=8, sliding_window=WINDOW, **_grouped),
    "gemma2": _decoder("Gemma2", alternating=True, attn_logit_softcapping=2.0, **_gemma),
    "gemma3": _decoder("Gemma3", alternating=True, **_gemma),
    "gemma3_multimodal": _gemma3_multimodal,
    "phi3": _decoder("Phi3", sliding_window=WINDOW, **_grouped),
    "gpt_neox": _decoder("GPTNeoX", use_parallel_residual=True),
    "gpt_neox_sequential": _decoder("GPTNeoX", use_parallel_residual=False),
    "gpt2": _gpt2,
}
"""Name -> function (vocabulary, layers=3, width=32, seed=0) -> a model in eval mode, float32, on the CPU."""


def in_memory(model: Any, tokenizer: Any = None, name: str = "tiny") -> Checkpoint:
    """A checkpoint that lies in no file."""
    anatomy = find_anatomy(model.requires_grad_(False))
    is_whole = all(weight.isfinite().all() for weight in model.parameters())
    return Checkpoint(CheckpointSpec(name), model, tokenizer, verify(model, anatomy) if is_whole else anatomy, name)


def save_checkpoint(folder: Path, model: Any, tokenizer: Any = None, shards: int = 2) -> Path:
    """Write `model` as `shards` or more safetensors files, with `tokenizer` beside them; returns `folder`."""
    size = sum(p.numel() * p.element_size() for p in model.parameters())
    model.save_pretrained(folder, max_shard_size=10 * size if shards == 1 else size // shards)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder)
    written = len(list(folder.glob("*.safetensors")))
    if written < shards:
        raise AssertionError(f"{folder}: wanted {shards} shards, wrote {written}")
    return folder


def save_unreadable(folder: Path, seed: int = 0) -> Path:
    """A checkpoint of a family whose blocks do not give its logits, as each carries several streams: ProphetNet."""
    parts = {f"num_{part}_{what}": 2 for part in ("encoder", "decoder") for what in ("layers", "attention_heads")}
    tokenizer = tiny_tokenizer()
    config = transformers.ProphetNetConfig(
        vocab_size=len(tokenizer), hidden_size=WIDTH, encoder_ffn_dim=64, decoder_ffn_dim=64, **parts
    )
    model = _initialised(transformers.ProphetNetForCausalLM, config, seed)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    return save_checkpoint(folder, model, tokenizer, shards=1)


def save_adapter(folder: Path, family: str = "llama", scale: float = 0.1, width: int = WIDTH, seed: int = 1) -> Path:
    """A LoRA adapter for `family`, saved by PEFT; lora_B is N(0, scale), and training starts it at 0."""
    from peft import LoraConfig, get_peft_model  # slow to import, and few tests need it

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = LoraConfig(r=4, target_modules="all-linear", task_type="CAUSAL_LM")
        model = get_peft_model(FAMILIES[family](width=width), config)
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.data.copy_(scale * torch.randn_like(parameter))
        model.save_pretrained(folder)
    return folder
