# The counters of ncu_ops.sh and ncu_model.sh. Sourced, not run.

NCU=${NCU:-ncu}
PYTHON=${PYTHON:-python3}

# Answered by Nsight Compute 2025.3 on an H200 (compute capability 9.0).
KNOWN="gpu__time_duration smsp__cycles_elapsed smsp__cycles_active smsp__issue_active smsp__inst_executed
smsp__warps_active smsp__warps_launched sm__cycles_active sm__cycles_elapsed
sm__pipe_tensor_cycles_active sm__pipe_tensor_op_hmma_cycles_active sm__inst_executed_pipe_tensor
sm__inst_executed_pipe_tensor_op_gmma sm__inst_executed_pipe_alu sm__inst_executed_pipe_fma
sm__inst_executed_pipe_lsu sm__inst_executed_pipe_xu sm__inst_executed_pipe_uniform sm__inst_executed_pipe_tma
l1tex__t_sectors l1tex__t_sectors_lookup_hit l1tex__t_sectors_pipe_lsu_mem_global_op_ld
l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit l1tex__t_sectors_pipe_lsu_mem_global_op_st
lts__t_sectors lts__t_sectors_lookup_hit lts__t_sectors_op_read lts__t_sectors_op_read_lookup_hit
lts__t_sectors_op_write lts__t_sectors_srcunit_tex lts__t_sectors_srcunit_tex_lookup_hit
dram__sectors_read dram__sectors_write l1tex__data_pipe_lsu_wavefronts_mem_shared
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_gmma l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st"

# Useful, but not seen to work there: asked for only where --query-metrics lists them.
EXTRA="sm__warps_active sm__inst_executed_pipe_tensor_op_hmma sm__inst_executed_pipe_fp16
sm__inst_executed_pipe_fp64 smsp__thread_inst_executed"

SECTIONS=${SECTIONS-"--section LaunchStats --section Occupancy"}

# The names of $1 that this GPU and tool list.
listed() {
    local name
    for name in $1; do
        if grep -qxF "$name" <<< "$AVAILABLE"; then echo "$name"; else echo "not listed: $name" >&2; fi
    done
}

# "name.sum,name.sum,..." of the names in $1.
joined() {
    local name
    for name in $1; do printf '%s.sum,' "$name"; done | sed 's/,$//'
}

# Sets METRICS and SAFE_METRICS (what to ask for if METRICS is refused).
choose_metrics() {
    local known=$KNOWN capability
    capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1)
    AVAILABLE=$("$NCU" --query-metrics 2>/dev/null | grep -oE '^ *[a-z0-9]+__[A-Za-z0-9_]+' | tr -d ' ' | sort -u)
    echo "compute capability $capability, $(wc -l <<< "$AVAILABLE") metrics listed"
    if [ "$capability" != 9.0 ] && [ -n "$AVAILABLE" ]; then known=$(listed "$KNOWN"); fi
    SAFE_METRICS=$(joined "$known")
    METRICS=$(joined "$known $(listed "$EXTRA")")
}

# profile CACHE_CONTROL CSV COMMAND...: only what lies between cudaProfilerStart and Stop.
profile() {
    local cache=$1 csv=$2
    shift 2
    rm -f "$csv"
    "$NCU" --profile-from-start off --nvtx --clock-control none --cache-control "$cache" $SECTIONS \
        --metrics "$METRICS" --csv --page raw --print-units base --log-file "$csv" "$@"
}
