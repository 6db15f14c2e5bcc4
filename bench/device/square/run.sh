#!/usr/bin/env bash
# Compiles and runs everything here on this machine's GPU:  run.sh OUT  (about four minutes).
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=$1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir -p "$out"

for program in launch_time block_life; do
    "${NVCC:-nvcc}" -O2 -arch="${ARCH:-native}" "$here/$program.cu" -o "$build/$program" || exit 1
done
points() { python3 "$here/points.py" "$@"; }

"$build/block_life" > "$out/block_life.csv"
"$build/block_life" raw | gzip -9 > "$out/block_raw.csv.gz"
points | "$build/launch_time" > "$out/launch_times.csv"
activity() { python3 "$here/activity.py" "$build/launch_time"; }
points grid same_lines own_lines empty | activity > "$out/activity.csv"
points spin | activity > "$out/spin.csv"

metrics=
for name in sm__cycles_active sm__cycles_elapsed lts__t_requests_srcunit_tex_op_write \
    lts__t_sectors_srcunit_tex_op_write lts__t_sectors_op_write; do
    metrics=$metrics,$name.sum,$name.max
done
ncu --replay-mode range --clock-control none --cache-control none \
    --metrics "${metrics#,}" --csv --page raw --print-units base --log-file "$build/counters.csv" \
    "$build/launch_time" --range < <(points counters)
python3 "$here/counters.py" "$build/counters.csv" > "$out/counters.csv"
