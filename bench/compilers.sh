#!/usr/bin/env bash
# Whether clang's tandem gives the same bytes as gcc's: builds the program with clang++ and compares what a few commands write.
#
#   bench/compilers.sh [PROGRAM]     PROGRAM: built already, by another compiler; default: build-clang/, made here
#
# Exit status 1 where a byte differs. TANDEM_BUILD_DIR: where gcc's is (default build/).
set -euo pipefail
root=$(realpath -- "$(dirname -- "$0")/..")
ours=${TANDEM_BUILD_DIR:-$root/build}/bin/tandem
[[ -x $ours ]] || { echo "there is no $ours: run ./tandem --version first" >&2; exit 2; }
other=${1:-$root/build-clang/bin/tandem}
if (($# == 0)); then
  launcher=()
  command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
  cmake -G Ninja -S "$root" -B "$root/build-clang" -DCMAKE_CXX_COMPILER=clang++ -DTANDEM_BUILD_TESTS=OFF -DTANDEM_BUILD_BENCH=OFF \
    -DTANDEM_BUILD_FITS=OFF "${launcher[@]}" >&2
  cmake --build "$root/build-clang" --target tandem_cli >&2
fi
other=$(realpath -- "$other")
export TANDEM_ROOT=${TANDEM_ROOT:-$root}
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT
traces=$root/validation/captures/h200_2026-11-20_fit/traces
train=$traces/resnet50-train-amp-eager-b32.json.zst

# What both run, a line each; files go to the folder where they run.
commands() {
  cat <<END
replay $train --out asked
replay $train --batch 128 --precision fp32 --json batch.json --quiet
replay $train --compile inductor --mode cuda-graph --gpu a100 --json compiled.json --quiet
run resnet50 --gpu h200_sxm --batch 256 --precision amp --json network.json --quiet
run bert_base --gpu v100 --task infer --json bert.json --quiet
advise $train --gpu a100,l40s --json advice.json
check $train --json check.json
sweep $train --batch 16,32,64 --gpu h200,a100,l40s --precision fp32,amp --out grid --quiet
END
}
for program in "$ours" "$other"; do
  folder=$scratch/$([[ $program == "$ours" ]] && echo ours || echo other)
  mkdir -p -- "$folder"
  number=0
  while read -r line; do
    number=$((number + 1))
    # Without quotes: a line holds words.
    (cd -- "$folder" && "$program" $line >"$number.txt")
  done < <(commands)
  rm -f -- "$folder/grid/points.jsonl"  # names the program that ran the points
done
files=$(find "$scratch/ours" -type f | wc -l)
((files > 15)) || { echo "only $files files were written" >&2; exit 2; }
if ! diff -rq -- "$scratch/ours" "$scratch/other"; then
  echo "the compilers' results differ" >&2
  exit 1
fi
echo "$files files, equal to the byte: $("$ours" --version) and $("$other" --version)"
