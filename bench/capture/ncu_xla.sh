#!/usr/bin/env bash
# Counters of the kernels that XLA generates:  ncu_xla.sh OUT SECONDS
# writes OUT/ops-xla.csv.gz (one row a kernel, caches flushed) and OUT/ops-xla.jsonl (see ops_xla.py).
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/ncu_metrics.sh"
mkdir -p "$1"
choose_metrics
"$NCU" --kernel-name "regex:fusion|xor|softmax|transpose|scatter|reduce|select" --clock-control none --cache-control all $SECTIONS --metrics "$METRICS" --csv --page raw --print-units base \
    --log-file "$1/ops-xla.csv" "$PYTHON" "$here/ops_xla.py" --sidecar "$1/ops-xla.jsonl" --time-limit "$2"
grep -c '^"[0-9]' "$1/ops-xla.csv"
gzip -9 "$1/ops-xla.csv"
