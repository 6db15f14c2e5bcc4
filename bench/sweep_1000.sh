#!/usr/bin/env bash
# A 1,000-point sweep of one ResNet-50 trace on two threads; asked are 10 seconds.
#
#   bench/sweep_1000.sh [THREADS]     default 2; after ./tandem bench
set -euo pipefail
root=$(realpath -- "$(dirname -- "$0")/..")
program=${TANDEM_BUILD_DIR:-$root/build}/bin/tandem
[[ -x $program ]] || { echo "there is no $program: run ./tandem bench first" >&2; exit 2; }
export TANDEM_ROOT=${TANDEM_ROOT:-$root}
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
time "$program" sweep "$root/configs/experiments/resnet50_grid.json" --out "$folder" --quiet \
  --threads "${1:-2}"
echo "$(wc -l <"$folder/points.jsonl") points"
