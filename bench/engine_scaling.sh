#!/usr/bin/env bash
# Engine speed from 10^4 to 10^8 events: time must grow linearly. The largest plan takes 10 GB.
#
#   bench/engine_scaling.sh [LARGEST_KERNELS]     default 50000000; after ./tandem bench
set -euo pipefail
root=$(realpath -- "$(dirname -- "$0")/..")
program=${TANDEM_BUILD_DIR:-$root/build}/bench/host/engine_once
largest=${1:-50000000}
[[ -x $program ]] || { echo "there is no $program: run ./tandem bench first" >&2; exit 2; }

for shape in '1 1' '4 16'; do
  echo "threads and streams: $shape"
  for kernels in 5000 50000 500000 5000000 50000000; do
    ((kernels <= largest)) || break
    # shellcheck disable=SC2086  # two numbers
    "$program" "$kernels" $shape
  done
done
