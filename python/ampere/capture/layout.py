"""Whether torch.compile would lay images out channels last, which it decides once for all that it is given.

A region has only some of a model's convolutions, so the compiler would decide otherwise for it. Therefore it is decided
here, over all of them, by the rules that the compiler has for training on a GPU: not where convolutions are few, where one
has groups of several channels, where one of larger kernels halves its channels or more, or where all have few channels.
On a CPU the compiler does it always.
"""

from __future__ import annotations

from .parts import is_compiled
from .step import Step

CONVOLUTION = "aten::convolution"
FEW = 300  # calls for each convolution
SMALL = 64  # channels


def channels_last(step: Step) -> bool | None:
    """None: there are no convolutions, so it does not matter."""
    compiled = [call for call in step.calls if is_compiled(call)]
    convolutions = [call for call in compiled if call.op == CONVOLUTION]
    if not convolutions:
        return None
    if len(compiled) >= FEW * len(convolutions):
        return False
    small = 0
    for call in convolutions:
        out, into, *kernel = step.tensors[call.args[1]["t"]].sizes
        groups = call.args[-1]
        if (groups > 1 and into > 1) or (2 * out <= into and kernel[0] > 1):
            return False
        small += out <= SMALL and into <= SMALL
    return small < len(convolutions)
