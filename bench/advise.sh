#!/usr/bin/env bash
# Advice on one training step of ResNet-50 and of BERT, ten times each; asked is less than a second.
#
#   bench/advise.sh [THREADS]     default 2; after ./tandem bench
set -euo pipefail
root=$(realpath -- "$(dirname -- "$0")/..")
program=${TANDEM_BUILD_DIR:-$root/build}/bin/tandem
[[ -x $program ]] || { echo "there is no $program: run ./tandem bench first" >&2; exit 2; }
export TANDEM_ROOT=${TANDEM_ROOT:-$root}
for trace in resnet50-train-amp-eager-b32 bert_base-train-amp-eager-b16; do
  path=$root/validation/captures/h200_2026-11-20_fit/traces/$trace.json.zst
  times=()
  for _ in {1..10}; do
    begin=$EPOCHREALTIME
    "$program" advise "$path" --threads "${1:-2}" --quiet
    end=$EPOCHREALTIME
    times+=($(((${end/[.,]/} - ${begin/[.,]/}) / 1000)))
  done
  mapfile -t sorted < <(printf '%s\n' "${times[@]}" | sort -n)
  echo "$trace: median ${sorted[5]} ms, ${sorted[0]} to ${sorted[9]} ms"
done
