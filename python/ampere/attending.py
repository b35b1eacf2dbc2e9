"""Of the population, networks that attend: over words, patches, windows and sounds."""

from __future__ import annotations

import random

import torch
from torch import nn

from .drawing import Sample, cross_entropy, samples


class Attention(nn.Module):
    """Of a transformer, as most write it today: heads from one view, and PyTorch's own attention."""

    def __init__(self, width: int, heads: int, feedforward: int, causal: bool, before: bool, padded: bool = False):
        super().__init__()
        self.heads, self.causal, self.before, self.padded = heads, causal, before, padded
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out, self.drop = nn.Linear(width, width), nn.Dropout(0.1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.mlp = nn.Sequential(nn.Linear(width, feedforward), nn.GELU(), nn.Linear(feedforward, width))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = (f(x).view(batch, length, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        # Samples of different lengths need a mask, which says what is causal, too.
        mask = torch.ones(batch, 1, length, length, dtype=torch.bool, device=x.device) if self.padded else None
        y = nn.functional.scaled_dot_product_attention(q, k, v, mask, is_causal=self.causal and not self.padded)
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


class Patches(nn.Module):
    """Images as rows of patches, with one place for the answer in front."""

    def __init__(self, size: int, patch: int, width: int, layers: list[nn.Module]):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.answer = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.layers, self.norm, self.head = nn.Sequential(*layers), nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat([self.answer.expand(y.shape[0], -1, -1), y], 1) + self.places
        return self.head(self.norm(self.layers(y))[:, 0])


def patches(rng: random.Random, scale: float) -> Sample:
    heads, size = rng.choice([3, 6, 12, 12, 16]), rng.choice([192, 224, 224, 256, 384])
    batch, patch = samples(rng, scale, 8, 64), rng.choice([14, 16, 16, 32])
    size -= size % patch
    layers: list[nn.Module] = [Attention(64 * heads, heads, 256 * heads, False, True) for _ in range(2)]
    model = Patches(size, patch, 64 * heads, layers)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), rng.choice(["sgd", "adamw"])


class Reduced(nn.Module):
    """Attention of many places over few, which a strided convolution makes of them."""

    def __init__(self, width: int, heads: int, by: int):
        super().__init__()
        self.heads, self.norm, self.fewer_norm = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.fewer = nn.Conv2d(width, width, by, by)
        self.q, self.kv, self.out = nn.Linear(width, width), nn.Linear(width, 2 * width), nn.Linear(width, width)
        self.wider, self.around = nn.Linear(width, 4 * width), nn.Conv2d(4 * width, 4 * width, 3, 1, 1, groups=4 * width)
        self.mlp_norm, self.narrower = nn.LayerNorm(width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, width, rows, columns = x.shape
        y = x.flatten(2).transpose(1, 2)
        z = self.norm(y)
        few = self.fewer(z.transpose(1, 2).reshape(x.shape)).flatten(2).transpose(1, 2)
        q = self.q(z).view(batch, rows * columns, self.heads, -1).transpose(1, 2)
        k, v = self.kv(self.fewer_norm(few)).view(batch, -1, 2, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        seen = nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        y = y + self.out(seen)
        z = self.wider(self.mlp_norm(y)).transpose(1, 2).reshape(batch, 4 * width, rows, columns)
        y = y + self.narrower(nn.functional.gelu(self.around(z).flatten(2).transpose(1, 2)))
        return y.transpose(1, 2).reshape(x.shape)


def reduced(rng: random.Random, scale: float) -> Sample:
    """Two stages of them, the second with half of the places and twice the channels."""
    heads, each, batch = rng.choice([1, 2, 4]), rng.choice([32, 64]), samples(rng, scale, 8, 64)
    width, by, size = heads * each, rng.choice([4, 8]), rng.choice([192, 224, 256])
    size -= size % (8 * by)
    model = nn.Sequential(
        nn.Conv2d(3, width, 7, 4, 3),
        Reduced(width, heads, by),
        nn.Conv2d(width, 2 * width, 3, 2, 1),
        Reduced(2 * width, 2 * heads, by // 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * width, 1000),
    )
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), rng.choice(["sgd", "adamw"])


class Windows(nn.Module):
    """Attention within windows that are moved from one layer to the next, with a bias for each distance."""

    def __init__(self, width: int, heads: int, window: int, moved: bool):
        super().__init__()
        self.heads, self.window, self.moved = heads, window, moved
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def attend(self, x: torch.Tensor) -> torch.Tensor:
        batch, height, length, width = x.shape
        w, rows = self.window, self.window**2
        if self.moved:
            x = torch.roll(x, (-(w // 2), -(w // 2)), (1, 2))
        x = x.view(batch, height // w, w, length // w, w, width).transpose(2, 3).reshape(-1, rows, width)
        q, k, v = self.qkv(x).view(-1, rows, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        places = torch.arange(rows * rows, device=x.device) % len(self.bias)
        logits = (q * (width // self.heads) ** -0.5) @ k.transpose(-2, -1)
        logits = logits + self.bias[places].view(rows, rows, -1).permute(2, 0, 1).contiguous().unsqueeze(0)
        y = (logits.softmax(-1) @ v).transpose(1, 2).reshape(-1, rows, width)
        y = self.out(y).view(batch, height // w, length // w, w, w, width).transpose(2, 3)
        y = y.reshape(batch, height, length, width)
        return torch.roll(y, (w // 2, w // 2), (1, 2)) if self.moved else y

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attend(self.norms[0](x))
        return x + self.mlp(self.norms[1](x))


class WindowStage(nn.Module):
    def __init__(self, width: int, heads: int, window: int):
        super().__init__()
        self.layers = nn.Sequential(Windows(width, heads, window, False), Windows(width, heads, window, True))
        self.norm, self.merge = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layers(x)
        quarters = [x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)]
        return self.merge(self.norm(torch.cat(quarters, -1)))


class Windowed(nn.Module):
    def __init__(self, width: int, window: int):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 4, 4)
        self.stages = nn.Sequential(*(WindowStage(width << i, (width << i) // 32, window) for i in range(3)))
        self.head = nn.Linear(width << 3, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.stages(self.stem(x).permute(0, 2, 3, 1)).mean((1, 2)))


def windowed(rng: random.Random, scale: float) -> Sample:
    window, batch = rng.choice([7, 7, 8]), samples(rng, scale, 8, 32)
    size = 32 * window
    model = Windowed(rng.choice([64, 96, 96, 128]), window)
    return model, torch.zeros(batch, 3, size, size), cross_entropy(batch), "adamw"


class Rotated(nn.Module):
    """A decoder's layer as they are made today: places as rotations, norms without means, gated linear layers."""

    def __init__(self, width: int, heads: int, shared: int, feedforward: int, repeated: bool):
        super().__init__()
        self.heads, self.shared, self.each, self.repeated = heads, heads // shared, width // heads, repeated
        self.q, self.k, self.v = (
            nn.Linear(width, n * self.each, bias=False) for n in (heads, self.shared, self.shared)
        )
        self.out = nn.Linear(width, width, bias=False)
        self.gate, self.up = (nn.Linear(width, feedforward, bias=False) for _ in range(2))
        self.down = nn.Linear(feedforward, width, bias=False)
        self.scales = nn.ParameterList(torch.ones(width) for _ in range(2))

    def normed(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        y = x.float()
        return scale * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def rotated(self, x: torch.Tensor) -> torch.Tensor:
        angles = torch.ones(x.shape[-2], x.shape[-1], device=x.device, dtype=x.dtype)
        left, right = x.chunk(2, -1)
        return x * angles + torch.cat([-right, left], -1) * angles

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        y = self.normed(x, self.scales[0])
        q = self.rotated(self.q(y).view(batch, length, self.heads, -1).transpose(1, 2))
        k = self.rotated(self.k(y).view(batch, length, self.shared, -1).transpose(1, 2))
        v = self.v(y).view(batch, length, self.shared, -1).transpose(1, 2)
        if self.repeated:
            k, v = (t.repeat_interleave(self.heads // self.shared, 1) for t in (k, v))
        among = {} if self.repeated or self.shared == self.heads else {"enable_gqa": True}
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, **among)
        x = x + self.out(y.transpose(1, 2).reshape(batch, length, width))
        y = self.normed(x, self.scales[1])
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


def decoder(rng: random.Random, scale: float) -> Sample:
    heads, words = rng.choice([4, 8, 12, 16]), rng.choice([32000, 50000, 50257])
    width, batch = heads * 64, samples(rng, scale, 2, 8)
    length, shared = rng.choice([128, 256, 512, 1024]), rng.choice([1, 1, 2, 4])
    feedforward, repeated = int(width * 2.67) // 64 * 64, shared > 1 and rng.random() < 0.5
    layers: list[nn.Module] = [Rotated(width, heads, shared, feedforward, repeated) for _ in range(2)]
    model = Transformer(words, length, width, layers, words, True)
    tokens = torch.zeros(batch, length, dtype=torch.long)
    return model, tokens, cross_entropy(batch * length), rng.choice(["sgd", "adamw"])


class Speech(nn.Module):
    """Waves become frames by convolutions, their places are told by one grouped convolution with a long kernel, or by
    several with shorter ones, and attention goes over them."""

    def __init__(self, width: int, heads: int, kernel: int, groups: int, channels: int, classes: int):
        super().__init__()
        frames: list[nn.Module] = [nn.Conv1d(1, channels, 10, 5, bias=False), nn.GroupNorm(channels, channels), nn.GELU()]
        for kernel_of in (3, 3, 3, 3, 2, 2):
            frames += [nn.Conv1d(channels, channels, kernel_of, 2, bias=False), nn.GELU()]
        self.frames = nn.Sequential(*frames)
        self.project = nn.Linear(channels, width)
        several = 1 if kernel > 30 else 4
        self.places = nn.Sequential(
            *(nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=groups) for _ in range(several))
        )
        self.layers = nn.Sequential(*(Attention(width, heads, 4 * width, False, False) for _ in range(2)))
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.project(self.frames(x).transpose(1, 2))
        y = y + nn.functional.gelu(self.places(y.transpose(1, 2))[:, :, : y.shape[1]]).transpose(1, 2)
        return self.head(self.layers(y).mean(1))


def speech(rng: random.Random, scale: float) -> Sample:
    heads = rng.choice([4, 6, 8, 12])
    width, batch = heads * 64, samples(rng, scale, 4, 16)
    model = Speech(width, heads, rng.choice([15, 19, 31, 64, 128, 128]), rng.choice([1, 8, 16, 16]), rng.choice([128, 256, 512]), 12)
    waves = torch.zeros(batch, 1, rng.choice([16000, 32000, 64000]))
    return model, waves, cross_entropy(batch), rng.choice(["sgd", "adamw"])


def transformer(rng: random.Random, scale: float) -> Sample:
    heads = rng.choice([2, 4, 8, 12, 12, 16])
    width = heads * 64
    length, batch = rng.choice([64, 128, 128, 197, 256, 512]), samples(rng, scale, 4, 32)
    each = rng.random() < 0.5
    words = rng.choice([30522, 50257, 32000, 25000])
    before, feedforward = rng.random() < 0.5, rng.choice([2, 4]) * width
    padded = rng.random() < 0.25
    layers: list[nn.Module] = [Attention(width, heads, feedforward, each, before, padded) for _ in range(2)]
    classes = words if each else rng.choice([2, 10])
    model = Transformer(words, length, width, layers, classes, each)
    tokens = torch.zeros(batch, length, dtype=torch.long)
    shape = (batch * length,) if each else (batch,)
    return model, tokens, cross_entropy(*shape), rng.choice(["sgd", "adamw"])


def encoder(rng: random.Random, scale: float) -> Sample:
    """As PyTorch comes with it."""
    heads = rng.choice([4, 8, 12])
    width, length, batch = heads * 64, rng.choice([50, 128, 197]), samples(rng, scale, 8, 32)
    layer = nn.TransformerEncoderLayer(width, heads, rng.choice([2, 4]) * width, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    return model, torch.zeros(batch, length, width), lambda y: y.square().mean(), "adamw"
