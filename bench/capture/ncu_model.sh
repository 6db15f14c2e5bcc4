#!/usr/bin/env bash
# Counters of every kernel of one iteration of a workload:  ncu_model.sh OUT CAPTURE_OPTIONS...
#   ncu_model.sh out --model resnet50 --task train --precision amp --batch 32
# writes OUT/NAME.csv.gz. CACHE=none leaves the caches warm (default: all, flushed before each pass).
# ONLY_METRICS asks for few counters: those of one pass need no replay, so that warm caches are those of the
# step itself.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/ncu_metrics.sh"

out=$1
shift
mkdir -p "$out"
choose_metrics
METRICS=${ONLY_METRICS:-$METRICS}
csv=$out/running.csv
log=$out/running.log
capture() { profile "${CACHE:-all}" "$csv" "$PYTHON" "$here/capture.py" --one-iteration "$@" | tee "$log"; }
rows() { if [ -f "$csv" ]; then grep -c '^"[0-9]' "$csv"; else echo 0; fi; }

capture "$@"
if [ "$(rows)" -eq 0 ]; then
    METRICS=$SAFE_METRICS
    capture "$@"
fi
name=$(sed -n 's/^OK one iteration of //p' "$log" | tail -n 1)
if [ "$(rows)" -gt 0 ] && [ -n "$name" ]; then
    gzip -9 -c "$csv" > "$out/$name.csv.gz"
    echo "OK $name: $(rows) kernels"
    rm "$csv" "$log"
else
    echo "FAIL: no counters"
    head -n 20 "$csv"
    exit 1
fi
