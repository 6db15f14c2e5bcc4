#!/usr/bin/env bash
# The 1,000-point sweep from Python against the command line: user + system seconds, the least of several runs in turn.
#
#   bench/sweep_python.sh [RUNS] [PYTHON]     default 5 python3 (with pandas); after `./tandem python -c ''`
set -euo pipefail
root=$(realpath -- "$(dirname -- "$0")/..")
build=${TANDEM_BUILD_DIR:-$root/build}
experiment=$root/configs/experiments/resnet50_grid.json
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
export TANDEM_ROOT=$root PYTHONPATH=$build/python
TIMEFORMAT='%U %S'
least() { awk -v name="$1" '{ s = $1 + $2; if (NR == 1 || s < m) m = s } END { printf "%s %.2f\n", name, m }'; }
for ((run = 0; run < ${1:-5}; ++run)); do
  { time "$build/bin/tandem" sweep "$experiment" --out "$folder" --fresh --quiet --threads 2; } 2>>"$folder/command_line"
  { time "${2:-python3}" -c "import sys, tandem; assert len(tandem.sweep(sys.argv[1], threads=2).points) == 1000" "$experiment"; } 2>>"$folder/python"
done
{ least command_line <"$folder/command_line" && least python <"$folder/python"; } |
  awk '{ print; s[NR] = $2 } END { printf "python takes %+.1f %%\n", (s[2] / s[1] - 1) * 100 }'
