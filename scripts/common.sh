# shellcheck shell=bash
# What the scripts share. Sourced, never run.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"

# A heading on standard error, so that it shows when standard output goes to a file.
step() { printf '\n== %s\n' "$*" >&2; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# Compilers to run at once: one per core, and 2 GB of memory for each, which LibTorch's headers need.
jobs_that_fit() {
  local cores memory_kb
  cores=$(nproc)
  memory_kb=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null || echo 0)
  local by_memory=$((memory_kb / 2000000))
  ((by_memory >= 1)) || by_memory=1
  echo $((by_memory < cores ? by_memory : cores))
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
  local preset=$1
  shift
  step "configure ($preset)"
  cmake --preset "$preset" -Wno-dev >&2
  step "build ($preset)"
  cmake --build --preset "$preset" --parallel "$(jobs_that_fit)" ${1:+--target "$@"} >&2
}
