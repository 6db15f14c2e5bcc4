#!/usr/bin/env bash
# Sweeps that mpirun starts on 4 ranks: the same bytes as one process, and what a rank that dies costs.
# ranks_test.sh PROGRAM; ctest sets TANDEM_ROOT. 77: skipped.
set -uo pipefail
program=$(realpath -- "$1")
root=${TANDEM_ROOT:?the source tree}
command -v mpirun >/dev/null || { echo 'skipped: there is no mpirun (package openmpi-bin)'; exit 77; }
[[ -e ${program%/*}/../lib/tandem/tandem_mpi.so ]] ||
  { echo 'skipped: tandem was built without Boost.MPI (package libboost-mpi-dev)'; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
cd -- "$scratch"
failures=0
fail() {
  printf 'FAILED: %s\n' "$*"
  head -n 5 out err 2>/dev/null | sed 's/^/    /'
  failures=$((failures + 1))
}

# on_ranks STATUS [OPTION OF MPIRUN...] -- ARGS...: 4 ranks with a thread each; the file pid.N has the process of rank N.
on_ranks() {
  local expected=$1 options=() status=0
  shift
  while [[ $1 != -- ]]; do options+=("$1"); shift; done
  shift
  last="mpirun ${options[*]} tandem $*"
  timeout 120 mpirun -n 4 --oversubscribe --allow-run-as-root "${options[@]}" \
    sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$@"' sh "$program" "$@" >out 2>err </dev/null || status=$?
  ((status != 124)) || fail "$last: does not end"
  [[ $expected == any ]] || ((status == expected)) || fail "$last: exit $status, expected $expected"
}
same() {
  local file
  for file in sweep.csv sweep.json report.html throughput.svg; do
    cmp -s "$1/$file" "$2/$file" || fail "$last: $file is not that of one process"
  done
}
# kill_rank FOLDER: rank 2, while all are at work.
kill_rank() {
  for _ in $(seq 6000); do
    [[ $(wc -l 2>/dev/null <"$1/points.jsonl") -gt 100 ]] && break
    sleep 0.01
  done
  kill -9 "$(<pid.2)"
}

trace=$root/validation/captures/h200_2026-11-21_networks_holdout/traces/resnet50-infer-fp32-eager-b8.json.zst
printf '{"schema": "tandem.experiment/1", "trace": "%s", "axes": {"batch": [%s], "mode": ["as-traced", "cuda-graph"]}}' \
  "$trace" "$(seq -s, 1 200)" >grid.json

"$program" sweep grid.json --out one --threads 1 >one.txt 2>err || fail 'one process'
"$program" sweep grid.json --out many --threads 8 --quiet || fail 'one process, 8 threads'
last='8 threads'; same many one

# The same bytes, and rank 0 alone prints.
on_ranks 0 -- sweep grid.json --out ranks --threads 1
same ranks one
sed 's/\<one\>/ranks/' one.txt | cmp -s - out || fail "$last: prints something else than one process"
[[ -s err ]] && fail "$last: writes to standard error"
[[ $(sort -u ranks/points.jsonl | wc -l) == 400 && $(wc -l <ranks/points.jsonl) == 400 ]] || fail "$last: not every point once"
on_ranks 0 -- sweep --help; [[ $(grep -c '^usage' out) == 1 ]] || fail "$last: not one help"

# A point that fails ends no rank; wrong input is said once.
printf '{"schema": "tandem.experiment/1", "trace": "%s", "axes": {"batch": [8, 100000000, 16]}}' "$trace" >failing.json
on_ranks 1 -- sweep failing.json --out failing; grep -q 'failed points: 1' out || fail "$last: not one failed point"
on_ranks 2 -- sweep missing.json; [[ $(grep -c '^tandem: missing.json: found' err) == 1 ]] || fail "$last: not one error"
on_ranks 2 -- sweep - --mode as-traced; grep -q 'beside mpirun' err || fail "$last: reads a pipe"

# mpirun ends all when a rank dies: what was finished is kept, and a rerun runs the rest.
(kill_rank killed) & on_ranks any -- sweep grid.json --out killed --threads 1 --quiet; wait
[[ -e killed/sweep.csv ]] && fail "$last: finished before it was killed"
kept=$(wc -l <killed/points.jsonl)
on_ranks 0 -- sweep grid.json --out killed --threads 1 --quiet
same killed one
((kept > 100 && kept < 400)) || fail "$last: $kept points were kept"

# With --enable-recovery the others go on: the rank costs the point that it was running.
# Where rank 2 had not begun yet it costs nothing: then once more.
for _ in 1 2 3; do
  rm -rf lost
  (kill_rank lost) & on_ranks any --enable-recovery -- sweep grid.json --out lost --threads 1; wait
  grep -q 'tandem: rank 2 is lost' err && break
done
grep -q 'tandem: rank 2 is lost' err || fail "$last: nobody misses rank 2"
grep -q 'failed points: 1' out || fail "$last: not one failed point"
on_ranks 0 -- sweep grid.json --out lost --threads 1 --quiet
same lost one
[[ $(wc -l <lost/points.jsonl) == 400 ]] || fail "$last: $(wc -l <lost/points.jsonl) points instead of 400"

# Without the library mpirun is refused, and one process needs none.
mkdir -p elsewhere/bin; cp "$program" elsewhere/bin/tandem; program=$scratch/elsewhere/bin/tandem
TANDEM_ROOT=$root "$program" sweep failing.json --out failing --quiet; (($? == 1)) || fail 'one process without the library'
on_ranks any -- sweep failing.json --out failing; grep -q 'libboost-mpi-dev' err || fail "$last: does not say what is missing"

((failures == 0)) || { echo "$failures failures"; exit 1; }
echo 'ranks: as documented'
