"""Networks of many sorts and sizes, drawn at random around what people train: what a device is measured by."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

Sample = tuple[nn.Module, Any, Callable[[Any], torch.Tensor], str]


def cross_entropy(*shape: int) -> Callable[[Any], torch.Tensor]:
    targets = torch.zeros(shape, dtype=torch.long)
    return lambda output: nn.functional.cross_entropy(output, targets)


def normed(inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class Residual(nn.Module):
    def __init__(self, inputs: int, width: int, outputs: int, stride: int, groups: int = 1):
        super().__init__()
        self.branch = nn.Sequential(
            normed(inputs, width, 1),
            normed(width, width, 3, stride, groups),
            nn.Conv2d(width, outputs, 1, bias=False),
            nn.BatchNorm2d(outputs),
        )
        same = stride == 1 and inputs == outputs
        self.shortcut = nn.Identity() if same else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.branch(x) + self.shortcut(x))


class Separable(nn.Module):
    """A depthwise convolution between two that mix channels, with a gate over channels in some."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expand: int, gated: bool):
        super().__init__()
        width = inputs * expand
        self.widen, self.depthwise = normed(inputs, width, 1), normed(width, width, kernel, stride, width)
        self.gate = nn.Sequential(nn.Conv2d(width, width // 4, 1), nn.SiLU(), nn.Conv2d(width // 4, width, 1))
        self.gated = gated
        self.narrow = nn.Sequential(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.depthwise(self.widen(x))
        if self.gated:
            y = y * torch.sigmoid(self.gate(nn.functional.adaptive_avg_pool2d(y, 1)))
        y = self.narrow(y)
        return x + y if self.adds else y


class ChannelsLastBlock(nn.Module):
    """A large depthwise convolution, then linear layers over channels, which are moved last for them."""

    def __init__(self, width: int):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.mix(self.norm(self.depthwise(x).permute(0, 2, 3, 1)))
        return x + y.permute(0, 3, 1, 2)


class Convolutional(nn.Module):
    def __init__(self, stem: nn.Module, body: nn.Module, width: int, classes: int):
        super().__init__()
        self.stem, self.body = stem, body
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(width, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.stem(x)))


class Attention(nn.Module):
    """Of a transformer, as most write it today: heads from one view, and PyTorch's own attention."""

    def __init__(self, width: int, heads: int, feedforward: int, causal: bool, before: bool):
        super().__init__()
        self.heads, self.causal, self.before = heads, causal, before
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out, self.drop = nn.Linear(width, width), nn.Dropout(0.1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mlp = nn.Sequential(nn.Linear(width, feedforward), nn.GELU(), nn.Linear(feedforward, width))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (f(x).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        return self.drop(self.out(y.transpose(1, 2).reshape(batch, length, width)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.before:
            x = x + self.attend(self.norms[0](x))
            return x + self.drop(self.mlp(self.norms[1](x)))
        x = self.norms[0](x + self.attend(x))
        return self.norms[1](x + self.drop(self.mlp(x)))


class Transformer(nn.Module):
    def __init__(self, words: int, length: int, width: int, layers: list[nn.Module], classes: int, each: bool):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.layers, self.norm, self.each = nn.Sequential(*layers), nn.LayerNorm(width), each
        self.head = nn.Linear(width, classes, bias=not each)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        x = self.head(self.norm(self.layers(x)))
        return x.flatten(0, 1) if self.each else x[:, 0]


class Recurrent(nn.Module):
    def __init__(self, words: int, width: int, state: int, layers: int, kind: str, both: bool, classes: int):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = getattr(nn, kind)(width, state, layers, batch_first=True, bidirectional=both)
        self.head = nn.Linear(state * (2 if both else 1), classes)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.words(tokens))[0]).flatten(0, 1)


# --- drawn at random -------------------------------------------------------------------------------------------------


def residual(rng: random.Random, scale: float) -> Sample:
    width = rng.choice([16, 32, 48, 64, 64, 96, 128])
    groups = rng.choice([1, 1, 1, 32]) if width >= 64 else 1
    size, batch = rng.choice([96, 128, 160, 224]), max(1, int(scale * rng.choice([16, 32, 64])))
    body, inputs = [], width
    for stage in range(4):
        inner = width << stage
        body.append(Residual(inputs, inner, 4 * inner, 1 if stage == 0 else 2, groups))
        body.append(Residual(4 * inner, inner, 4 * inner, 1, groups))
        inputs = 4 * inner
    stem = nn.Sequential(normed(3, width, 7, 2), nn.MaxPool2d(3, 2, 1))
    model = Convolutional(stem, nn.Sequential(*body), inputs, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


def plain(rng: random.Random, scale: float) -> Sample:
    """Convolutions of three, one after the other."""
    width, size = rng.choice([16, 32, 64, 64]), rng.choice([32, 64, 128, 224])
    batch = max(1, int(scale * rng.choice([16, 32, 128])))
    body: list[nn.Module] = []
    inputs, with_norm = width, rng.random() < 0.6
    for stage in range(4):
        outputs = min(512, width << stage)
        for _ in range(2):
            body += [nn.Conv2d(inputs, outputs, 3, padding=1, bias=not with_norm)]
            body += [nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)] if with_norm else [nn.ReLU(inplace=True)]
            inputs = outputs
        body.append(nn.MaxPool2d(2))
    model = Convolutional(nn.Conv2d(3, width, 3, padding=1), nn.Sequential(*body), inputs, rng.choice([10, 100, 1000]))
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), rng.choice(["sgd", "momentum"])


class Branching(nn.Module):
    """Down and up again, with what was seen on the way down beside it."""

    def __init__(self, width: int, levels: int, classes: int, learned: bool):
        super().__init__()
        widths = [width << level for level in range(levels)]
        self.down = nn.ModuleList(nn.Sequential(normed(i, o, 3), normed(o, o, 3)) for i, o in zip([3, *widths], widths))
        bigger: list[nn.Module] = []
        for wide, narrow in zip(widths[::-1], widths[-2::-1]):
            scaled = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False)
            bigger.append(
                nn.ConvTranspose2d(wide, narrow, 2, 2) if learned else nn.Sequential(scaled, nn.Conv2d(wide, narrow, 1))
            )
        self.bigger = nn.ModuleList(bigger)
        self.up = nn.ModuleList(normed(2 * narrow, narrow, 3) for narrow in widths[-2::-1])
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = []
        for level, down in enumerate(self.down):
            x = down(nn.functional.max_pool2d(x, 2) if level else x)
            seen.append(x)
        for bigger, up, beside in zip(self.bigger, self.up, seen[-2::-1]):
            x = up(torch.cat([bigger(x), beside], 1))
        return self.head(x)


def branching(rng: random.Random, scale: float) -> Sample:
    size, batch = rng.choice([64, 128, 256]), max(1, int(scale * rng.choice([4, 8, 16])))
    model = Branching(rng.choice([16, 32, 64]), rng.choice([3, 4]), rng.choice([2, 21]), rng.random() < 0.5)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch, size, size), "sgd"


def signal(rng: random.Random, scale: float) -> Sample:
    """Over one dimension: sound, sensors, words."""
    width, length = rng.choice([32, 64, 128, 256]), rng.choice([128, 500, 1000, 4000])
    batch, inputs = max(1, int(scale * rng.choice([8, 16, 64]))), rng.choice([1, 6, 64, 128])
    layers: list[nn.Module] = []
    kernel, rows = rng.choice([3, 5, 7]), torch.zeros(batch, inputs, length)
    for stage in range(3):
        layers += [nn.Conv1d(inputs, width, kernel, 2, kernel // 2), nn.GroupNorm(8, width), nn.GELU()]
        inputs = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 12))
    return model, rows, cross_entropy(batch), "adamw"


class Speech(nn.Module):
    """Waves become frames by convolutions, their places are told by one grouped convolution with a long kernel, and
    attention goes over them."""

    def __init__(self, width: int, heads: int, kernel: int, groups: int, channels: int, classes: int):
        super().__init__()
        frames: list[nn.Module] = [nn.Conv1d(1, channels, 10, 5, bias=False), nn.GroupNorm(channels, channels), nn.GELU()]
        for stride in (3, 2):
            frames += [nn.Conv1d(channels, channels, stride, 2, bias=False), nn.GELU()]
        self.frames = nn.Sequential(*frames, nn.Conv1d(channels, channels, 4, 8), nn.GELU())
        self.project = nn.Linear(channels, width)
        self.places = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=groups)
        self.layers = nn.Sequential(*(Attention(width, heads, 4 * width, False, False) for _ in range(2)))
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.project(self.frames(x).transpose(1, 2))
        y = y + nn.functional.gelu(self.places(y.transpose(1, 2))[:, :, : y.shape[1]]).transpose(1, 2)
        return self.head(self.layers(y).mean(1))


def speech(rng: random.Random, scale: float) -> Sample:
    heads = rng.choice([4, 6, 8, 12])
    width, batch = heads * 64, max(1, int(scale * rng.choice([4, 8, 16])))
    model = Speech(width, heads, rng.choice([31, 64, 128]), rng.choice([1, 8, 16]), rng.choice([128, 256, 512]), 12)
    waves = torch.zeros(batch, 1, rng.choice([16000, 32000, 64000]))
    return model, waves, cross_entropy(batch), rng.choice(["sgd", "adamw"])


def large_head(rng: random.Random, scale: float) -> Sample:
    """Large first kernels, and most weights in linear layers."""
    inputs, size = rng.choice([1, 3, 3]), rng.choice([28, 64, 224])
    batch, width = max(1, int(scale * rng.choice([16, 64, 128]))), rng.choice([512, 1024, 4096])
    stem = nn.Conv2d(inputs, 64, 11, 4, 5) if size > 64 else nn.Conv2d(inputs, 32, rng.choice([3, 5]), padding=1)
    inner = stem.out_channels
    body = [nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(inner, 2 * inner, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool2d(6)]
    head = [nn.Linear(72 * inner, width), nn.ReLU(), nn.Dropout(0.5), nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(stem, *body, nn.Flatten(), *head, nn.Linear(width, 10))
    return model, torch.zeros(batch, inputs, size, size), cross_entropy(batch), rng.choice(["sgd", "adamw"])


def mobile(rng: random.Random, scale: float) -> Sample:
    width, size = rng.choice([8, 16, 24, 32]), rng.choice([128, 160, 192, 224])
    batch = max(1, int(scale * rng.choice([16, 32, 64])))
    gated, body, inputs = rng.random() < 0.5, [], width
    for stage in range(4):
        outputs, kernel = width * (stage + 1) * 2, rng.choice([3, 3, 5])
        body += [Separable(inputs, outputs, kernel, 2, rng.choice([3, 4, 6]), gated)]
        body += [Separable(outputs, outputs, kernel, 1, 6, gated)]
        inputs = outputs
    model = Convolutional(normed(3, width, 3, 2), nn.Sequential(*body), inputs, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


def modern(rng: random.Random, scale: float) -> Sample:
    width, batch = rng.choice([64, 96, 128]), max(1, int(scale * rng.choice([8, 16, 32])))
    blocks: list[nn.Module] = []
    for stage in range(3):
        inner = width << stage
        blocks += [ChannelsLastBlock(inner), nn.Conv2d(inner, 2 * inner, 2, 2)]
    model = Convolutional(nn.Conv2d(3, width, 4, 4), nn.Sequential(*blocks), width << 3, 1000)
    return model, torch.zeros(batch, 3, 224, 224), cross_entropy(batch), "adamw"


def transformer(rng: random.Random, scale: float) -> Sample:
    heads = rng.choice([2, 4, 8, 12, 12, 16])
    width = heads * 64
    length, batch = rng.choice([64, 128, 128, 197, 256, 512]), max(1, int(scale * rng.choice([4, 8, 16, 32])))
    each = rng.random() < 0.5
    words = rng.choice([30522, 50257, 32000, 25000])
    before, feedforward = rng.random() < 0.5, rng.choice([2, 4]) * width
    layers: list[nn.Module] = [Attention(width, heads, feedforward, each, before) for _ in range(2)]
    classes = words if each else rng.choice([2, 10])
    model = Transformer(words, length, width, layers, classes, each)
    tokens = torch.zeros(batch, length, dtype=torch.long)
    shape = (batch * length,) if each else (batch,)
    return model, tokens, cross_entropy(*shape), rng.choice(["sgd", "adamw"])


def encoder(rng: random.Random, scale: float) -> Sample:
    """As PyTorch comes with it."""
    heads = rng.choice([4, 8, 12])
    width, length, batch = heads * 64, rng.choice([50, 128, 197]), max(1, int(scale * rng.choice([8, 16, 32])))
    layer = nn.TransformerEncoderLayer(width, heads, rng.choice([2, 4]) * width, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return model, torch.zeros(batch, length, width), lambda y: y.square().mean(), "adamw"


def recurrent(rng: random.Random, scale: float) -> Sample:
    state, length = rng.choice([64, 128, 256, 512]), rng.choice([32, 64, 128, 200])
    batch, kind = max(1, int(scale * rng.choice([16, 32, 64]))), rng.choice(["LSTM", "GRU"])
    words, both = rng.choice([2000, 10000, 30000]), rng.random() < 0.4
    classes = rng.choice([2, 20, words])
    width = rng.choice([32, 128, 300, state])
    model = Recurrent(words, width, state, rng.choice([1, 2]), kind, both, classes)
    tokens = torch.zeros(batch, length, dtype=torch.long)
    return model, tokens, cross_entropy(batch * length), rng.choice(["sgd", "adamw"])


def perceptron(rng: random.Random, scale: float) -> Sample:
    batch, inputs = max(1, int(scale * rng.choice([32, 128, 512]))), rng.choice([64, 128, 784, 3072])
    rows, layers = torch.zeros(batch, inputs), []
    for _ in range(rng.choice([2, 3, 4])):
        outputs = rng.choice([64, 100, 256, 500, 1024, 2048])
        layers += [nn.Linear(inputs, outputs), nn.ReLU(), nn.Dropout(0.2)]
        inputs = outputs
    model = nn.Sequential(*layers, nn.Linear(inputs, 10))
    return model, rows, cross_entropy(batch), rng.choice(["sgd", "momentum", "adamw"])


# Those with few calls of their own come often, so that these are known at several sizes.
SORTS = [
    residual,
    transformer,
    recurrent,
    plain,
    mobile,
    recurrent,
    encoder,
    perceptron,
    recurrent,
    modern,
    branching,
    recurrent,
    signal,
    large_head,
    transformer,
    speech,
    mobile,
]
# Of a processor people ask for less at a time.
SCALE = {"cuda": 1.0, "cpu": 0.125}


def networks(rng: random.Random, where: str) -> Iterator[Sample]:
    """Without end, all sorts in turn. They are on the meta device: only sizes count."""
    while True:
        for sort in SORTS:
            with torch.device("meta"):
                sample = sort(rng, SCALE[where])
            yield sample
