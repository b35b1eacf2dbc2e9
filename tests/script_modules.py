"""Modules that torchscript_files_test.py saves as TorchScript: small ones of the kinds that people have."""

import torch
from torch import nn
from torch.nn import functional as F


class LeNet(nn.Module):
    """What the zoo calls lenet5."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = F.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(torch.relu(self.fc2(x)))


class Block(nn.Module):
    def __init__(self, width, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(width, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.downsample = nn.Sequential()
        if stride != 1 or width != out:
            self.downsample = nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        y += self.downsample(x)
        return self.relu(y)


class ResNet18(nn.Module):
    """What the zoo calls resnet18."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                                  nn.MaxPool2d(3, 2, 1))
        blocks, width = [], 64
        for stage, out in enumerate((64, 128, 256, 512)):
            for i in range(2):
                blocks.append(Block(width, out, 2 if stage > 0 and i == 0 else 1))
                width = out
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        return self.fc(torch.flatten(self.pool(self.blocks(self.stem(x))), 1))


class Excite(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Conv2d(width, 4, 1), nn.Conv2d(4, width, 1)

    def forward(self, x):
        return F.hardsigmoid(self.fc2(F.relu(self.fc1(x.mean((2, 3), keepdim=True))))) * x


class MobileNet(nn.Module):
    """Inverted residuals, depthwise, squeeze and excite, channel shuffle."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish())
        self.expand = nn.Sequential(nn.Conv2d(8, 24, 1, bias=False), nn.BatchNorm2d(24), nn.ReLU6())
        self.depthwise = nn.Sequential(nn.Conv2d(24, 24, 3, 1, 1, groups=24, bias=False), nn.BatchNorm2d(24), nn.SiLU())
        self.excite = Excite(24)
        self.project = nn.Sequential(nn.Conv2d(24, 8, 1, bias=False), nn.BatchNorm2d(8), nn.Dropout(0.2))
        self.grouped = nn.Conv2d(16, 32, 3, groups=4)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.cat([x, x + self.project(self.excite(self.depthwise(self.expand(x))))], 1)
        n, c, h, w = x.shape
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).reshape(n, c, h, w)
        return self.fc(F.adaptive_avg_pool2d(self.grouped(x), 1).flatten(1))


class Words(nn.Module):
    """What the zoo calls lstm."""

    def __init__(self, vocabulary, width, hidden, classes):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, x):
        return self.fc(self.lstm(self.embedding(x))[0][:, -1])


class Recurrent(nn.Module):
    """The length first, two layers in both directions, the last states read."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(12, 16, num_layers=2, bidirectional=True)
        self.fc = nn.Linear(32, 5)

    def forward(self, x):
        state = self.gru(x)[1]
        return self.fc(torch.cat([state[-2], state[-1]], dim=1))


class Encoder(nn.Module):
    """nn.TransformerEncoder as it comes, the length first inside, with positions and a tied decoder."""

    def __init__(self, batch_first=False):
        super().__init__()
        self.batch_first = batch_first
        self.words, self.positions = nn.Embedding(90, 24), nn.Embedding(40, 24)
        layer = nn.TransformerEncoderLayer(24, 3, 48, activation="gelu", batch_first=batch_first)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.norm = nn.LayerNorm(24)

    def forward(self, x):
        x = self.words(x) + self.positions(torch.arange(x.shape[1]))
        x = self.layers(x) if self.batch_first else self.layers(x.transpose(0, 1)).transpose(0, 1)
        return F.linear(self.norm(x), self.words.weight)


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(x).reshape(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        scores = (q @ k.transpose(-2, -1)) * (width // self.heads) ** -0.5
        x = scores.softmax(-1) @ v
        return self.out(x.transpose(1, 2).reshape(n, length, width)) * self.scale


class VisionTransformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(3, 24, 8, 8)
        self.token, self.position = nn.Parameter(torch.zeros(1, 1, 24)), nn.Parameter(torch.zeros(1, 17, 24))
        self.norm1, self.attention = nn.LayerNorm(24), Attention(24, 4)
        self.norm2, self.mlp = nn.LayerNorm(24), nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 24))
        self.head = nn.Linear(24, 10)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], dim=1) + self.position
        x = x + self.attention(self.norm1(x))
        x = x + self.mlp(self.norm2(x))
        return self.head(x[:, 0])


class Strange(nn.Module):
    """Ops that a network cannot have, in several places."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Sort(), Sort()
        self.fc = nn.Linear(6, 3)

    def forward(self, x):
        return self.fc(torch.cumsum(self.second(self.first(x)), dim=1))


class Sort(nn.Module):
    def forward(self, x):
        return torch.sort(x, dim=1)[0]


class Endless(nn.Module):
    def forward(self, x):
        while bool(x.sum() < 1e30):
            x = x * 0
        return x


class Throws(nn.Module):
    def forward(self, x):
        if bool(x.sum() < 1e30):
            raise ValueError("this network has a mood")
        return x


class Hoards(nn.Module):
    def forward(self, x):
        return x.sum() * torch.ones([1000000, 1000000])


class Writes(nn.Module):
    def __init__(self, path: str):
        super().__init__()
        self.path = path

    def forward(self, x):
        torch.save(x, self.path)
        return x
