#!/usr/bin/env bash
# HolisticTraceAnalysis (PyPI) and tandem on the same traces: time, memory, what each answers; the table of docs/peers.md.
#
#   bench/peers.sh [TRACE...]     default: three captures of this repository; after ./tandem
set -euo pipefail
root=$(realpath -- "$(dirname -- "$0")/..")
build=${TANDEM_BUILD_DIR:-$root/build}
source "$root/tests/python/environment.sh"
# Its critical path needs a pandas before 3.
environment python3 "$build/peers" HolisticTraceAnalysis==0.5.0 'pandas<3'
captures=$root/validation/captures/h200_2026-11-20_fit/traces
traces=("$@")
((${#traces[@]})) || traces=("$captures"/{resnet50-train-amp-eager-b32,bert_base-train-fp32-eager-b16}.json.zst
  "$root"/validation/captures/a100_2024-05-23_hta_holdout/traces/a100_80g_negative_queue_rank0.json.zst)
export TANDEM_ROOT=$root PYTHONWARNINGS=ignore PYTHONDONTWRITEBYTECODE=1
exec "$build/peers/bin/python" "$root/bench/peers/compare.py" "$build/peers/bin/python" "$build/bin/tandem" "${traces[@]}"
