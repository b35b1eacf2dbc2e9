"""What trains here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import torch

CPU_CACHE_BYTES = 32 << 20


def chosen_device() -> torch.device:
    """The accelerator where there is one, unless $AMPERE_DEVICE says otherwise."""
    wanted = os.environ.get("AMPERE_DEVICE", "")
    if wanted:
        return torch.device("cuda:0" if wanted == "cuda" else wanted)
    return torch.device("cuda:0" if torch.cuda.is_available() else "cpu")


def cache_bytes(device: torch.device) -> int:
    if device.type == "cuda":
        return int(getattr(torch.cuda.get_device_properties(device), "L2_cache_size", 0)) or 64 << 20
    return CPU_CACHE_BYTES


def free_bytes(device: torch.device) -> int:
    return torch.cuda.mem_get_info(device)[0] if device.type == "cuda" else memory("MemAvailable")


def total_bytes() -> int:
    return memory("MemTotal")


def memory(line: str) -> int:
    found = next(text for text in Path("/proc/meminfo").read_text().splitlines() if text.startswith(line))
    return int(found.split()[1]) * 1024


def description(device: torch.device) -> dict[str, Any]:
    framework = f"pytorch {torch.__version__}"
    if device.type == "cuda":
        about = torch.cuda.get_device_properties(device)
        return {
            "name": about.name,
            "type": "cuda",
            "cores": about.multi_processor_count,
            "memory_bytes": about.total_memory,
            "driver": driver_version(),
            "framework": framework,
            "blas": f"CUDA {torch.version.cuda}, cuDNN {torch.backends.cudnn.version()}",
            "threads": torch.get_num_threads(),
            "allocator": "cuda",
            "unit": str(getattr(about, "uuid", "")),
        }
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "name": names[0] if names else "cpu",
        "type": "cpu",
        "cores": os.cpu_count() or 1,
        **cores_and_governor(),
        "memory_bytes": total_bytes(),
        "driver": "",
        "framework": framework,
        "blas": blas(),
        "threads": torch.get_num_threads(),
        "allocator": "glibc",
    }


def cores_and_governor() -> dict[str, str]:
    """Which cores this process may run on, alike ones together, and what sets their clocks; empty where the kernel
    tells nothing. As src/meter/cpu_cores.cc has it."""
    root = Path(os.environ.get("AMPERE_SYSFS_ROOT") or "/sys") / "devices/system/cpu"

    def number(path: Path, unit: int = 1) -> int:
        try:
            return round(int(path.read_text()) / unit)
        except (OSError, ValueError):
            return 0

    kinds: dict[tuple[int, int], int] = {}
    governors = set()
    for core in sorted(os.sched_getaffinity(0)):
        folder = root / f"cpu{core}"
        kind = number(folder / "cpufreq/cpuinfo_max_freq", 1000), number(folder / "cpu_capacity")
        if any(kind):
            kinds[kind] = kinds.get(kind, 0) + 1
        try:
            governors.add((folder / "cpufreq/scaling_governor").read_text().strip())
        except OSError:
            pass
    words = [
        f"{count}x" + (f" {clock} MHz" if clock else "") + (f" capacity {capacity}" if capacity else "")
        for (clock, capacity), count in sorted(kinds.items(), reverse=True)
    ]
    return {"core_kinds": ", ".join(words), "governor": ", ".join(sorted(governors))}


def driver_version() -> str:
    try:
        words = Path("/proc/driver/nvidia/version").read_text().split()
        return next((w for w in words if w[:1].isdigit() and "." in w), "")
    except OSError:
        return ""


def blas() -> str:
    """The matrix library that is really loaded."""
    loaded = {Path(line.split()[-1]).name for line in Path("/proc/self/maps").read_text().splitlines() if ".so" in line}
    found = sorted(name for name in loaded if ("openblas" in name or "libmkl" in name) and "cublas" not in name)
    return ", ".join(["mkl"] * torch.backends.mkl.is_available() + found)
