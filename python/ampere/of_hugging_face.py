"""Models of Hugging Face by their names, from configurations alone: no weights, no network."""

from __future__ import annotations

import os
from typing import Any

LENGTH = 128

# For machines that have never downloaded them: configuration, what differs from its defaults, and the model that the
# published configuration names. Defaults of a configuration are those of its first model.
KNOWN: dict[str, tuple[str, dict[str, Any], str]] = {
    "bert-base-cased": ("BertConfig", {"vocab_size": 28996}, "BertForMaskedLM"),
    "bert-base-uncased": ("BertConfig", {}, "BertForMaskedLM"),
    "distilbert-base-uncased": ("DistilBertConfig", {}, "DistilBertForMaskedLM"),
    "google/vit-base-patch16-224": ("ViTConfig", {"num_labels": 1000}, "ViTForImageClassification"),
    "gpt2": ("GPT2Config", {}, "GPT2LMHeadModel"),
    "roberta-base": (
        "RobertaConfig",
        {"max_position_embeddings": 514, "type_vocab_size": 1, "vocab_size": 50265},
        "RobertaForMaskedLM",
    ),
    "t5-small": ("T5Config", {"decoder_start_token_id": 0}, "T5ForConditionalGeneration"),
}
# Where these are published today; the names above still work there.
OWNERS = ("FacebookAI/", "distilbert/", "google-bert/", "google-t5/", "openai-community/")


def known_as(name: str) -> str:
    owner = next((owner for owner in OWNERS if name.startswith(owner)), "")
    return name.removeprefix(owner)


def named(name: str) -> tuple[Any, list[str]]:
    """The model, without memory for its weights, and what is to be said of it."""
    from .subject import BadSubject

    # Read when the library is imported, so before it: a configuration that is not here is not asked for elsewhere.
    os.environ["HF_HUB_OFFLINE"] = "1"
    try:
        import transformers
    except ImportError as e:
        raise BadSubject("hf: needs Hugging Face's library: pip install transformers") from e
    import torch

    notes: list[str] = []
    try:
        config = transformers.AutoConfig.from_pretrained(name, local_files_only=True)
        kinds = config.architectures or []
    except Exception as e:  # what it raises where there is none differs from version to version
        if known_as(name) not in KNOWN:
            raise BadSubject(
                f'no configuration of "{name}" is on this machine, and it is none of {", ".join(KNOWN)}'
            ) from e
        kind, settings, architecture = KNOWN[known_as(name)]
        config, kinds = getattr(transformers, kind)(**settings), [architecture]
        notes.append(f"{name} is made from {kind}'s own values: no configuration of it is on this machine")
    make = getattr(transformers, kinds[0], None) if kinds else None
    if make is None:
        raise BadSubject(
            f'the configuration of "{name}" names no model that transformers {transformers.__version__} has'
        )
    with torch.device("meta"):
        return make(config), notes


def inputs_of(model: Any, batch: int, length: int | None = None) -> dict[str, Any]:
    """A batch as the model is trained with. Only sizes count."""
    import torch

    from .subject import BadSubject

    config = model.config
    if model.main_input_name == "pixel_values":
        if length is not None:
            raise BadSubject("--length is for language models, this one takes images")
        size = config.image_size
        height, width = (size, size) if isinstance(size, int) else size
        pixels = torch.zeros(batch, getattr(config, "num_channels", 3), height, width)
        return {"pixel_values": pixels, "labels": torch.zeros(batch, dtype=torch.long)}
    if model.main_input_name != "input_ids":
        raise BadSubject(f'{type(model).__name__} takes "{model.main_input_name}": let a function give its inputs')
    length = LENGTH if length is None else length
    longest = getattr(config, "max_position_embeddings", None)
    if longest is not None and length > longest:
        raise BadSubject(f"--length {length}: {type(model).__name__} takes {longest} tokens at most")
    tokens = torch.ones(batch, length, dtype=torch.long)
    kind = type(model).__name__
    labels = torch.zeros(batch, dtype=torch.long) if kind.endswith("ForSequenceClassification") else tokens
    return {"input_ids": tokens, "labels": labels}
