"""Attention masks of transformers while a step is being captured.

Before each forward pass transformers asks the device whether the batch needs a mask at all, and leaves it out where not,
which lets attention take quicker kernels. A stream that is being captured cannot be asked. transformers knows, and builds
the mask then; but a replay is to be the step that people run. So the answers of the steps before are remembered, and where
all of them were "no mask", the captured step is told the same.
"""

import sys

MAKERS = "transformers.masking_utils"


class RememberedMasks:
    """While it is entered, the functions that make masks are watched; with `giving`, they are answered for."""

    def __init__(self):
        self.giving = False
        self._needed: dict[tuple[str, str], bool] = {}  # by module and function: whether any step had a mask
        self._replaced: list[tuple[object, str, object]] = []

    def __enter__(self) -> "RememberedMasks":
        for module in [m for name, m in sys.modules.items() if name.startswith("transformers.") and m is not None]:
            for name, made in list(vars(module).items()):
                if name.startswith("create_") and getattr(made, "__module__", None) == MAKERS:
                    self._replaced.append((module, name, made))
                    setattr(module, name, self._watched((module.__name__, name), made))
        return self

    def __exit__(self, *_: object) -> None:
        for module, name, made in self._replaced:
            setattr(module, name, made)
        self._replaced.clear()

    def _watched(self, key: tuple[str, str], made):
        def answer(*args, **options):
            if self.giving and self._needed.get(key) is False:
                return None
            mask = made(*args, **options)
            if not self.giving:
                self._needed[key] = self._needed.get(key, False) or mask is not None
            return mask

        return answer
