#!/usr/bin/env bash
# Records everything the energy calibration needs: run.sh OUT [SM, e.g. 90]. About four minutes. Clocks stay as they are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
sm=${2:-90}
mkdir -p "$out"
program=$(mktemp -d)/calibrate
"${NVCC:-nvcc}" -std=c++20 -O3 -arch="sm_$sm" -o "$program" "$here/calibrate.cu" -ldl
"$program" --out "$out"
python3 "$here/library.py" >"$out/library.csv" || echo "no library points (PyTorch)" >&2
# Sectors that the profiler counts, against the ones the points state.
metrics=l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
metrics+=,lts__t_sectors.sum,lts__t_sectors_srcunit_tex.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum
metrics+=,dram__sectors_read.sum,dram__sectors_write.sum,l1tex__data_pipe_lsu_wavefronts_mem_shared.sum
metrics+=,l1tex__t_sectors.sum,smsp__inst_executed.sum,gpu__time_duration.sum
mkdir -p "$program.once"
timeout 90 ncu --clock-control none --cache-control none --csv --page raw --print-units base \
  --kernel-name 'regex:load|store|stream|ffma|mma' --metrics "$metrics" \
  --log-file "$out/counters.csv" "$program" --once --out "$program.once" ||
  echo "no counters (Nsight Compute)" >&2
cp "$program.once/points.csv" "$out/counted_points.csv" || true
