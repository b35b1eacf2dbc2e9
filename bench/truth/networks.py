"""Networks by name, with the batch that people give them. Nothing is downloaded: every weight is drawn at random.

`resnet50` is the network at its usual batch, `resnet50@64` at another. A module is called with its inputs by name,
`module(**inputs)`, and trained on `loss(output, targets)`. Text fills its length, so there is no attention mask.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import modules
import torch
import torch.nn.functional as F
import torchvision
from torch import nn

Inputs = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Network:
    """All that a training loop needs of one network."""

    build: Callable[[], nn.Module]
    make_inputs: Callable[[int, torch.device], Inputs]
    make_targets: Callable[[int, torch.device], torch.Tensor]
    loss: Callable[[object, torch.Tensor], torch.Tensor]
    batch: int  # as people use it
    shape: str  # of one sample, for the reader


def cross_entropy(output, targets: torch.Tensor) -> torch.Tensor:
    """Of logits (batch, classes), (batch, classes, height, width) or (batch, length, classes), however wrapped."""
    if isinstance(output, dict) and "out" in output:  # torchvision's segmentation
        output = output["out"]
    elif not isinstance(output, torch.Tensor):  # transformers
        output = output.logits
    if output.dim() == 3:  # one class for each place of a sequence
        return F.cross_entropy(output.flatten(0, 1), targets.flatten())
    return F.cross_entropy(output, targets)


def _floats(name: str, *shape: int) -> Callable[[int, torch.device], Inputs]:
    return lambda batch, device: {name: torch.randn(batch, *shape, device=device)}


def _integers(limit: int, *shape: int) -> Callable[[int, torch.device], torch.Tensor]:
    return lambda batch, device: torch.randint(0, limit, (batch, *shape), device=device)


def _tokens(words: int, length: int, *names: str) -> Callable[[int, torch.device], Inputs]:
    draw = _integers(words, length)
    return lambda batch, device: {name: draw(batch, device) for name in names}


def _vision(name: str, batch: int, size: int = 224, **options) -> Network:
    def build():
        return torchvision.models.get_model(name, weights=None, **options)

    return Network(build, _floats("x", 3, size, size), _integers(1000), cross_entropy, batch, f"3x{size}x{size}")


def _segmentation(build: Callable[[], nn.Module], classes: int, batch: int, size: int, image: str = "x") -> Network:
    return Network(build, _floats(image, 3, size, size), _integers(classes, size, size), cross_entropy, batch,
                   f"3x{size}x{size}")


def _fcn_resnet50() -> nn.Module:
    return torchvision.models.segmentation.fcn_resnet50(
        weights=None, weights_backbone=None, num_classes=21, aux_loss=False)


def _r3d_18() -> Network:
    return Network(lambda: torchvision.models.video.r3d_18(weights=None), _floats("x", 3, 16, 112, 112),
                   _integers(400), cross_entropy, 8, "3x16x112x112")


def _cifar_resnet18() -> nn.Module:
    """ResNet-18 with the stem that everyone gives it for 32 x 32 images."""
    network = torchvision.models.resnet18(weights=None, num_classes=10)
    network.conv1 = nn.Conv2d(3, 64, 3, padding=1, bias=False)
    network.maxpool = nn.Identity()
    return network


def _words(build: Callable[[], nn.Module], words: int, length: int, classes: int, batch: int,
           each: bool = False) -> Network:
    """One of our own text networks; `each` place of the text has a class, or the whole."""
    targets = _integers(classes, length) if each else _integers(classes)
    return Network(build, _tokens(words, length, "tokens"), targets, cross_entropy, batch, f"{length} tokens")


def _transformer(head: str, config: str, **options) -> Callable[[], nn.Module]:
    """A class of transformers and the class of its configuration, by name: the library is slow to import."""
    def build():
        import transformers
        return getattr(transformers, head)(getattr(transformers, config)(**options))

    return build


def _classify_text(head: str, config: str, words: int, batch: int, length: int = 128, **options) -> Network:
    """Fine-tuning a text encoder to two classes."""
    return Network(_transformer(head, config, vocab_size=words, num_labels=2, **options),
                   _tokens(words, length, "input_ids"), _integers(2), cross_entropy, batch, f"{length} tokens")


def _language_model(head: str, config: str, words: int, batch: int, length: int = 512, **options) -> Network:
    """The next token of a text. Targets stand where their logits do, so nothing is shifted."""
    return Network(_transformer(head, config, vocab_size=words, use_cache=False, **options),
                   _tokens(words, length, "input_ids"), _integers(words, length), cross_entropy, batch,
                   f"{length} tokens")


def _text_to_text(head: str, config: str, words: int, batch: int, length: int = 128, **options) -> Network:
    return Network(_transformer(head, config, vocab_size=words, use_cache=False, **options),
                   _tokens(words, length, "input_ids", "decoder_input_ids"), _integers(words, length), cross_entropy,
                   batch, f"{length} + {length} tokens")


def _deeplabv3_mobilenet() -> nn.Module:
    return torchvision.models.segmentation.deeplabv3_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=21, aux_loss=False)


def _bert_medium(length: int) -> Network:
    return _classify_text("BertForSequenceClassification", "BertConfig", 30522, 32, length, hidden_size=512,
                          num_hidden_layers=8, num_attention_heads=8, intermediate_size=2048)


def _mpnet_base(length: int) -> Network:
    return _classify_text("MPNetForSequenceClassification", "MPNetConfig", 30527, 16, length)


def _distilgpt2(length: int) -> Network:
    return _language_model("GPT2LMHeadModel", "GPT2Config", 50257, 8, length, n_layer=6)


def _pythia_70m(length: int) -> Network:
    return _language_model("GPTNeoXForCausalLM", "GPTNeoXConfig", 50304, 8, length, hidden_size=512,
                           num_hidden_layers=6, num_attention_heads=8, intermediate_size=2048)


def _hubert_base(samples: int) -> Network:
    build = _transformer("HubertForSequenceClassification", "HubertConfig", num_labels=12,
                         apply_spec_augment=False, layerdrop=0.0)
    return Network(build, _floats("input_values", samples), _integers(12), cross_entropy, 8,
                   f"{samples} samples of sound")


def _frames(build: Callable[[], nn.Module], length: int) -> Network:
    """Sound as 80 bands, one class for each moment."""
    return Network(build, _floats("frames", length, 80), _integers(48, length), cross_entropy, 16, f"{length}x80")


def _sensors(build: Callable[[], nn.Module], length: int) -> Network:
    return Network(build, _floats("series", length, 9), _integers(6), cross_entropy, 128, f"{length}x9")


def _deit_small() -> Network:
    build = _transformer("ViTForImageClassification", "ViTConfig", hidden_size=384, num_hidden_layers=12,
                         num_attention_heads=6, intermediate_size=1536, num_labels=1000)
    return Network(build, _floats("pixel_values", 3, 224, 224), _integers(1000), cross_entropy, 64, "3x224x224")


def _segformer_b0() -> Network:
    """Its logits have a quarter of the image's sides, and so have the targets."""
    build = _transformer("SegformerForSemanticSegmentation", "SegformerConfig", num_labels=150)
    return Network(build, _floats("pixel_values", 3, 512, 512), _integers(150, 128, 128), cross_entropy, 8,
                   "3x512x512")


def _wav2vec2_base() -> Network:
    """Two seconds of sound into classes. What is drawn on the host in every step (masks of time, dropped layers) is
    off: a captured step could not have it."""
    build = _transformer("Wav2Vec2ForSequenceClassification", "Wav2Vec2Config", num_labels=12,
                         apply_spec_augment=False, layerdrop=0.0)
    return Network(build, _floats("input_values", 32000), _integers(12), cross_entropy, 8, "32000 samples of sound")


def _whisper_tiny() -> Network:
    """Thirty seconds of sound as 80 x 3000 mel bands, 64 tokens of text."""
    build = _transformer("WhisperForConditionalGeneration", "WhisperConfig", d_model=384, encoder_layers=4,
                         decoder_layers=4, encoder_attention_heads=6, decoder_attention_heads=6, encoder_ffn_dim=1536,
                         decoder_ffn_dim=1536, use_cache=False)

    def inputs(batch: int, device: torch.device) -> Inputs:
        return {"input_features": torch.randn(batch, 80, 3000, device=device),
                "decoder_input_ids": torch.randint(0, 50000, (batch, 64), device=device)}

    return Network(build, inputs, _integers(50000, 64), cross_entropy, 8, "80x3000 mel, 64 tokens")


def _lraspp() -> nn.Module:
    return torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None, num_classes=21)


def _deeplabv3_resnet50() -> nn.Module:
    return torchvision.models.segmentation.deeplabv3_resnet50(
        weights=None, weights_backbone=None, num_classes=21, aux_loss=False)


def _bert_small_mlm(length: int) -> Network:
    """Words that were hidden, of BERT in its small size."""
    return Network(_transformer("BertForMaskedLM", "BertConfig", hidden_size=512, num_hidden_layers=4,
                                num_attention_heads=8, intermediate_size=2048),
                   _tokens(30522, length, "input_ids"), _integers(30522, length), cross_entropy, 32,
                   f"{length} tokens")


def _distilroberta(length: int) -> Network:
    return _classify_text("RobertaForSequenceClassification", "RobertaConfig", 50265, 32, length,
                          num_hidden_layers=6, max_position_embeddings=514)


def _multilingual(length: int) -> Network:
    """XLM-RoBERTa in its base size: a quarter of a million words."""
    return _classify_text("XLMRobertaForSequenceClassification", "XLMRobertaConfig", 250002, 16, length,
                          max_position_embeddings=514)


def _mobilebert(length: int) -> Network:
    return _classify_text("MobileBertForSequenceClassification", "MobileBertConfig", 30522, 32, length)


def _dinov2_small(size: int) -> Network:
    build = _transformer("Dinov2ForImageClassification", "Dinov2Config", hidden_size=384, num_hidden_layers=12,
                         num_attention_heads=6, image_size=size, patch_size=14, num_labels=1000)
    return Network(build, _floats("pixel_values", 3, size, size), _integers(1000), cross_entropy, 32,
                   f"3x{size}x{size}")


def _data2vec_audio(samples: int) -> Network:
    build = _transformer("Data2VecAudioForSequenceClassification", "Data2VecAudioConfig", num_labels=12,
                         apply_spec_augment=False, layerdrop=0.0)
    return Network(build, _floats("input_values", samples), _integers(12), cross_entropy, 8,
                   f"{samples} samples of sound")


def _deep_speech(length: int) -> Network:
    return Network(modules.DeepSpeech, _floats("spectrum", 1, 161, length), _integers(29, length // 2), cross_entropy,
                   16, f"161x{length}")


def _dilated_series(length: int) -> Network:
    return Network(modules.DilatedSeries, _floats("series", 1, length), _integers(10), cross_entropy, 32,
                   f"1x{length}")


def _pixels(head: str, config: str, batch: int, size: int, **options) -> Network:
    """Images into a thousand classes, by a class of transformers."""
    return Network(_transformer(head, config, num_labels=1000, **options), _floats("pixel_values", 3, size, size),
                   _integers(1000), cross_entropy, batch, f"3x{size}x{size}")


def _beit_base(size: int) -> Network:
    return _pixels("BeitForImageClassification", "BeitConfig", 16, size, image_size=size)


def _mobilevit_small(size: int) -> Network:
    return _pixels("MobileViTForImageClassification", "MobileViTConfig", 32, size, image_size=size)


def _poolformer_s12(size: int) -> Network:
    return _pixels("PoolFormerForImageClassification", "PoolFormerConfig", 48, size)


def _squeezebert(length: int) -> Network:
    return _classify_text("SqueezeBertForSequenceClassification", "SqueezeBertConfig", 30528, 32, length,
                          embedding_size=768)


def _deberta_small(length: int) -> Network:
    return _classify_text("DebertaV2ForSequenceClassification", "DebertaV2Config", 50000, 16, length, hidden_size=768,
                          num_hidden_layers=6, num_attention_heads=12, intermediate_size=3072)


def _gpt_neo_125m(length: int) -> Network:
    return _language_model("GPTNeoForCausalLM", "GPTNeoConfig", 50257, 8, length, hidden_size=768, num_layers=12,
                           num_heads=12, attention_types=[[["global", "local"], 6]])


def _bloom_small(length: int) -> Network:
    return _language_model("BloomForCausalLM", "BloomConfig", 60000, 8, length, hidden_size=512, n_layer=8, n_head=8)


def _marian(length: int) -> Network:
    return _text_to_text("MarianMTModel", "MarianConfig", 32000, 24, length, d_model=512, encoder_layers=6,
                         decoder_layers=6, encoder_attention_heads=8, decoder_attention_heads=8, encoder_ffn_dim=2048,
                         decoder_ffn_dim=2048, pad_token_id=0, decoder_start_token_id=0)


def _audio_spectrum(length: int) -> Network:
    """AST: a spectrum of 128 bands as patches."""
    build = _transformer("ASTForAudioClassification", "ASTConfig", num_labels=35, max_length=length)
    return Network(build, _floats("input_values", length, 128), _integers(35), cross_entropy, 8, f"{length}x128")


def _lstm_codes(length: int) -> Network:
    return Network(modules.LstmAutoencoder, _floats("series", length, 32),
                   lambda batch, device: torch.randn(batch, length, 32, device=device), F.mse_loss, 64, f"{length}x32")


def _small_decoder(head: str, config: str, words: int, batch: int, length: int, width: int, layers: int, heads: int,
                   **options) -> Network:
    return _language_model(head, config, words, batch, length, hidden_size=width, num_hidden_layers=layers,
                           num_attention_heads=heads, **options)


def _mistral_small(length: int) -> Network:
    return _small_decoder("MistralForCausalLM", "MistralConfig", 32000, 6, length, 640, 8, 10, intermediate_size=1792,
                          num_key_value_heads=5, sliding_window=None)


def _phi_small(length: int) -> Network:
    return _small_decoder("PhiForCausalLM", "PhiConfig", 51200, 8, length, 512, 6, 8, intermediate_size=2048)


def _olmo_small(length: int) -> Network:
    return _small_decoder("OlmoForCausalLM", "OlmoConfig", 50304, 4, length, 768, 6, 12, intermediate_size=3072)


def _blenderbot_small(length: int) -> Network:
    return _text_to_text("BlenderbotSmallForConditionalGeneration", "BlenderbotSmallConfig", 54944, 16, length,
                         d_model=512, encoder_layers=6, decoder_layers=6, encoder_attention_heads=16,
                         decoder_attention_heads=16, encoder_ffn_dim=2048, decoder_ffn_dim=2048)


def _ernie_base(length: int) -> Network:
    return _classify_text("ErnieForSequenceClassification", "ErnieConfig", 18000, 16, length)


def _unispeech(samples: int) -> Network:
    build = _transformer("UniSpeechForSequenceClassification", "UniSpeechConfig", num_labels=12, num_hidden_layers=6,
                         apply_spec_augment=False, layerdrop=0.0)
    return Network(build, _floats("input_values", samples), _integers(12), cross_entropy, 8,
                   f"{samples} samples of sound")


def _deeplabv3_resnet101() -> nn.Module:
    return torchvision.models.segmentation.deeplabv3_resnet101(
        weights=None, weights_backbone=None, num_classes=21, aux_loss=False)


def _discriminator(size: int) -> Network:
    return Network(modules.Discriminator, _floats("image", 3, size, size),
                   lambda batch, device: torch.rand(batch, device=device), F.binary_cross_entropy_with_logits, 64,
                   f"3x{size}x{size}")


def _listener(length: int) -> Network:
    return Network(modules.Listener, _floats("frames", length, 80), _integers(40, length // 4), cross_entropy, 24,
                   f"{length}x80")


def _r2plus1d(size: int) -> Network:
    return Network(lambda: torchvision.models.video.r2plus1d_18(weights=None), _floats("x", 3, 16, size, size),
                   _integers(400), cross_entropy, 4, f"3x16x{size}x{size}")


def _detector(size: int) -> Network:
    """Boxes are told beside classes, and trained as four classes more."""
    sides = [math.ceil(size / stride) for stride in (8, 16, 32)]
    sides += [math.ceil(sides[-1] / 2), math.ceil(math.ceil(sides[-1] / 2) / 2)]
    return Network(modules.Detector, _floats("image", 3, size, size),
                   _integers(95, 9 * sum(side * side for side in sides)), cross_entropy, 8, f"3x{size}x{size}")


def _voices(length: int) -> Network:
    return Network(modules.VoiceNetwork, _floats("frames", length, 80), _integers(1211), cross_entropy, 64,
                   f"{length}x80")


def _heartbeats(length: int) -> Network:
    return Network(modules.InceptionTime, _floats("series", 12, length), _integers(5), cross_entropy, 64,
                   f"12x{length}")


def _diffusion(size: int) -> Network:
    def inputs(batch: int, device: torch.device) -> Inputs:
        return {"image": torch.randn(batch, 3, size, size, device=device),
                "time": torch.randint(0, 1000, (batch,), device=device)}

    return Network(modules.DiffusionUNet, inputs,
                   lambda batch, device: torch.randn(batch, 3, size, size, device=device), F.mse_loss, 48,
                   f"3x{size}x{size}")


def _mobilenet_v1(size: int) -> Network:
    """The dropout that its configuration comes with is the share to keep, and would lose all but a thousandth."""
    return _pixels("MobileNetV1ForImageClassification", "MobileNetV1Config", 96, size, classifier_dropout_prob=0.001)


def _hiera_tiny(size: int) -> Network:
    return _pixels("HieraForImageClassification", "HieraConfig", 32, size, image_size=[size, size],
                   depths=[1, 2, 7, 2])


def _modernbert(length: int) -> Network:
    return _classify_text("ModernBertForSequenceClassification", "ModernBertConfig", 50368, 12, length)


def _esm2_small(length: int) -> Network:
    """ESM-2 of 35 million weights: amino acids that were hidden."""
    return Network(_transformer("EsmForMaskedLM", "EsmConfig", vocab_size=33, mask_token_id=32, pad_token_id=1,
                                hidden_size=480, num_hidden_layers=12, num_attention_heads=20,
                                intermediate_size=1920, position_embedding_type="rotary", token_dropout=True,
                                hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
                                emb_layer_norm_before=False),
                   _tokens(33, length, "input_ids"), _integers(33, length), cross_entropy, 16, f"{length} tokens")


def _qwen3_small(length: int) -> Network:
    return _small_decoder("Qwen3ForCausalLM", "Qwen3Config", 64000, 6, length, 768, 10, 8, intermediate_size=2304,
                          num_key_value_heads=4, head_dim=128)


def _gemma3_small(length: int) -> Network:
    """Gemma 3 of 270 million weights, most of them words. Texts are shorter than its window."""
    return _small_decoder("Gemma3ForCausalLM", "Gemma3TextConfig", 262144, 4, length, 640, 18, 4,
                          intermediate_size=2048, num_key_value_heads=1, head_dim=256, sliding_window=512)


def _tiny_starcoder(length: int) -> Network:
    """One head of keys and values for all queries."""
    return _language_model("GPTBigCodeForCausalLM", "GPTBigCodeConfig", 49152, 4, length, n_layer=20, n_inner=3072,
                           bos_token_id=0, eos_token_id=0)


def _flan_t5_small(length: int) -> Network:
    return _text_to_text("T5ForConditionalGeneration", "T5Config", 32128, 16, length, d_model=512, d_ff=1024,
                         num_layers=8, num_heads=6, feed_forward_proj="gated-gelu", tie_word_embeddings=False)


def _speech_to_text(length: int) -> Network:
    """A hundredth of a second each, 80 bands, and 60 tokens of text."""
    build = _transformer("Speech2TextForConditionalGeneration", "Speech2TextConfig", use_cache=False)

    def inputs(batch: int, device: torch.device) -> Inputs:
        return {"input_features": torch.randn(batch, length, 80, device=device),
                "decoder_input_ids": torch.randint(0, 10000, (batch, 60), device=device)}

    return Network(build, inputs, _integers(10000, 60), cross_entropy, 16, f"{length}x80, 60 tokens")


def _conformer(length: int) -> Network:
    """wav2vec2-BERT in a small size, by frames of a fiftieth of a second; what the host draws is off."""
    build = _transformer("Wav2Vec2BertForSequenceClassification", "Wav2Vec2BertConfig", num_labels=12, hidden_size=512,
                         num_hidden_layers=12, num_attention_heads=8, intermediate_size=2048,
                         apply_spec_augment=False, layerdrop=0.0)
    return Network(build, _floats("input_features", length, 160), _integers(12), cross_entropy, 8, f"{length}x160")


def _name_tagger(length: int) -> Network:
    """Words, and twelve letters of each."""
    def inputs(batch: int, device: torch.device) -> Inputs:
        return {"tokens": torch.randint(0, 24000, (batch, length), device=device),
                "letters": torch.randint(0, 100, (batch, length, 12), device=device)}

    return Network(modules.NameTagger, inputs, _integers(18, length), cross_entropy, 32, f"{length} tokens")


def _deep_translator(length: int) -> Network:
    return Network(modules.DeepTranslator, _tokens(24000, length, "tokens", "said"), _integers(24000, length),
                   cross_entropy, 64, f"{length} + {length} tokens")


def _unmix(length: int) -> Network:
    return Network(modules.Unmix, _floats("spectrum", length, 2, 2049),
                   lambda batch, device: torch.randn(batch, length, 2, 2049, device=device), F.mse_loss, 16,
                   f"{length}x2x2049")


def _load_forecaster(length: int) -> Network:
    """Two weeks of hours or one, and the next two days."""
    def inputs(batch: int, device: torch.device) -> Inputs:
        return {"past": torch.randn(batch, length, 32, device=device),
                "calendar": torch.randn(batch, 48, 8, device=device)}

    return Network(modules.GruForecaster, inputs, lambda batch, device: torch.randn(batch, 48, device=device),
                   F.mse_loss, 128, f"{length}x32, 48x8")


NETWORKS: dict[str, Network] = {
    # Convolution networks of torchvision.
    "alexnet": _vision("alexnet", 128),
    "resnet18": _vision("resnet18", 64),
    "resnet34": _vision("resnet34", 64),
    "resnet50": _vision("resnet50", 32),
    "wide_resnet50_2": _vision("wide_resnet50_2", 32),
    "resnext50_32x4d": _vision("resnext50_32x4d", 32),
    "vgg11": _vision("vgg11", 32),
    "vgg16_bn": _vision("vgg16_bn", 32),
    "squeezenet1_1": _vision("squeezenet1_1", 64),
    "mobilenet_v2": _vision("mobilenet_v2", 64),
    "mobilenet_v3_large": _vision("mobilenet_v3_large", 64),
    "efficientnet_b0": _vision("efficientnet_b0", 32),
    "efficientnet_v2_s": _vision("efficientnet_v2_s", 32),
    "densenet121": _vision("densenet121", 32),
    "shufflenet_v2_x1_0": _vision("shufflenet_v2_x1_0", 64),
    "regnet_y_1_6gf": _vision("regnet_y_1_6gf", 32),
    "regnet_x_3_2gf": _vision("regnet_x_3_2gf", 32),
    "mnasnet1_0": _vision("mnasnet1_0", 64),
    "googlenet": _vision("googlenet", 64, aux_logits=False, init_weights=True),
    "inception_v3": _vision("inception_v3", 32, 299, aux_logits=False, init_weights=True),
    "convnext_tiny": _vision("convnext_tiny", 32),
    "fcn_resnet50": _segmentation(_fcn_resnet50, 21, 8, 256),
    "r3d_18": _r3d_18(),
    # Attention over images.
    "swin_t": _vision("swin_t", 32),
    "vit_b_16": _vision("vit_b_16", 32),
    "maxvit_t": _vision("maxvit_t", 16),
    "deit_small": _deit_small(),
    "segformer_b0": _segformer_b0(),
    # Text and sound, of transformers.
    "bert_base": _classify_text("BertForSequenceClassification", "BertConfig", 30522, 16),
    "bert_base_512": _classify_text("BertForSequenceClassification", "BertConfig", 30522, 8, length=512),
    "distilbert": _classify_text("DistilBertForSequenceClassification", "DistilBertConfig", 30522, 16),
    "roberta_base": _classify_text("RobertaForSequenceClassification", "RobertaConfig", 50265, 16,
                                   max_position_embeddings=514),
    "albert_base": _classify_text("AlbertForSequenceClassification", "AlbertConfig", 30000, 16, hidden_size=768,
                                  num_attention_heads=12, intermediate_size=3072),
    "electra_small": _classify_text("ElectraForSequenceClassification", "ElectraConfig", 30522, 32),
    "gpt2": _language_model("GPT2LMHeadModel", "GPT2Config", 50257, 8),
    "opt_125m": _language_model("OPTForCausalLM", "OPTConfig", 50272, 8),
    "llama_small": _language_model("LlamaForCausalLM", "LlamaConfig", 32000, 8, hidden_size=512,
                                   intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8),
    "qwen2_small": _language_model("Qwen2ForCausalLM", "Qwen2Config", 50000, 8, hidden_size=768,
                                   intermediate_size=2048, num_hidden_layers=12, num_attention_heads=12,
                                   num_key_value_heads=4),
    "mixtral_small": _language_model("MixtralForCausalLM", "MixtralConfig", 32000, 8, 256, hidden_size=512,
                                     intermediate_size=1024, num_hidden_layers=4, num_attention_heads=8,
                                     num_key_value_heads=4, num_local_experts=4),
    "t5_small": _text_to_text("T5ForConditionalGeneration", "T5Config", 32128, 16),
    "bart_base": _text_to_text("BartForConditionalGeneration", "BartConfig", 50265, 8, d_model=768,
                               encoder_layers=6, decoder_layers=6, encoder_attention_heads=12,
                               decoder_attention_heads=12, encoder_ffn_dim=3072, decoder_ffn_dim=3072),
    "wav2vec2_base": _wav2vec2_base(),
    "whisper_tiny": _whisper_tiny(),
    # As tutorials write them.
    "cnn_small": Network(modules.SmallCnn, _floats("x", 1, 28, 28), _integers(10), cross_entropy, 64, "1x28x28"),
    "mlp": Network(modules.mlp, _floats("input", 784), _integers(10), cross_entropy, 128, "784"),
    "resnet18_cifar": Network(_cifar_resnet18, _floats("x", 3, 32, 32), _integers(10), cross_entropy, 128, "3x32x32"),
    "unet": _segmentation(modules.UNet, 2, 8, 256),
    "lstm_lm": _words(modules.LstmLanguageModel, 33278, 70, 33278, 32, each=True),
    "gru_classifier": _words(modules.GruClassifier, 25000, 200, 2, 64),
    "bilstm_tagger": _words(modules.BiLstmTagger, 30000, 64, 17, 32, each=True),
    "text_cnn": _words(modules.TextCnn, 25000, 128, 2, 64),
    "lstm_forecaster": Network(modules.LstmForecaster, _floats("series", 168, 24),
                               lambda batch, device: torch.randn(batch, 24, device=device), F.mse_loss, 64,
                               "168 hours of 24 figures"),
    "line_reader": Network(modules.LineReader, _floats("image", 1, 32, 256), _integers(80, 64), cross_entropy, 32,
                           "1x32x256"),
    "gru_translator": _words(modules.GruTranslator, 20000, 40, 20000, 64, each=True),
    "encoder_classifier": _words(modules.EncoderClassifier, 25000, 128, 4, 32),
    # For networks of which nothing was measured: each at two input sizes.
    "resnet101": _vision("resnet101", 16),
    "resnet101_160": _vision("resnet101", 16, 160),
    "vgg13_bn": _vision("vgg13_bn", 32),
    "vgg13_bn_160": _vision("vgg13_bn", 32, 160),
    "densenet169": _vision("densenet169", 16),
    "densenet169_192": _vision("densenet169", 16, 192),
    "efficientnet_b1": _vision("efficientnet_b1", 32, 240),
    "efficientnet_b1_192": _vision("efficientnet_b1", 32, 192),
    "regnet_x_800mf": _vision("regnet_x_800mf", 64),
    "regnet_x_800mf_288": _vision("regnet_x_800mf", 64, 288),
    "regnet_y_3_2gf": _vision("regnet_y_3_2gf", 32),
    "regnet_y_3_2gf_160": _vision("regnet_y_3_2gf", 32, 160),
    "mobilenet_v3_small": _vision("mobilenet_v3_small", 128),
    "mobilenet_v3_small_160": _vision("mobilenet_v3_small", 128, 160),
    "shufflenet_v2_x1_5": _vision("shufflenet_v2_x1_5", 64),
    "shufflenet_v2_x1_5_288": _vision("shufflenet_v2_x1_5", 64, 288),
    "vit_b_32": _vision("vit_b_32", 64),
    "vit_b_32_288": _vision("vit_b_32", 64, 288, image_size=288),
    "swin_s": _vision("swin_s", 16),
    "swin_s_256": _vision("swin_s", 16, 256),
    "convnext_small": _vision("convnext_small", 16),
    "convnext_small_160": _vision("convnext_small", 16, 160),
    "deeplabv3_mobilenet": _segmentation(_deeplabv3_mobilenet, 21, 8, 320),
    "deeplabv3_mobilenet_224": _segmentation(_deeplabv3_mobilenet, 21, 8, 224),
    "bert_medium": _bert_medium(128),
    "bert_medium_64": _bert_medium(64),
    "mpnet_base": _mpnet_base(128),
    "mpnet_base_320": _mpnet_base(320),
    "distilgpt2": _distilgpt2(256),
    "distilgpt2_160": _distilgpt2(160),
    "pythia_70m": _pythia_70m(512),
    "pythia_70m_320": _pythia_70m(320),
    "hubert_base": _hubert_base(32000),
    "hubert_base_48000": _hubert_base(48000),
    "lstm_acoustic": _frames(modules.LstmAcoustic, 300),
    "lstm_acoustic_180": _frames(modules.LstmAcoustic, 180),
    "gru_sensors": _sensors(modules.GruSensors, 128),
    "gru_sensors_320": _sensors(modules.GruSensors, 320),
    "conv_sensors": _sensors(modules.ConvSensors, 256),
    "conv_sensors_600": _sensors(modules.ConvSensors, 600),
    # And more, each at another input size too.
    "resnext101_32x8d": _vision("resnext101_32x8d", 16),
    "resnext101_32x8d_160": _vision("resnext101_32x8d", 16, 160),
    "wide_resnet101_2": _vision("wide_resnet101_2", 16),
    "wide_resnet101_2_192": _vision("wide_resnet101_2", 16, 192),
    "vgg19": _vision("vgg19", 32),
    "vgg19_160": _vision("vgg19", 32, 160),
    "efficientnet_b2": _vision("efficientnet_b2", 32, 260),
    "efficientnet_b2_224": _vision("efficientnet_b2", 32, 224),
    "regnet_y_800mf": _vision("regnet_y_800mf", 64),
    "regnet_y_800mf_192": _vision("regnet_y_800mf", 64, 192),
    "regnet_x_1_6gf": _vision("regnet_x_1_6gf", 32),
    "regnet_x_1_6gf_256": _vision("regnet_x_1_6gf", 32, 256),
    "mnasnet1_3": _vision("mnasnet1_3", 64),
    "mnasnet1_3_160": _vision("mnasnet1_3", 64, 160),
    "squeezenet1_0": _vision("squeezenet1_0", 64),
    "squeezenet1_0_288": _vision("squeezenet1_0", 64, 288),
    "shufflenet_v2_x2_0": _vision("shufflenet_v2_x2_0", 64),
    "shufflenet_v2_x2_0_192": _vision("shufflenet_v2_x2_0", 64, 192),
    "convnext_base": _vision("convnext_base", 8),
    "convnext_base_192": _vision("convnext_base", 8, 192),
    "swin_b": _vision("swin_b", 8),
    "swin_b_256": _vision("swin_b", 8, 256),
    "vit_l_16": _vision("vit_l_16", 8),
    "vit_l_16_192": _vision("vit_l_16", 8, 192, image_size=192),
    "densenet201": _vision("densenet201", 16),
    "densenet201_192": _vision("densenet201", 16, 192),
    "lraspp_mobilenet": _segmentation(_lraspp, 21, 16, 320, image="input"),
    "lraspp_mobilenet_256": _segmentation(_lraspp, 21, 16, 256, image="input"),
    "deeplabv3_resnet50": _segmentation(_deeplabv3_resnet50, 21, 8, 256),
    "deeplabv3_resnet50_224": _segmentation(_deeplabv3_resnet50, 21, 8, 224),
    "bert_small_mlm": _bert_small_mlm(128),
    "bert_small_mlm_64": _bert_small_mlm(64),
    "distilroberta": _distilroberta(128),
    "distilroberta_256": _distilroberta(256),
    "multilingual": _multilingual(96),
    "multilingual_160": _multilingual(160),
    "mobilebert": _mobilebert(128),
    "mobilebert_64": _mobilebert(64),
    "dinov2_small": _dinov2_small(224),
    "dinov2_small_168": _dinov2_small(168),
    "data2vec_audio": _data2vec_audio(32000),
    "data2vec_audio_48000": _data2vec_audio(48000),
    "deep_speech": _deep_speech(300),
    "deep_speech_200": _deep_speech(200),
    "char_lstm": _words(modules.CharLstm, 96, 100, 96, 64, each=True),
    "char_lstm_160": _words(modules.CharLstm, 96, 160, 96, 64, each=True),
    "lstm_translator": _words(modules.LstmTranslator, 16000, 30, 16000, 64, each=True),
    "lstm_translator_50": _words(modules.LstmTranslator, 16000, 50, 16000, 64, each=True),
    "dilated_series": _dilated_series(1024),
    "dilated_series_2048": _dilated_series(2048),
    # the third time
    "resnet152": _vision("resnet152", 12),
    "resnet152_160": _vision("resnet152", 12, 160),
    "vgg16": _vision("vgg16", 32),
    "vgg16_192": _vision("vgg16", 32, 192),
    "densenet161": _vision("densenet161", 12),
    "densenet161_160": _vision("densenet161", 12, 160),
    "efficientnet_b3": _vision("efficientnet_b3", 24, 300),
    "efficientnet_b3_224": _vision("efficientnet_b3", 24, 224),
    "efficientnet_v2_m": _vision("efficientnet_v2_m", 12, 288),
    "efficientnet_v2_m_192": _vision("efficientnet_v2_m", 12, 192),
    "regnet_y_400mf": _vision("regnet_y_400mf", 96),
    "regnet_y_400mf_160": _vision("regnet_y_400mf", 96, 160),
    "regnet_x_8gf": _vision("regnet_x_8gf", 16),
    "regnet_x_8gf_192": _vision("regnet_x_8gf", 16, 192),
    "resnext101_64x4d": _vision("resnext101_64x4d", 12),
    "resnext101_64x4d_160": _vision("resnext101_64x4d", 12, 160),
    "mnasnet0_75": _vision("mnasnet0_75", 96),
    "mnasnet0_75_160": _vision("mnasnet0_75", 96, 160),
    "shufflenet_v2_x0_5": _vision("shufflenet_v2_x0_5", 256),
    "shufflenet_v2_x0_5_288": _vision("shufflenet_v2_x0_5", 256, 288),
    "swin_v2_t": _vision("swin_v2_t", 24, 256),
    "swin_v2_t_192": _vision("swin_v2_t", 24, 192),
    "vit_l_32": _vision("vit_l_32", 16),
    "vit_l_32_288": _vision("vit_l_32", 16, 288, image_size=288),
    "beit_base": _beit_base(224),
    "beit_base_160": _beit_base(160),
    "mobilevit_small": _mobilevit_small(256),
    "mobilevit_small_192": _mobilevit_small(192),
    "poolformer_s12": _poolformer_s12(224),
    "poolformer_s12_160": _poolformer_s12(160),
    "squeezebert": _squeezebert(128),
    "squeezebert_64": _squeezebert(64),
    "deberta_small": _deberta_small(128),
    "deberta_small_192": _deberta_small(192),
    "gpt_neo_125m": _gpt_neo_125m(512),
    "gpt_neo_125m_192": _gpt_neo_125m(192),
    "bloom_small": _bloom_small(512),
    "bloom_small_256": _bloom_small(256),
    "marian": _marian(96),
    "marian_48": _marian(48),
    "audio_spectrum": _audio_spectrum(512),
    "audio_spectrum_256": _audio_spectrum(256),
    "gru_lm": _words(modules.GruLanguageModel, 12000, 80, 12000, 48, each=True),
    "gru_lm_40": _words(modules.GruLanguageModel, 12000, 40, 12000, 48, each=True),
    "lstm_codes": _lstm_codes(140),
    "lstm_codes_60": _lstm_codes(60),
    "bigru_attention": _words(modules.BiGruAttention, 40000, 160, 5, 64),
    "bigru_attention_300": _words(modules.BiGruAttention, 40000, 300, 5, 64),
    # the fourth time
    "efficientnet_b4": _vision("efficientnet_b4", 12, 320),
    "efficientnet_b4_256": _vision("efficientnet_b4", 12, 256),
    "regnet_y_8gf": _vision("regnet_y_8gf", 16),
    "regnet_y_8gf_176": _vision("regnet_y_8gf", 16, 176),
    "regnet_x_400mf": _vision("regnet_x_400mf", 96),
    "regnet_x_400mf_256": _vision("regnet_x_400mf", 96, 256),
    "vgg19_bn": _vision("vgg19_bn", 24),
    "vgg19_bn_176": _vision("vgg19_bn", 24, 176),
    "mnasnet0_5": _vision("mnasnet0_5", 128),
    "mnasnet0_5_192": _vision("mnasnet0_5", 128, 192),
    "swin_v2_s": _vision("swin_v2_s", 12, 256),
    "swin_v2_s_224": _vision("swin_v2_s", 12, 224),
    "convnext_large": _vision("convnext_large", 6),
    "convnext_large_176": _vision("convnext_large", 6, 176),
    "deeplabv3_resnet101": _segmentation(_deeplabv3_resnet101, 21, 6, 288),
    "deeplabv3_resnet101_208": _segmentation(_deeplabv3_resnet101, 21, 6, 208),
    "convnextv2_tiny": _pixels("ConvNextV2ForImageClassification", "ConvNextV2Config", 24, 224),
    "convnextv2_tiny_160": _pixels("ConvNextV2ForImageClassification", "ConvNextV2Config", 24, 160),
    "pvt_v2_b1": _pixels("PvtV2ForImageClassification", "PvtV2Config", 32, 224, hidden_sizes=[64, 128, 320, 512]),
    "pvt_v2_b1_160": _pixels("PvtV2ForImageClassification", "PvtV2Config", 32, 160, hidden_sizes=[64, 128, 320, 512]),
    "mobilevit_v2": _pixels("MobileViTV2ForImageClassification", "MobileViTV2Config", 32, 256),
    "mobilevit_v2_192": _pixels("MobileViTV2ForImageClassification", "MobileViTV2Config", 32, 192),
    "focalnet_tiny": _pixels("FocalNetForImageClassification", "FocalNetConfig", 24, 224),
    "focalnet_tiny_160": _pixels("FocalNetForImageClassification", "FocalNetConfig", 24, 160, image_size=160),
    "mistral_small": _mistral_small(512),
    "mistral_small_288": _mistral_small(288),
    "phi_small": _phi_small(384),
    "phi_small_200": _phi_small(200),
    "olmo_small": _olmo_small(640),
    "olmo_small_320": _olmo_small(320),
    "blenderbot_small": _blenderbot_small(96),
    "blenderbot_small_56": _blenderbot_small(56),
    "ernie_base": _ernie_base(160),
    "ernie_base_72": _ernie_base(72),
    "unispeech": _unispeech(40000),
    "unispeech_24000": _unispeech(24000),
    "gru_items": _words(modules.GruOfItems, 15000, 60, 15000, 96, each=True),
    "gru_items_30": _words(modules.GruOfItems, 15000, 30, 15000, 96, each=True),
    "lstm_opinion": _words(modules.LstmOpinion, 28000, 220, 3, 48),
    "lstm_opinion_120": _words(modules.LstmOpinion, 28000, 120, 3, 48),
    "listener": _listener(480),
    "listener_240": _listener(240),
    "notes_lstm": _words(modules.NotesLstm, 130, 96, 130, 72),
    "notes_lstm_160": _words(modules.NotesLstm, 130, 160, 130, 72),
    "discriminator": _discriminator(128),
    "discriminator_64": _discriminator(64),
    "table_network": Network(modules.TableNetwork, _floats("row", 200), _integers(8), cross_entropy, 512, "200"),
    # the fifth time
    "regnet_x_16gf": _vision("regnet_x_16gf", 12),
    "regnet_x_16gf_160": _vision("regnet_x_16gf", 12, 160),
    "r2plus1d": _r2plus1d(112),
    "r2plus1d_80": _r2plus1d(80),
    "mobilenet_v1": _mobilenet_v1(224),
    "mobilenet_v1_160": _mobilenet_v1(160),
    "hgnet_v2": _pixels("HGNetV2ForImageClassification", "HGNetV2Config", 32, 224),
    "hgnet_v2_160": _pixels("HGNetV2ForImageClassification", "HGNetV2Config", 32, 160),
    "retina_resnet50": _detector(320),
    "retina_resnet50_256": _detector(256),
    "unet_resnet34": _segmentation(modules.ResidualUNet, 12, 16, 256, image="image"),
    "unet_resnet34_192": _segmentation(modules.ResidualUNet, 12, 16, 192, image="image"),
    "ecapa_tdnn": _voices(200),
    "ecapa_tdnn_300": _voices(300),
    "inception_time": _heartbeats(1000),
    "inception_time_600": _heartbeats(600),
    "diffusion_unet": _diffusion(32),
    "diffusion_unet_28": _diffusion(28),
    "hiera_tiny": _hiera_tiny(224),
    "hiera_tiny_192": _hiera_tiny(192),
    "cvt": _pixels("CvtForImageClassification", "CvtConfig", 32, 224),
    "cvt_160": _pixels("CvtForImageClassification", "CvtConfig", 32, 160),
    "modernbert": _modernbert(256),
    "modernbert_112": _modernbert(112),
    "esm2_small": _esm2_small(320),
    "esm2_small_144": _esm2_small(144),
    "qwen3_small": _qwen3_small(448),
    "qwen3_small_224": _qwen3_small(224),
    "gemma3_small": _gemma3_small(384),
    "gemma3_small_160": _gemma3_small(160),
    "tiny_starcoder": _tiny_starcoder(512),
    "tiny_starcoder_256": _tiny_starcoder(256),
    "flan_t5_small": _flan_t5_small(160),
    "flan_t5_small_80": _flan_t5_small(80),
    "speech_to_text": _speech_to_text(1000),
    "speech_to_text_600": _speech_to_text(600),
    "conformer": _conformer(250),
    "conformer_400": _conformer(400),
    "name_tagger": _name_tagger(64),
    "name_tagger_40": _name_tagger(40),
    "deep_translator": _deep_translator(40),
    "deep_translator_64": _deep_translator(64),
    "awd_lstm": _words(modules.AwdLstm, 30000, 70, 30000, 64, each=True),
    "awd_lstm_35": _words(modules.AwdLstm, 30000, 35, 30000, 64, each=True),
    "unmix": _unmix(255),
    "unmix_128": _unmix(128),
    "load_forecaster": _load_forecaster(336),
    "load_forecaster_168": _load_forecaster(168),
}


def find(label: str) -> tuple[str, Network, int]:
    """The name, the network and the batch of `NAME` or `NAME@BATCH`; ValueError that says what is known."""
    name, _, batch = label.partition("@")
    if name not in NETWORKS:
        raise ValueError(f"no network {name!r}; there are {', '.join(NETWORKS)}")
    if batch and not (batch.isdigit() and int(batch) > 0):
        raise ValueError(f"{label!r}: a batch is a whole number above zero")
    return name, NETWORKS[name], int(batch) if batch else NETWORKS[name].batch
