#!/usr/bin/env bash
# Compiles and runs everything here on this machine's GPU:  run.sh OUT  (about five minutes).
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
points grid same_lines own_lines empty | python3 "$here/activity.py" "$build/launch_time" > "$out/activity.csv"
points spin | python3 "$here/activity.py" "$build/launch_time" > "$out/spin.csv"

wanted="gpu__time_duration sm__cycles_active sm__cycles_elapsed sm__warps_active lts__cycles_elapsed
l1tex__t_requests_pipe_lsu_mem_global_op_st l1tex__m_l1tex2xbar_req_cycles_active
l1tex__m_l1tex2xbar_write_sectors l1tex__m_l1tex2xbar_write_bytes lts__t_requests_srcunit_tex_op_write
lts__t_sectors_srcunit_tex_op_write lts__t_sectors_op_write lts__t_requests_srcunit_tex"
listed=$(ncu --query-metrics 2>/dev/null | grep -oE '^ *[a-z0-9]+__[A-Za-z0-9_]+' | tr -d ' ' | sort -u)
metrics=$(grep -xF -f <(tr ' ' '\n' <<< "$wanted") <<< "$listed" | sed 's/.*/&.sum,&.max/' | paste -sd,)
ncu --profile-from-start off --replay-mode range --clock-control none --cache-control none \
    --metrics "$metrics" --csv --page raw --print-units base --log-file "$build/counters.csv" \
    "$build/launch_time" --range < <(points counters)
grep '^"' "$build/counters.csv" > "$out/counters.csv"
