#!/usr/bin/env bash
# What sweeps leave behind when they are killed, meet each other, or find no room: stores_test.sh PROGRAM; ctest sets
# TANDEM_ROOT.
set -uo pipefail
program=$(realpath -- "$1")
root=${TANDEM_ROOT:?the source tree}
scratch=$(mktemp -d)
trap 'chmod -R u+w -- "$scratch"; rm -rf -- "$scratch"' EXIT
cd -- "$scratch"
failures=0
fail() {
  printf 'FAILED: %s\n' "$*"
  head -n 5 err 2>/dev/null | sed 's/^/    /'
  failures=$((failures + 1))
}
files=(sweep.csv sweep.json report.html throughput.svg)
same() {
  local file
  for file in "${files[@]}"; do cmp -s "$1/$file" whole/"$file" || fail "$2: $file differs"; done
}
trace=$root/tests/golden/replay/tiny.json
experiment() { printf '{"schema": "tandem.experiment/1", "trace": "%s", "axes": {"batch": [%s], "mode": ["as-traced", "cuda-graph"]}}' "$2" "$(seq -s, 1 "$3")" >"$1"; }
loop=$root/validation/captures/h200_2026-11-21_networks_holdout/traces/resnet50-infer-fp32-eager-b8.json.zst
experiment grid.json "$loop" 100
"$program" sweep grid.json --out whole --quiet --threads 1 || fail 'one thread'
"$program" sweep grid.json --out threads --quiet --threads 8 || fail 'eight threads'
same threads 'eight threads'

# Killed at any moment, again and again: each result file is whole or absent.
kills=0
for delay in 0.02 0.1 0.15 0.2 0.25 0.3 0.35 0.4 0.5 0.6; do
  "$program" sweep grid.json --out killed --quiet --threads 2 2>err & victim=$!
  sleep "$delay"
  kill -9 "$victim" 2>/dev/null && kills=$((kills + 1))
  wait "$victim" 2>/dev/null
  for file in "${files[@]}"; do
    [[ ! -e killed/$file ]] || cmp -s "killed/$file" "whole/$file" || fail "killed after $delay s: half of $file"
  done
done
((kills > 0)) || fail 'nothing was killed'
"$program" sweep grid.json --out killed --quiet || fail 'after kills'
same killed "$kills kills"

# A number changed by hand is refused, and said which line; --fresh runs all again.
cp -r killed changed
sed -i '3s/"time_us":/"time_us":1/' changed/points.jsonl
status=0; "$program" sweep grid.json --out changed --quiet 2>err || status=$?
((status == 2)) && grep -q 'changed/points.jsonl:line 3: found content of hash .*, expected hash ' err || fail "a changed point: exit $status"
"$program" sweep grid.json --out changed --quiet --fresh || fail 'a changed point: --fresh'
same changed 'a changed point'

# Two sweeps into one folder: the second is told, the first finishes.
"$program" sweep grid.json --out shared --quiet --threads 1 2>/dev/null & first=$!
for _ in $(seq 200); do [[ -s shared/points.jsonl ]] && break; sleep 0.02; done
for option in '' --fresh; do
  status=0
  "$program" sweep grid.json --out shared --quiet $option 2>err || status=$?
  ((status == 2)) && grep -q 'points.jsonl: found another sweep that writes to it, expected' err ||
    { kill -0 "$first" 2>/dev/null && fail "two sweeps into one folder: exit $status"; }
done
wait "$first" || fail 'the first of two sweeps'
same shared 'two sweeps'

# No room: the error names the file, and once there is room the rest is run. A limit on the size of files stands in for a full
# disk; a device that is always full for points is no file.
(trap '' XFSZ; ulimit -f 8; "$program" sweep grid.json --out full --quiet 2>err); status=$?
((status == 2)) && grep -q 'full/points.jsonl: found File too large, expected room to write' err || fail "no room: exit $status"
for file in "${files[@]}"; do [[ -e full/$file ]] && fail "no room: $file"; done
"$program" sweep grid.json --out full --quiet || fail 'once there is room'
same full 'once there is room'
mkdir device; ln -s /dev/full device/points.jsonl
status=0; timeout 20 "$program" sweep grid.json --out device --quiet 2>err || status=$?
((status == 2)) || fail "points on a device: exit $status"

# A folder that nobody may write to; root may, so it becomes someone else.
mkdir sealed; chmod 555 sealed; chmod 755 .
other=()
((EUID == 0)) && other=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ((EUID != 0)) || "${other[@]}" "$program" --version >/dev/null 2>&1 && "${other[@]}" test -r "$loop"; then
  status=0; "${other[@]}" "$program" sweep "$scratch/grid.json" --out "$scratch/sealed" --quiet 2>err || status=$?
  ((status == 2)) && grep -q 'sealed/points.jsonl: found Permission denied, expected' err || fail "a read-only folder: exit $status"
  status=0; "${other[@]}" "$program" replay "$trace" --quiet --json "$scratch/sealed/r.json" 2>err || status=$?
  ((status == 2)) && [[ -z $(ls sealed) ]] || fail "a result into a read-only folder: exit $status"
else
  echo 'a read-only folder is not tried: another user cannot run the program here'
fi

# Names of input stay names: no folder above, no shell, no formula, no markup.
experiment ...json "$trace" 2
mkdir below; (cd below && "$program" sweep ../...json --quiet) || fail 'an experiment called ".."'
[[ -e below/sweep.csv || -e sweep.csv ]] && fail 'an experiment called ".." writes above its folder'
hostile='=cmd|x!A1 $(touch hit) "q" <b>&'\''.json'
cp "$trace" "$hostile"
"$program" sweep "$hostile" --batch 8,16 --mode as-traced,cuda-graph --out hostile --quiet || fail 'a hostile name'
"$program" replay "$hostile" --quiet --out hostile/replay || fail 'a hostile name'
"$program" replay "$hostile" "$hostile" --quiet --out hostile/two || fail 'two of a hostile name'
[[ $(find hostile/two -name result.json | wc -l) == 2 ]] || fail 'two of a name write over each other'
[[ ! -e hit ]] || fail 'a name was run by a shell'
grep -lE '(^|,)"?=' hostile/*.csv hostile/replay/*.csv && fail 'a name begins a formula'
grep -lF '<b>' hostile/report.html hostile/replay/report.html hostile/*.svg && fail 'a name is markup'
if command -v python3 >/dev/null; then
  python3 - <<'PYTHON' || fail 'JSON, CSV or SVG that others cannot read'
import csv, glob, json, xml.dom.minidom
seen = 0
for path in glob.glob("hostile/**/*.json", recursive=True): json.load(open(path)); seen += 1
for path in glob.glob("hostile/**/*.csv", recursive=True):
    rows = list(csv.reader(open(path))); assert len({len(r) for r in rows}) == 1, path; seen += 1
for path in glob.glob("hostile/*.svg"): xml.dom.minidom.parse(path); seen += 1
assert seen > 8, seen
PYTHON
fi

# The same bytes on one core and on all, of every command that uses several: a small root stands in for all of `validate`.
if command -v taskset >/dev/null; then
  mkdir -p small/validation/cases
  ln -s "$root"/configs "$root"/workloads "$root"/models small/
  ln -s "$root"/validation/captures small/validation/captures
  ln -s "$root"/validation/cases/cuda_graph_gpu.json small/validation/cases/
  core=$(taskset -pc $$ | sed -E 's/.*: ([0-9]+).*/\1/')
  on_cores() {
    local folder=$1; shift
    mkdir "$folder"
    "$@" "$program" replay "$loop" --quiet --out "$folder/replay" || fail "$folder: replay"
    "$@" "$program" run resnet50 --batch 8 --quiet --out "$folder/run" || fail "$folder: run"
    "$@" "$program" advise "$loop" --quiet --json "$folder/advice.json" --report "$folder/advice.html" || fail "$folder: advise"
    "$@" "$program" sweep "$loop" --batch 8,16,32 --gpu h200,a100 --quiet --out "$folder/sweep" || fail "$folder: sweep"
    rm "$folder/sweep/points.jsonl"  # in the order in which they were finished
    TANDEM_ROOT=$scratch/small "$@" "$program" validate --rows --json "$folder/rows.json" >"$folder/rows.txt"
    (($? < 2)) && [[ -s $folder/rows.json ]] || fail "$folder: validate"
  }
  on_cores one_core taskset -c "$core"
  on_cores all_cores env
  diff -rq one_core all_cores || fail 'results depend on the cores'
  [[ $(find one_core -type f | wc -l) -ge 15 ]] || fail 'one core: files are missing'
else
  echo 'no taskset: not tried on one core'
fi

# Several traces: in their order, the same on one thread and many, as each by itself; one that cannot be used stops no other.
traces=("$root"/validation/captures/h200_2026-11-21_networks_holdout/traces/*-infer-*.json.zst)
traces=("${traces[@]:0:4}" "$trace")
: >one_by_one.txt
for one in "${traces[@]}"; do
  [[ -s one_by_one.txt ]] && echo >>one_by_one.txt
  "$program" replay "$one" --allow-data-loss | sed '$d' >>one_by_one.txt
done
for threads in 1 4; do
  "$program" replay "${traces[@]}" --allow-data-loss --threads $threads --json all$threads.json >all$threads.txt 2>err || fail "replay of several, $threads threads"
  "$program" advise "${traces[@]}" --allow-data-loss --threads $threads --json advice$threads.json >advice$threads.txt 2>err || fail "advise of several, $threads threads"
done
cmp -s one_by_one.txt all1.txt || fail 'several traces: not what each by itself gives'
for pair in all.txt all.json advice.txt advice.json; do
  cmp -s "${pair%.*}1.${pair#*.}" "${pair%.*}4.${pair#*.}" || fail "$pair depends on the threads"
done
status=0; "$program" replay missing.json "$trace" --allow-data-loss >out 2>err || status=$?
((status == 2)) && grep -q 'missing.json' err && grep -q 'step time' out || fail 'one missing trace of two'
# Who names two runs is told of diff, unless nothing is to be said or each on its own was asked for.
"$program" replay "$trace" "${traces[0]}" --allow-data-loss >out 2>err || fail 'two runs'
grep -qF "tandem diff $trace ${traces[0]}" out || fail 'two runs: no word of diff'
for option in --each --quiet '--json -'; do
  "$program" replay "$trace" "${traces[0]}" --allow-data-loss $option >out 2>err || fail "two runs $option"
  ! grep -q 'tandem diff' out err || fail "two runs $option: diff named"
done
# Ranks of one run are simulated together unless --each is said; a rank among single runs is told.
rank=$root/validation/captures/h200_2026-11-22_ranks2_holdout/traces/vit_b_16-train-bf16-eager-b16-w2.rank
"$program" replay "${rank}0.json.zst" "${rank}1.json.zst" --allow-data-loss >out 2>err
[[ $(grep -c '^step time' out) == 1 ]] && grep -q '^together' out || fail 'two ranks: not together'
"$program" replay "${rank}0.json.zst" "${rank}1.json.zst" --each --allow-data-loss >out 2>err
[[ $(grep -c '^step time' out) == 2 ]] && ! grep -q '^together' out || fail 'two ranks: not each on its own'
status=0; "$program" replay "$trace" "${rank}1.json.zst" --allow-data-loss >out 2>err || status=$?
((status == 2)) && grep -q 'distributedInfo: found rank 1 of 2, expected no ranks' err && grep -q 'step time' out || fail 'a rank beside a single run'
for option in '--kernels k.csv' '--report r.html'; do
  status=0; "$program" replay "$trace" "$trace" $option 2>err || status=$?
  ((status == 2)) && grep -q 'several traces.*tandem diff A B' err || fail "several traces beside $option"
done

((failures == 0)) || { echo "$failures failures"; exit 1; }
echo "stores: as documented ($kills kills)"
