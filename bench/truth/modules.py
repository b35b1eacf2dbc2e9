"""Networks that no library brings, as tutorials write them."""

import math

import torch
import torchvision
from torch import nn
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone
from torchvision.models.detection.retinanet import RetinaNetHead
from torchvision.ops.feature_pyramid_network import LastLevelP6P7


class SmallCnn(nn.Module):
    """The convolution net of a first tutorial: 28 x 28 grey images, ten classes."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.25))
        self.classifier = nn.Sequential(
            nn.Flatten(), nn.Linear(64 * 12 * 12, 128), nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10))

    def forward(self, x):
        return self.classifier(self.features(x))


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(784, 2048), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2048, 2048), nn.ReLU(), nn.Dropout(0.2),
        nn.Linear(2048, 10))


def _double_conv(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


class UNet(nn.Module):
    """U-Net with four levels down, batch norm and transposed convolutions up."""

    def __init__(self, channels: int = 3, classes: int = 2, width: int = 64):
        super().__init__()
        widths = [width * 2**level for level in range(5)]
        self.down = nn.ModuleList(
            _double_conv(a, b) for a, b in zip([channels, *widths[:3]], widths[:4]))
        self.middle = _double_conv(widths[3], widths[4])
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(w * 2, w, 2, stride=2) for w in reversed(widths[:4]))
        self.join = nn.ModuleList(_double_conv(w * 2, w) for w in reversed(widths[:4]))
        self.pool = nn.MaxPool2d(2)
        self.head = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        skips = []
        for block in self.down:
            x = block(x)
            skips.append(x)
            x = self.pool(x)
        x = self.middle(x)
        for up, join, skip in zip(self.up, self.join, reversed(skips)):
            x = join(torch.cat([skip, up(x)], dim=1))
        return self.head(x)


class LstmLanguageModel(nn.Module):
    """Two LSTM layers of 650, PyTorch's word language model."""

    def __init__(self, words: int = 33278, width: int = 650, layers: int = 2, dropout: float = 0.5):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, layers, dropout=dropout, batch_first=True)
        self.decoder = nn.Linear(width, words)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.drop(self.embedding(tokens)))
        return self.decoder(self.drop(hidden))


class GruClassifier(nn.Module):
    """Text to one of a few classes by the last state of a GRU."""

    def __init__(self, words: int = 25000, width: int = 256, hidden: int = 512, classes: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.gru = nn.GRU(width, hidden, 2, dropout=0.3, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, tokens):
        _, last = self.gru(self.embedding(tokens))
        return self.head(last[-1])


class BiLstmTagger(nn.Module):
    """A tag for each word by an LSTM in both directions."""

    def __init__(self, words: int = 30000, width: int = 300, hidden: int = 256, tags: int = 17):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, 2, dropout=0.33, bidirectional=True, batch_first=True)
        self.drop = nn.Dropout(0.33)
        self.head = nn.Linear(2 * hidden, tags)

    def forward(self, tokens):
        hidden, _ = self.lstm(self.embedding(tokens))
        return self.head(self.drop(hidden))


class TextCnn(nn.Module):
    """Convolutions of width 3, 4 and 5 over words and a maximum over time (Kim, 2014)."""

    def __init__(self, words: int = 25000, width: int = 300, filters: int = 100, classes: int = 2):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, filters, kernel) for kernel in (3, 4, 5))
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(3 * filters, classes)

    def forward(self, tokens):
        words = self.embedding(tokens).transpose(1, 2)
        found = [torch.relu(conv(words)).amax(dim=2) for conv in self.convs]
        return self.head(self.drop(torch.cat(found, dim=1)))


class EncoderClassifier(nn.Module):
    """PyTorch's own transformer encoder over words, averaged, into classes."""

    def __init__(self, words: int = 25000, width: int = 512, layers: int = 6, length: int = 256, classes: int = 4):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.position = nn.Parameter(torch.zeros(1, length, width))
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        hidden = self.encoder(self.embedding(tokens) + self.position[:, :tokens.shape[1]])
        return self.head(hidden.mean(dim=1))


class LstmForecaster(nn.Module):
    """Two LSTM layers over a week of hours, and a linear layer that tells the next day."""

    def __init__(self, figures: int = 24, width: int = 128, ahead: int = 24):
        super().__init__()
        self.recurrent = nn.LSTM(figures, width, num_layers=2, dropout=0.1, batch_first=True)
        self.head = nn.Linear(width, ahead)

    def forward(self, series):
        return self.head(self.recurrent(series)[0][:, -1])


class LineReader(nn.Module):
    """Reads a line of text: convolutions, then an LSTM in both directions over the columns."""

    def __init__(self, letters: int = 80):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(64, 128, 3, padding=1), nn.BatchNorm2d(128), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(128, 256, 3, padding=1), nn.BatchNorm2d(256), nn.ReLU(), nn.MaxPool2d((2, 1)))
        self.recurrent = nn.LSTM(256 * 4, 256, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(512, letters)

    def forward(self, image):
        return self.head(self.recurrent(self.features(image).flatten(1, 2).transpose(1, 2))[0])


class GruTranslator(nn.Module):
    """A GRU reads, another writes from where the first ended, with attention over what was read."""

    def __init__(self, words: int = 20000, width: int = 256):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.reader = nn.GRU(width, width, batch_first=True)
        self.writer = nn.GRU(width, width, batch_first=True)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.head = nn.Linear(2 * width, words)

    def forward(self, tokens):
        embedded = self.embedding(tokens)
        read, state = self.reader(embedded)
        written, _ = self.writer(embedded, state)
        seen, _ = self.attention(written, read, read, need_weights=False)
        return self.head(torch.cat([written, seen], dim=-1))


class LstmAcoustic(nn.Module):
    """Three recurrent layers in both directions, and a class for each moment of sound."""

    def __init__(self, bands: int = 80, state: int = 320, classes: int = 48):
        super().__init__()
        self.recurrent = nn.LSTM(bands, state, num_layers=3, batch_first=True, bidirectional=True, dropout=0.2)
        self.classes = nn.Linear(2 * state, classes)

    def forward(self, frames: torch.Tensor) -> torch.Tensor:
        return self.classes(self.recurrent(frames)[0])


class GruSensors(nn.Module):
    """What somebody does, by a few sensors that they wear."""

    def __init__(self, sensors: int = 9, state: int = 192, classes: int = 6):
        super().__init__()
        self.first = nn.Linear(sensors, 64)
        self.recurrent = nn.GRU(64, state, num_layers=2, batch_first=True)
        self.classes = nn.Linear(state, classes)

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        return self.classes(self.recurrent(torch.relu(self.first(series)))[0][:, -1])


class ConvSensors(nn.Module):
    """The same by convolutions over time."""

    def __init__(self, sensors: int = 9, width: int = 96, classes: int = 6):
        super().__init__()
        layers: list[nn.Module] = []
        for index in range(4):
            layers += [nn.Conv1d(width if index else sensors, width, 5, padding=2), nn.BatchNorm1d(width), nn.ReLU()]
            layers += [nn.MaxPool1d(2)]
        self.features = nn.Sequential(*layers)
        self.classes = nn.Sequential(nn.Dropout(0.5), nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, classes))

    def forward(self, series: torch.Tensor) -> torch.Tensor:
        return self.classes(self.features(series.transpose(1, 2)).mean(2))


class DeepSpeech(nn.Module):
    """Two convolutions over a spectrum, five GRUs both ways, one letter for every second moment."""

    def __init__(self, bands: int = 161, width: int = 800, letters: int = 29):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 32, (41, 11), stride=(2, 2), padding=(20, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20),
            nn.Conv2d(32, 32, (21, 11), stride=(2, 1), padding=(10, 5)), nn.BatchNorm2d(32), nn.Hardtanh(0, 20))
        rows = ((bands + 1) // 2 + 1) // 2
        self.gru = nn.GRU(32 * rows, width, 5, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, letters)

    def forward(self, spectrum):
        y = self.convolutions(spectrum)
        y = y.permute(0, 3, 1, 2).flatten(2)
        return self.head(self.gru(y)[0])


class CharLstm(nn.Module):
    """The next letter, by two LSTM layers of 512."""

    def __init__(self, letters: int = 96, width: int = 512):
        super().__init__()
        self.embedding = nn.Embedding(letters, 64)
        self.lstm = nn.LSTM(64, width, 2, batch_first=True, dropout=0.3)
        self.head = nn.Linear(width, letters)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


class LstmTranslator(nn.Module):
    """An encoder both ways, a decoder that looks at all of it by dot products."""

    def __init__(self, words: int = 16000, width: int = 512):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.encoder = nn.LSTM(width, width // 2, 2, batch_first=True, bidirectional=True)
        self.decoder = nn.LSTM(width, width, 2, batch_first=True)
        self.mix = nn.Linear(2 * width, width)
        self.head = nn.Linear(width, words)

    def forward(self, tokens):
        read = self.encoder(self.embedding(tokens))[0]
        said = self.decoder(self.embedding(tokens.roll(1, 1)))[0]
        weights = torch.softmax(said @ read.transpose(1, 2), -1)
        return self.head(torch.tanh(self.mix(torch.cat([said, weights @ read], -1))))


class DilatedSeries(nn.Module):
    """Residual convolutions over time whose kernels reach twice as far from one to the next."""

    def __init__(self, width: int = 128, levels: int = 8):
        super().__init__()
        self.stem = nn.Conv1d(1, width, 1)
        self.layers = nn.ModuleList(
            nn.Sequential(
                nn.Conv1d(width, width, 3, padding=2**level, dilation=2**level), nn.ReLU(), nn.Dropout(0.1),
                nn.Conv1d(width, width, 3, padding=2**level, dilation=2**level), nn.ReLU(), nn.Dropout(0.1))
            for level in range(levels))
        self.head = nn.Linear(width, 10)

    def forward(self, series):
        x = self.stem(series)
        for layer in self.layers:
            x = torch.relu(x + layer(x))
        return self.head(x.mean(-1))


class GruLanguageModel(nn.Module):
    """Three GRU layers of 768, and one table of words for reading and for telling."""

    def __init__(self, words: int = 12000, width: int = 768):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.gru = nn.GRU(width, width, 3, dropout=0.4, batch_first=True)
        self.drop = nn.Dropout(0.4)

    def forward(self, tokens):
        return self.drop(self.gru(self.embedding(tokens))[0]) @ self.embedding.weight.t()


class LstmAutoencoder(nn.Module):
    """A series through a narrow state and back again."""

    def __init__(self, figures: int = 32, width: int = 192, code: int = 24):
        super().__init__()
        self.encoder = nn.LSTM(figures, width, batch_first=True)
        self.narrow, self.widen = nn.Linear(width, code), nn.Linear(code, width)
        self.decoder = nn.LSTM(width, width, batch_first=True)
        self.head = nn.Linear(width, figures)

    def forward(self, series):
        code = torch.tanh(self.narrow(self.encoder(series)[0][:, -1]))
        again = torch.relu(self.widen(code)).unsqueeze(1).expand(-1, series.shape[1], -1)
        return self.head(self.decoder(again.contiguous())[0])


class BiGruAttention(nn.Module):
    """Two GRUs both ways over words, and a mean that is weighed by what was read."""

    def __init__(self, words: int = 40000, width: int = 200, hidden: int = 300, classes: int = 5):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.gru = nn.GRU(width, hidden, 2, dropout=0.2, batch_first=True, bidirectional=True)
        self.weigh = nn.Sequential(nn.Linear(2 * hidden, hidden), nn.Tanh(), nn.Linear(hidden, 1))
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, tokens):
        read = self.gru(self.embedding(tokens))[0]
        weights = torch.softmax(self.weigh(read), 1)
        return self.head((weights * read).sum(1))


class GruOfItems(nn.Module):
    """What a visitor looks at next, by one GRU layer over what was looked at."""

    def __init__(self, items: int = 15000, width: int = 160):
        super().__init__()
        self.embedding = nn.Embedding(items, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, items)

    def forward(self, tokens):
        return self.head(self.gru(self.embedding(tokens))[0])


class LstmOpinion(nn.Module):
    """Two LSTM layers over words, the last moment and the mean into classes."""

    def __init__(self, words: int = 28000, width: int = 300, hidden: int = 280, classes: int = 3):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, 2, dropout=0.3, batch_first=True)
        self.head = nn.Linear(2 * hidden, classes)

    def forward(self, tokens):
        read = self.lstm(self.embedding(tokens))[0]
        return self.head(torch.cat([read[:, -1], read.mean(1)], -1))


class Listener(nn.Module):
    """LSTMs both ways over sound, each over half as many moments as the one before."""

    def __init__(self, bands: int = 80, width: int = 224, classes: int = 40, levels: int = 3):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.LSTM(bands if level == 0 else 4 * width, width, batch_first=True, bidirectional=True)
            for level in range(levels))
        self.head = nn.Linear(2 * width, classes)

    def forward(self, frames):
        x = frames
        for level, layer in enumerate(self.layers):
            if level:
                x = x.reshape(x.shape[0], x.shape[1] // 2, -1)
            x = layer(x)[0]
        return self.head(x)


class NotesLstm(nn.Module):
    """The next note, by three LSTM layers of 448 and two linear ones."""

    def __init__(self, notes: int = 130, width: int = 448):
        super().__init__()
        self.embedding = nn.Embedding(notes, 96)
        self.lstm = nn.LSTM(96, width, 3, dropout=0.2, batch_first=True)
        self.head = nn.Sequential(nn.Linear(width, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Linear(256, notes))

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0][:, -1])


class Discriminator(nn.Module):
    """Strided convolutions down from an image to one figure, as of generative networks."""

    def __init__(self, width: int = 80):
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2)]
        for level in range(4):
            inputs, outputs = width << level, min(width << level + 1, 8 * width)
            layers += [nn.Conv2d(inputs, outputs, 4, 2, 1, bias=False), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.2)]
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(8 * width, 1)

    def forward(self, image):
        return self.head(self.features(image).mean((2, 3))).squeeze(1)


class TableNetwork(nn.Module):
    """Residual linear layers over the columns of a table."""

    def __init__(self, columns: int = 200, width: int = 448, blocks: int = 6, classes: int = 8):
        super().__init__()
        self.first = nn.Linear(columns, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.2),
                          nn.Linear(2 * width, width), nn.Dropout(0.1)) for _ in range(blocks))
        self.head = nn.Sequential(nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, classes))

    def forward(self, row):
        x = self.first(row)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)


class Detector(nn.Module):
    """RetinaNet without its boxes of anchors, which the host matches: ResNet-50, a pyramid of five levels, and for each
    of nine anchors everywhere 91 classes and four figures of a box, side by side."""

    def __init__(self, classes: int = 91):
        super().__init__()
        self.backbone = resnet_fpn_backbone(
            backbone_name="resnet50", weights=None, norm_layer=nn.BatchNorm2d, trainable_layers=5,
            returned_layers=[2, 3, 4], extra_blocks=LastLevelP6P7(256, 256))
        self.head = RetinaNetHead(256, 9, classes)

    def forward(self, image):
        found = self.head(list(self.backbone(image).values()))
        return torch.cat([found["cls_logits"], found["bbox_regression"]], -1)


class ResidualUNet(nn.Module):
    """A U-Net whose way down is ResNet-34: five levels, nearest neighbours up."""

    def __init__(self, classes: int = 12):
        super().__init__()
        resnet = torchvision.models.resnet34(weights=None)
        self.down = nn.ModuleList([
            nn.Sequential(resnet.conv1, resnet.bn1, resnet.relu), nn.Sequential(resnet.maxpool, resnet.layer1),
            resnet.layer2, resnet.layer3, resnet.layer4])
        skips, widths = (256, 128, 64, 64, 0), (256, 128, 64, 32, 16)
        self.up = nn.ModuleList(
            _double_conv(below + skip, width) for below, skip, width in zip((512, *widths), skips, widths))
        self.larger = nn.Upsample(scale_factor=2)
        self.head = nn.Conv2d(widths[-1], classes, 3, padding=1)

    def forward(self, image):
        x, skips = image, []
        for block in self.down:
            x = block(x)
            skips.append(x)
        skips.pop()
        for block in self.up:
            x = self.larger(x)
            x = block(torch.cat([x, skips.pop()], 1) if skips else x)
        return self.head(x)


class _VoiceBlock(nn.Module):
    """Eight groups of channels, each convolved together with what came of the one before, and channels weighed."""

    def __init__(self, width: int, dilation: int, groups: int = 8):
        super().__init__()
        self.groups, part = groups, width // groups
        self.first, self.last = self._layer(width, width), self._layer(width, width)
        self.parts = nn.ModuleList(self._layer(part, part, 3, dilation) for _ in range(groups - 1))
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool1d(1), nn.Conv1d(width, 128, 1), nn.ReLU(), nn.Conv1d(128, width, 1), nn.Sigmoid())

    @staticmethod
    def _layer(inputs: int, outputs: int, kernel: int = 1, dilation: int = 1) -> nn.Sequential:
        return nn.Sequential(nn.Conv1d(inputs, outputs, kernel, padding=kernel // 2 * dilation, dilation=dilation),
                             nn.ReLU(), nn.BatchNorm1d(outputs))

    def forward(self, x):
        first, *others = self.first(x).chunk(self.groups, 1)
        done = [first]
        for part, layer in zip(others, self.parts):
            done.append(layer(part if len(done) == 1 else part + done[-1]))
        y = self.last(torch.cat(done, 1))
        return x + y * self.weigh(y)


class VoiceNetwork(nn.Module):
    """ECAPA-TDNN: who speaks, by convolutions over time and a mean and deviation that attention weighs."""

    def __init__(self, bands: int = 80, width: int = 512, voices: int = 1211):
        super().__init__()
        self.first = nn.Sequential(nn.Conv1d(bands, width, 5, padding=2), nn.ReLU(), nn.BatchNorm1d(width))
        self.blocks = nn.ModuleList(_VoiceBlock(width, dilation) for dilation in (2, 3, 4))
        self.join = nn.Sequential(nn.Conv1d(3 * width, 1536, 1), nn.ReLU())
        self.attend = nn.Sequential(nn.Conv1d(3 * 1536, 128, 1), nn.ReLU(), nn.BatchNorm1d(128), nn.Tanh(),
                                    nn.Conv1d(128, 1536, 1), nn.Softmax(-1))
        self.head = nn.Sequential(nn.BatchNorm1d(2 * 1536), nn.Linear(2 * 1536, 192), nn.BatchNorm1d(192),
                                  nn.Linear(192, voices))

    def forward(self, frames):
        x = self.first(frames.transpose(1, 2))
        found = []
        for block in self.blocks:
            x = block(x)
            found.append(x)
        x = self.join(torch.cat(found, 1))
        mean, deviation = x.mean(2, keepdim=True), x.var(2, keepdim=True).clamp(min=1e-4).sqrt()
        weights = self.attend(torch.cat([x, mean.expand_as(x), deviation.expand_as(x)], 1))
        mean = (weights * x).sum(2)
        deviation = ((weights * x * x).sum(2) - mean * mean).clamp(min=1e-4).sqrt()
        return self.head(torch.cat([mean, deviation], 1))


class _InceptionBlock(nn.Module):
    """Three long kernels and a maximum, side by side."""

    def __init__(self, inputs: int, filters: int):
        super().__init__()
        self.narrow = nn.Conv1d(inputs, filters, 1, bias=False)
        self.long = nn.ModuleList(
            nn.Conv1d(filters, filters, kernel, padding=kernel // 2, bias=False) for kernel in (39, 19, 9))
        self.most = nn.Sequential(nn.MaxPool1d(3, 1, 1), nn.Conv1d(inputs, filters, 1, bias=False))
        self.norm = nn.BatchNorm1d(4 * filters)

    def forward(self, x):
        narrow = self.narrow(x)
        return torch.relu(self.norm(torch.cat([*(conv(narrow) for conv in self.long), self.most(x)], 1)))


class InceptionTime(nn.Module):
    """Heartbeats of twelve leads into classes: two residual blocks of three inception blocks."""

    def __init__(self, leads: int = 12, filters: int = 32, classes: int = 5):
        super().__init__()
        width = 4 * filters
        self.blocks = nn.ModuleList(
            nn.Sequential(_InceptionBlock(inputs, filters), _InceptionBlock(width, filters),
                          _InceptionBlock(width, filters)) for inputs in (leads, width))
        self.shortcuts = nn.ModuleList(
            nn.Sequential(nn.Conv1d(inputs, width, 1, bias=False), nn.BatchNorm1d(width)) for inputs in (leads, width))
        self.head = nn.Linear(width, classes)

    def forward(self, series):
        x = series
        for block, shortcut in zip(self.blocks, self.shortcuts):
            x = torch.relu(block(x) + shortcut(x))
        return self.head(x.mean(2))


class _TimedBlock(nn.Module):
    """Two convolutions after group norms, with what time it is added between them."""

    def __init__(self, inputs: int, outputs: int, times: int):
        super().__init__()
        self.first = nn.Sequential(nn.GroupNorm(32, inputs), nn.SiLU(), nn.Conv2d(inputs, outputs, 3, padding=1))
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(times, outputs))
        self.second = nn.Sequential(
            nn.GroupNorm(32, outputs), nn.SiLU(), nn.Dropout(0.1), nn.Conv2d(outputs, outputs, 3, padding=1))
        self.shortcut = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time):
        y = self.first(x) + self.time(time)[:, :, None, None]
        return self.shortcut(x) + self.second(y)


class _AttentionOverPlaces(nn.Module):
    """One head of attention over the places of an image."""

    def __init__(self, width: int):
        super().__init__()
        self.norm = nn.GroupNorm(32, width)
        self.qkv, self.out = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(width, width, 1)

    def forward(self, x):
        q, k, v = self.qkv(self.norm(x)).flatten(2).transpose(1, 2).chunk(3, -1)
        y = nn.functional.scaled_dot_product_attention(q.unsqueeze(1), k.unsqueeze(1), v.unsqueeze(1)).squeeze(1)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


class DiffusionUNet(nn.Module):
    """The noise of a small image, by a U-Net with group norms that is told how far the noise has gone."""

    def __init__(self, width: int = 128):
        super().__init__()
        self.width, times = width, 4 * width
        self.time = nn.Sequential(nn.Linear(width, times), nn.SiLU(), nn.Linear(times, times))
        self.first = nn.Conv2d(3, width, 3, padding=1)
        widths = (width, 2 * width, 2 * width)
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        self.smaller, self.larger = nn.ModuleList(), nn.ModuleList()
        skips, last = [width], width
        for level, outputs in enumerate(widths):
            for _ in range(2):
                self.down.append(self._level(last, outputs, times, level))
                skips.append(last := outputs)
            if level < 2:
                self.smaller.append(nn.Conv2d(outputs, outputs, 3, 2, 1))
                skips.append(outputs)
        self.middle = nn.ModuleList([self._level(last, last, times, 1), self._level(last, last, times, 0)])
        for level, outputs in reversed(list(enumerate(widths))):
            for _ in range(3):
                self.up.append(self._level(last + skips.pop(), outputs, times, level))
                last = outputs
            if level:
                self.larger.append(nn.Sequential(nn.Upsample(scale_factor=2), nn.Conv2d(last, last, 3, padding=1)))
        self.head = nn.Sequential(nn.GroupNorm(32, last), nn.SiLU(), nn.Conv2d(last, 3, 3, padding=1))

    @staticmethod
    def _level(inputs: int, outputs: int, times: int, level: int) -> nn.ModuleList:
        """Attention at half of the sides only, as it is there that most have it."""
        return nn.ModuleList(
            [_TimedBlock(inputs, outputs, times), _AttentionOverPlaces(outputs) if level == 1 else nn.Identity()])

    def forward(self, image, time):
        half = torch.arange(self.width // 2, device=image.device) * (-math.log(10000) / (self.width // 2 - 1))
        angles = time[:, None] * torch.exp(half)
        told = self.time(torch.cat([angles.sin(), angles.cos()], -1))
        x = self.first(image)
        skips = [x]
        for index, (block, attend) in enumerate(self.down):
            x = attend(block(x, told))
            skips.append(x)
            if index in (1, 3):
                x = self.smaller[index // 2](x)
                skips.append(x)
        for block, attend in self.middle:
            x = attend(block(x, told))
        for index, (block, attend) in enumerate(self.up):
            x = attend(block(torch.cat([x, skips.pop()], 1), told))
            if index in (2, 5):
                x = self.larger[index // 3](x)
        return self.head(x)


class NameTagger(nn.Module):
    """A tag for each word by an LSTM both ways, which sees the word and what another made of its letters."""

    def __init__(self, words: int = 24000, letters: int = 100, hidden: int = 512, tags: int = 18):
        super().__init__()
        self.words, self.letters = nn.Embedding(words, 200), nn.Embedding(letters, 50)
        self.spelling = nn.LSTM(50, 64, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.5)
        self.lstm = nn.LSTM(200 + 2 * 64, hidden, 2, dropout=0.3, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, tags)

    def forward(self, tokens, letters):
        _, (last, _) = self.spelling(self.letters(letters.flatten(0, 1)))
        spelled = torch.cat([last[0], last[1]], -1).unflatten(0, tokens.shape)
        read = self.lstm(self.drop(torch.cat([self.words(tokens), spelled], -1)))[0]
        return self.head(self.drop(read))


class DeepTranslator(nn.Module):
    """GNMT with four layers of 1024 on both sides, the first one that reads goes both ways, and residuals above the
    second; each layer that writes but the first sees what the first one's attention found."""

    def __init__(self, words: int = 24000, width: int = 1024, layers: int = 4):
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.both_ways = nn.LSTM(width, width // 2, batch_first=True, bidirectional=True)
        self.readers = nn.ModuleList(nn.LSTM(width, width, batch_first=True) for _ in range(layers - 1))
        self.asker = nn.LSTM(width, width, batch_first=True)
        self.query = nn.Linear(width, width, bias=False)
        self.writers = nn.ModuleList(nn.LSTM(2 * width, width, batch_first=True) for _ in range(layers - 1))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(width, words)

    def forward(self, tokens, said):
        x = self.both_ways(self.drop(self.source(tokens)))[0]
        for level, layer in enumerate(self.readers):
            y = layer(self.drop(x))[0]
            x = x + y if level else y
        written = self.asker(self.drop(self.target(said)))[0]
        seen = torch.softmax(self.query(written) @ x.transpose(1, 2), -1) @ x
        for level, layer in enumerate(self.writers):
            y = layer(self.drop(torch.cat([written, seen], -1)))[0]
            written = written + y if level else y
        return self.head(written)


class AwdLstm(nn.Module):
    """Three LSTM layers of 1152, 1152 and 400, dropout that is the same at all places of a text, and one table of words
    for reading and for telling. Without the dropout of weights, which ordinary layers do not have."""

    def __init__(self, words: int = 30000, width: int = 400, hidden: int = 1152):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(
            nn.LSTM(a, b, batch_first=True) for a, b in ((width, hidden), (hidden, hidden), (hidden, width)))
        self.drop = nn.Dropout(0.25)
        self.bias = nn.Parameter(torch.zeros(words))

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x * self.drop(torch.ones_like(x[:, :1])))[0]
        x = x * self.drop(torch.ones_like(x[:, :1]))
        return nn.functional.linear(x, self.embedding.weight, self.bias)


class Unmix(nn.Module):
    """Open-Unmix: one instrument's part of a stereo spectrum, by three LSTM layers both ways."""

    def __init__(self, bins: int = 2049, heard: int = 1487, width: int = 512):
        super().__init__()
        self.heard = heard
        self.shift, self.scale = nn.Parameter(torch.zeros(heard)), nn.Parameter(torch.ones(heard))
        self.out_shift, self.out_scale = nn.Parameter(torch.ones(bins)), nn.Parameter(torch.ones(bins))
        self.first, self.first_norm = nn.Linear(2 * heard, width, bias=False), nn.BatchNorm1d(width)
        self.lstm = nn.LSTM(width, width // 2, 3, dropout=0.4, batch_first=True, bidirectional=True)
        self.second, self.second_norm = nn.Linear(2 * width, width, bias=False), nn.BatchNorm1d(width)
        self.third, self.third_norm = nn.Linear(width, 2 * bins, bias=False), nn.BatchNorm1d(2 * bins)

    def forward(self, spectrum):
        batch, length, channels, bins = spectrum.shape
        x = (spectrum[..., :self.heard] + self.shift) * self.scale
        x = torch.tanh(self.first_norm(self.first(x.reshape(batch * length, -1))))
        x = x.view(batch, length, -1)
        x = torch.cat([x, self.lstm(x)[0]], -1).flatten(0, 1)
        x = torch.relu(self.second_norm(self.second(x)))
        x = self.third_norm(self.third(x)).view(batch, length, channels, bins)
        return torch.relu(x * self.out_scale + self.out_shift) * spectrum


class GruForecaster(nn.Module):
    """Three GRU layers read what was, three others go on from their states with what the calendar tells."""

    def __init__(self, figures: int = 32, known: int = 8, width: int = 256):
        super().__init__()
        self.reader = nn.GRU(figures, width, 3, dropout=0.1, batch_first=True)
        self.writer = nn.GRU(known, width, 3, dropout=0.1, batch_first=True)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, past, calendar):
        return self.head(self.writer(calendar, self.reader(past)[1])[0]).squeeze(-1)
