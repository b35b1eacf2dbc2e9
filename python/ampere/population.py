"""Networks of many sorts and sizes, drawn at random around what people train: what a device is measured by."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch
from torch import nn

from .attending import decoder, encoder, patches, reduced, speech, transformer, windowed
from .drawing import Sample, cross_entropy, normed, samples


class Gate(nn.Module):
    """Over channels, by the mean of each."""

    def __init__(self, width: int, inner: int):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(width, inner, 1), nn.SiLU(), nn.Conv2d(inner, width, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.sigmoid(self.layers(nn.functional.adaptive_avg_pool2d(x, 1)))


class Residual(nn.Module):
    """Of two convolutions of three, or of one between two that mix channels."""

    def __init__(
        self, inputs: int, width: int, outputs: int, stride: int, groups: int = 1, gated: bool = False, two: bool = False
    ):
        super().__init__()
        if two:
            branch = [normed(inputs, width, 3, stride), nn.Conv2d(width, outputs, 3, padding=1, bias=False)]
        else:
            branch = [normed(inputs, width, 1), normed(width, width, 3, stride, groups)]
            branch += [Gate(width, max(8, inputs // 4))] if gated else []
            branch += [nn.Conv2d(width, outputs, 1, bias=False)]
        self.branch = nn.Sequential(*branch, nn.BatchNorm2d(outputs))
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
        self.gate = Gate(width, max(8, width // 4)) if gated else nn.Identity()
        self.narrow = nn.Sequential(nn.Conv2d(width, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.adds = stride == 1 and inputs == outputs

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.narrow(self.gate(self.depthwise(self.widen(x))))
        return x + y if self.adds else y


class ChannelsLastBlock(nn.Module):
    """A large depthwise convolution, then linear layers over channels, which are moved last for them."""

    def __init__(self, width: int):
        super().__init__()
        self.depthwise = nn.Conv2d(width, width, 7, padding=3, groups=width)
        self.norm = nn.LayerNorm(width)
        self.mix = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.scale = nn.Parameter(torch.ones(width, 1, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.scale * self.mix(self.norm(self.depthwise(x).permute(0, 2, 3, 1))).permute(0, 3, 1, 2)
        y += x  # so it stays with channels last, and the next block reads it so
        return y


class Convolutional(nn.Module):
    def __init__(self, stem: nn.Module, body: nn.Module, width: int, classes: int):
        super().__init__()
        self.stem, self.body = stem, body
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(width, classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.body(self.stem(x)))


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
    width, two = rng.choice([16, 32, 48, 64, 64, 64, 96, 128]), rng.random() < 0.3
    # Wide ones have twice the channels between, and grouped ones so many in each of their groups.
    groups, each = rng.choice([(1, 0), (1, 0), (1, 0), (32, 4), (32, 8), (64, 4)])
    groups, between = (1, 1) if two else (groups, rng.choice([1, 1, 2]))
    size, batch = rng.choice([96, 128, 160, 224, 224]), samples(rng, scale, 8, 64)
    body, inputs, wider = [], width, 1 if two else 4
    for stage in range(4):
        outputs = wider * width << stage
        inner = groups * each << stage if groups > 1 else between * width << stage
        body.append(Residual(inputs, inner, outputs, 1 if stage == 0 else 2, groups, two=two))
        body.append(Residual(outputs, inner, outputs, 1, groups, two=two))
        inputs = outputs
    stem = nn.Sequential(normed(3, width, 7, 2), nn.MaxPool2d(3, 2, 1))
    model = Convolutional(stem, nn.Sequential(*body), inputs, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


class Squeezed(nn.Module):
    """Few channels, then many by kernels of one and of three side by side; no norms."""

    def __init__(self, inputs: int, width: int):
        super().__init__()
        self.squeeze = nn.Conv2d(inputs, width, 1)
        self.one, self.three = nn.Conv2d(width, 4 * width, 1), nn.Conv2d(width, 4 * width, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.squeeze(x))
        return torch.cat([torch.relu(self.one(x)), torch.relu(self.three(x))], 1)


def squeezed(rng: random.Random, scale: float) -> Sample:
    width, size = rng.choice([8, 16, 16, 24, 32]), rng.choice([128, 224, 224, 288])
    batch, inputs = samples(rng, scale, 16, 64), rng.choice([64, 96])
    stem = nn.Sequential(nn.Conv2d(3, inputs, rng.choice([3, 7]), 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, ceil_mode=True))
    body: list[nn.Module] = []
    for stage in range(3):
        inner = width * (stage + 1)
        body += [Squeezed(inputs, inner), Squeezed(8 * inner, inner), nn.MaxPool2d(3, 2, ceil_mode=True)]
        inputs = 8 * inner
    head = [nn.Dropout(0.5), nn.Conv2d(inputs, 1000, 1), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(stem, *body, *head), torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


def grouped(rng: random.Random, scale: float) -> Sample:
    """Residual, in groups of so many channels each, at widths that are no powers of two."""
    each, size = rng.choice([8, 16, 24, 32, 48]), rng.choice([160, 224, 224, 288])
    batch, gated = samples(rng, scale, 16, 64), rng.random() < 0.5
    body, inputs, width = [], 32, each * rng.choice([1, 2, 3])
    for _ in range(4):
        for stride in (2, 1):
            body.append(Residual(inputs, width, width, stride, width // each, gated))
            inputs = width
        width = max(width + each, int(width * rng.uniform(1.7, 2.6)) // each * each)
    model = Convolutional(normed(3, 32, 3, 2), nn.Sequential(*body), inputs, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


class DenseBlock(nn.Module):
    """Every layer reads all that were before it."""

    def __init__(self, inputs: int, growth: int, layers: int):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.BatchNorm2d(inputs + i * growth),
                nn.ReLU(inplace=True),
                nn.Conv2d(inputs + i * growth, 4 * growth, 1, bias=False),
                nn.BatchNorm2d(4 * growth),
                nn.ReLU(inplace=True),
                nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False),
            )
            for i in range(layers)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        seen = [x]
        for layer in self.layers:
            seen.append(layer(torch.cat(seen, 1)))
        return torch.cat(seen, 1)


def dense(rng: random.Random, scale: float) -> Sample:
    growth, size = rng.choice([16, 24, 32, 32, 48]), rng.choice([128, 192, 224])
    batch, layers = samples(rng, scale, 8, 32), rng.choice([4, 6, 10])
    body, inputs = [], 2 * growth
    for stage in range(4):
        outputs = inputs + layers * growth
        body.append(DenseBlock(inputs, growth, layers))
        if stage < 3:
            body += [nn.BatchNorm2d(outputs), nn.ReLU(inplace=True), nn.Conv2d(outputs, outputs // 2, 1, bias=False)]
            body += [nn.AvgPool2d(2)]
            outputs //= 2
        inputs = outputs
    stem = nn.Sequential(normed(3, 2 * growth, 7, 2), nn.MaxPool2d(3, 2, 1))
    model = Convolutional(stem, nn.Sequential(*body), inputs, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


class Branches(nn.Module):
    """Side by side: kernels of several sizes, long and flat ones too."""

    def __init__(self, inputs: int, width: int, long: int):
        super().__init__()
        flat = nn.Conv2d(width, width, (1, long), padding=(0, long // 2), bias=False)
        tall = nn.Conv2d(width, width, (long, 1), padding=(long // 2, 0), bias=False)
        self.branches = nn.ModuleList(
            [
                normed(inputs, width, 1),
                nn.Sequential(normed(inputs, width, 1), normed(width, width, 3)),
                nn.Sequential(normed(inputs, width // 2, 1), normed(width // 2, width, 5)),
                nn.Sequential(normed(inputs, width, 1), flat, nn.BatchNorm2d(width), tall, nn.BatchNorm2d(width)),
                nn.Sequential(pool_of(long), normed(inputs, width, 1)),
            ]
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def pool_of(long: int) -> nn.Module:
    return nn.AvgPool2d(3, 1, 1) if long > 3 else nn.MaxPool2d(3, 1, 1)


def branches(rng: random.Random, scale: float) -> Sample:
    width, size = rng.choice([32, 48, 64, 96, 128]), rng.choice([128, 224, 299])
    batch, long = samples(rng, scale, 16, 64), rng.choice([3, 5, 7])
    body: list[nn.Module] = []
    inputs = 64
    for stage in range(3):
        body += [Branches(inputs, width << (stage // 2), long), nn.MaxPool2d(3, 2)]
        inputs = 5 * (width << (stage // 2))
    stem = nn.Sequential(normed(3, 32, 3, 2), normed(32, 64, 3), nn.MaxPool2d(3, 2))
    model = Convolutional(stem, nn.Sequential(*body), inputs, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "momentum"


class Shuffled(nn.Module):
    """Half of the channels go by, and then all are mixed."""

    def __init__(self, width: int):
        super().__init__()
        half = width // 2
        self.branch = nn.Sequential(
            normed(half, half, 1),
            nn.Conv2d(half, half, 3, padding=1, groups=half, bias=False),
            nn.BatchNorm2d(half),
            normed(half, half, 1),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, 1)
        y = torch.cat([left, self.branch(right)], 1)
        batch, width, height, length = y.shape
        return y.view(batch, 2, width // 2, height, length).transpose(1, 2).reshape(batch, width, height, length)


def shuffled(rng: random.Random, scale: float) -> Sample:
    width, size = 2 * rng.choice([24, 58, 64, 88, 122]), rng.choice([160, 224, 288])
    batch = samples(rng, scale, 16, 128)
    body: list[nn.Module] = []
    for stage in range(3):
        inner = width << stage
        body += [Shuffled(inner), Shuffled(inner), Separable(inner, 2 * inner, 3, 2, 1, False)]
    stem = nn.Sequential(normed(3, 24, 3, 2), nn.MaxPool2d(3, 2, 1), normed(24, width, 1))
    model = Convolutional(stem, nn.Sequential(*body), width << 3, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


class Segmented(nn.Module):
    """Kernels with holes in them over few places, and the answer scaled up to the whole image."""

    def __init__(self, width: int, classes: int):
        super().__init__()
        self.stem = nn.Sequential(normed(3, width, 3, 2), normed(width, 2 * width, 3, 2), normed(2 * width, 4 * width, 3, 2))
        self.holes = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(4 * width, 2 * width, 3, padding=apart, dilation=apart, bias=False),
                nn.BatchNorm2d(2 * width),
                nn.ReLU(inplace=True),
            )
            for apart in (1, 6, 12)
        )
        self.mix, self.head = normed(6 * width, 2 * width, 1), nn.Conv2d(2 * width, classes, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.stem(x)
        y = self.head(self.mix(torch.cat([hole(y) for hole in self.holes], 1)))
        return nn.functional.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False)


def segmented(rng: random.Random, scale: float) -> Sample:
    size, batch = rng.choice([128, 224, 256, 320, 512]), samples(rng, scale, 4, 16)
    model = Segmented(rng.choice([32, 64, 128]), rng.choice([2, 21, 21, 150]))
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch, size, size), "momentum"


def plain(rng: random.Random, scale: float) -> Sample:
    """Convolutions of three, one after the other."""
    width, size = rng.choice([16, 32, 64, 64]), rng.choice([32, 64, 128, 224])
    batch = samples(rng, scale, 16, 128)
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
    size, batch = rng.choice([64, 128, 256]), samples(rng, scale, 4, 16)
    model = Branching(rng.choice([16, 32, 64]), rng.choice([3, 4]), rng.choice([2, 21]), rng.random() < 0.5)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch, size, size), "sgd"


def signal(rng: random.Random, scale: float) -> Sample:
    """Over one dimension: sound, sensors, words. Some look at long stretches, then through fewer channels."""
    kernel = rng.choice([3, 5, 7, 9, 20, 40, 80])
    width, length = rng.choice([32, 64] if kernel > 9 else [32, 64, 128, 256]), rng.choice([128, 500, 1000, 4000])
    batch, inputs = samples(rng, scale, 8, 64), rng.choice([1, 6, 64, 128])
    layers: list[nn.Module] = []
    rows = torch.zeros(batch, inputs, length)
    for stage in range(3):
        layers += [nn.Conv1d(inputs, width, kernel, 2, kernel // 2), nn.GroupNorm(8, width), nn.GELU()]
        inputs = width
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 12))
    return model, rows, cross_entropy(batch), "adamw"


class Series(nn.Module):
    """Over time, with kernels whose taps are farther and farther apart."""

    def __init__(self, inputs: int, width: int, kernel: int, levels: int, both: bool):
        super().__init__()
        self.stem, self.head = nn.Conv1d(inputs, width, 1), nn.Linear(width, 10)
        self.layers = nn.ModuleList()
        for level in range(levels):
            reach = (kernel - 1) << level
            self.layers.append(
                nn.Sequential(
                    nn.ConstantPad1d((reach // 2, reach - reach // 2) if both else (reach, 0), 0.0),
                    nn.Conv1d(width, width, kernel, dilation=1 << level),
                    nn.ReLU(),
                    nn.Dropout(0.1),
                )
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stem(x)
        for layer in self.layers:
            x = torch.relu(x + layer(x))
        return self.head(x.mean(-1))


def series(rng: random.Random, scale: float) -> Sample:
    length, batch = rng.choice([128, 400, 1000, 3000]), samples(rng, scale, 8, 64)
    inputs, kernel = rng.choice([1, 8, 40]), rng.choice([2, 3, 3, 5, 7])
    model = Series(inputs, rng.choice([32, 64, 128, 128, 256]), kernel, rng.choice([4, 6, 8]), rng.random() < 0.5)
    return model, torch.zeros(batch, inputs, length), cross_entropy(batch), rng.choice(["sgd", "adamw"])


def large_head(rng: random.Random, scale: float) -> Sample:
    """Large first kernels, and most weights in linear layers."""
    inputs, size = rng.choice([1, 3, 3]), rng.choice([28, 64, 224])
    batch, width = samples(rng, scale, 16, 128), rng.choice([512, 1024, 4096])
    stem = nn.Conv2d(inputs, 64, 11, 4, 5) if size > 64 else nn.Conv2d(inputs, 32, rng.choice([3, 5]), padding=1)
    inner = stem.out_channels
    body = [nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(inner, 2 * inner, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool2d(6)]
    head = [nn.Linear(72 * inner, width), nn.ReLU(), nn.Dropout(0.5), nn.Linear(width, width), nn.ReLU()]
    model = nn.Sequential(stem, *body, nn.Flatten(), *head, nn.Linear(width, 10))
    return model, torch.zeros(batch, inputs, size, size), cross_entropy(batch), rng.choice(["sgd", "adamw"])


def mobile(rng: random.Random, scale: float) -> Sample:
    width, size = rng.choice([8, 16, 24, 32]), rng.choice([128, 160, 192, 224])
    batch = samples(rng, scale, 16, 64)
    gated, body, inputs = rng.random() < 0.5, [], width
    for stage in range(4):
        outputs, kernel = width * (stage + 1) * 2, rng.choice([3, 3, 5])
        body += [Separable(inputs, outputs, kernel, 2, rng.choice([3, 4, 6]), gated)]
        body += [Separable(outputs, outputs, kernel, 1, 6, gated)]
        inputs = outputs
    model = Convolutional(normed(3, width, 3, 2), nn.Sequential(*body), inputs, 1000)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "sgd"


def modern(rng: random.Random, scale: float) -> Sample:
    width, batch = rng.choice([64, 96, 128]), samples(rng, scale, 8, 32)
    blocks: list[nn.Module] = []
    for stage in range(3):
        inner = width << stage
        blocks += [ChannelsLastBlock(inner), nn.Conv2d(inner, 2 * inner, 2, 2)]
    model = Convolutional(nn.Conv2d(3, width, 4, 4), nn.Sequential(*blocks), width << 3, 1000)
    return model, torch.zeros(batch, 3, 224, 224), cross_entropy(batch), "adamw"


def recurrent(rng: random.Random, scale: float) -> Sample:
    state = rng.choice([64, 100, 128, 192, 256, 300, 320, 384, 512, 650, 768, 1024])
    length = rng.choice([20, 64, 128, 200, 400])
    batch, kind = samples(rng, scale, 4, 128), rng.choice(["LSTM", "GRU"])
    words, both = rng.choice([2000, 10000, 30000]), rng.random() < 0.4
    classes = rng.choice([2, 20, words]) if batch * length < 5000 else 20
    width = rng.choice([8, 32, 80, 128, 300, state])
    model = Recurrent(words, width, state, rng.choice([1, 2, 3, 5]), kind, both, classes)
    tokens = torch.zeros(batch, length, dtype=torch.long)
    return model, tokens, cross_entropy(batch * length), rng.choice(["sgd", "adamw"])


def perceptron(rng: random.Random, scale: float) -> Sample:
    batch, inputs = samples(rng, scale, 32, 512), rng.choice([64, 128, 784, 3072])
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
    mobile,
    patches,
    plain,
    recurrent,
    grouped,
    modern,
    encoder,
    dense,
    decoder,
    recurrent,
    segmented,
    windowed,
    signal,
    branches,
    perceptron,
    recurrent,
    residual,
    speech,
    shuffled,
    series,
    transformer,
    branching,
    residual,
    mobile,
    squeezed,
    large_head,
    reduced,
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
