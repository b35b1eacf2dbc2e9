"""The worker that trains with the user's own PyTorch: python -m ampere.worker."""

from __future__ import annotations

import json
import os
import sys

OLDEST_TORCH = (2, 4)


def require_torch() -> None:
    try:
        import torch
    except ImportError:
        sys.exit("ampere.worker: there is no PyTorch in this environment; pip install torch")
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if version < OLDEST_TORCH:
        sys.exit(f"ampere.worker: PyTorch {torch.__version__} is too old, 2.4 is the oldest that will do; "
                 "for older ones there is the C++ worker, ampere-worker")


def main() -> None:
    # Standard output belongs to the protocol alone: whatever a library prints goes to standard error.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when the library loads, so before torch
    require_torch()
    from .session import MAX_LINE, Session

    session = Session()
    while line := sys.stdin.buffer.readline(MAX_LINE + 2):
        if not line.endswith(b"\n"):
            while (rest := sys.stdin.buffer.readline(MAX_LINE)) and not rest.endswith(b"\n"):
                pass
        if not line.strip():
            continue
        response, last = session.answer(line.strip())
        out.write(json.dumps(response) + "\n")
        if last:
            return


if __name__ == "__main__":
    main()
