#!/usr/bin/env bash
# Records the cache curve: run.sh OUT [SM, e.g. 90]. About one minute. Clocks stay as they are.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
sm=${2:-90}
mkdir -p "$out"
program=$(mktemp -d)/sweep
"${NVCC:-nvcc}" -std=c++17 -O3 -arch="sm_$sm" -o "$program" "$here/sweep.cu"
"$program" --out "$out"
metrics=l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum,l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum
metrics+=,lts__t_sectors_srcunit_tex.sum,lts__t_sectors_srcunit_tex_lookup_hit.sum,dram__sectors_read.sum
mkdir -p "$program.once"
timeout 180 ncu --clock-control none --cache-control none --csv --page raw --print-units base \
  --kernel-name 'regex:chase' --metrics "$metrics" --log-file "$out/counters.csv" \
  "$program" --out "$program.once" || echo "no counters (Nsight Compute)" >&2
