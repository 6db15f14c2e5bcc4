#!/usr/bin/env bash
# Counters of single operators:  ncu_ops.sh OUT MINUTES [GROUPS [CACHE_MODES]]
#   GROUPS       names of ops_cases.py with commas between, default all
#   CACHE_MODES  "all" flushes the caches before each pass, "none" leaves them warm; default "all none"
# Leaves in OUT, for each cache mode: ops-MODE.raw.csv.gz, ops-MODE.jsonl (the operators in launch order)
# and ops-MODE.table.csv.gz (one row a kernel). Stops starting operators when MINUTES are over.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/ncu_metrics.sh"

out=$1
minutes=$2
groups=${3:-all}
modes=${4:-all none}
START_COST=40     # seconds to start Python under ncu and to print the results

rows() { if [ -f "$1" ]; then grep -c '^"[0-9]' "$1"; else echo 0; fi; }

# sweep MODE STEM GROUPS SECONDS OPTIONS...
sweep() {
    local mode=$1 stem=$2 groups=$3 seconds=$4
    shift 4
    timeout -k 10 $((seconds + 90)) bash -c '. "$0"; METRICS=$1; SECTIONS=$2; shift 2; profile "$@"' \
        "$here/ncu_metrics.sh" "$METRICS" "$SECTIONS" "$mode" "$stem.csv" \
        "$PYTHON" "$here/ops_sweep.py" --ncu --group "$groups" --time-limit "$seconds" --sidecar "$stem.jsonl" "$@"
    grep -m 3 '==ERROR==' "$stem.csv" 2>/dev/null
}

# A few operators first: which metrics are accepted, and do NVTX ranges reach the table?
try_out() {
    local stem=$out/smoke
    sweep all "$stem" smoke 60 --markers
    if [ "$(rows "$stem.csv")" -eq 0 ]; then
        echo "no rows; again with the safe metrics only"
        METRICS=$SAFE_METRICS
        sweep all "$stem" smoke 60 --markers
    fi
    if [ "$(rows "$stem.csv")" -eq 0 ]; then
        echo "no rows; again without sections"
        SECTIONS=""
        sweep all "$stem" smoke 60 --markers
    fi
    if "$PYTHON" "$here/reduce.py" --check-nvtx --sidecar "$stem.jsonl" --ncu "$stem.csv"; then
        markers=""
    else
        markers="--markers"
    fi
    echo "smoke test: $(rows "$stem.csv") kernels, $SECONDS s; markers: ${markers:-not needed}"
}

mkdir -p "$out"
choose_metrics
try_out
if [ "$(rows "$out/smoke.csv")" -eq 0 ]; then
    echo "FAIL: ncu gives no counters here"
    head -n 20 "$out/smoke.csv"
    exit 1
fi
set -- $modes
while [ $# -gt 0 ]; do
    seconds=$(( (minutes * 60 - SECONDS) / $# - START_COST ))
    stem=$out/ops-$1
    if [ "$seconds" -gt 10 ]; then
        sweep "$1" "$stem" "$groups" "$seconds" $markers
        "$PYTHON" "$here/reduce.py" --sidecar "$stem.jsonl" --ncu "$stem.csv" --out "$stem.table.csv.gz"
        gzip -9 -c "$stem.csv" > "$stem.raw.csv.gz" && rm "$stem.csv"
    else
        echo "SKIP cache mode $1: no time left"
    fi
    shift
done
echo "done after $SECONDS s"
