"""The smallest input of each kind that once broke the program: cases() writes them into the current
folder and returns rows (name, arguments, check of the result or None)."""
import json
import os

from traces import Trace, linear

GEMM = ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_alignc4"
        "_execute_kernel__51_cublas")
CONVOLUTION = ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_"
               "warpsize2x2x1_g1_tensor16x8x8_execute_kernel__5x_cudnn")
ADD = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
       "std::array<char*, 3ul> >")
REDUCE = ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
          "at::native::func_wrapper_t<float> > >")
OUT = ["--out", "OUT", "--quiet"]


def graph_of_one_pass():
    """A graph of one pass leaves works out that edges of kept works name."""
    trace = Trace(False)
    trace.step(1, 0, 4000)
    trace.launch("k0", 10, 5, 20, 900)
    trace.launch("k1", 30, 5, 1000, 50)
    trace.launch("kb", 50, 5, 1100, 50, tid=2)
    trace.launch("k3", 100, 5, 600, 395, stream=20)
    trace.save("r01.json")
    options = ["--mode", "cuda-graph", "--graph-scope", "forward-backward"]
    yield "r01 graph of one pass", ["replay", "r01.json", *options, *OUT], None


def unknown_calls():
    """Device work behind a call of an unknown name counts like any other."""
    def check(result):
        assert abs(result["step"]["gpu_kernel_us"] - 300) < 1e-6, "device work of the call is missing"
    for api in ("cudaLaunchKernel", "hipLaunchKernel", "cudaMemPrefetchAsync"):
        trace = linear()
        for i in range(5):
            trace.launch("k_b", 210 + 20 * i, 5, 220 + 20 * i, 50, api=api)
        trace.save("r02_%s.json" % api)
        yield "r02 " + api, ["replay", "r02_%s.json" % api, *OUT], check


def deep_nesting():
    for key in ("Input Dims", "Input Strides"):
        trace = linear()
        trace.op("aten::add", 60, 20, **{key: "@@"})
        trace.launch("k", 65, 2, 70, 2)
        path = "r03_%s.json" % key[6:]
        with open(path, "w") as file:
            file.write(trace.text().replace('"@@"', "[" * 60000 + "]" * 60000))
        yield "r03 deep " + key, ["replay", path, *OUT], None
    with open("r03_config.json", "w") as file:
        file.write("[" * 100000 + "]" * 100000)
    linear().save("r03.json")
    yield "r03 deep experiment", ["sweep", "r03_config.json", "--out", "OUT"], None
    yield "r03 deep GPU", ["replay", "r03.json", "--gpu", "r03_config.json", *OUT], None
    yield "r03 deep host", ["replay", "r03.json", "--host", "r03_config.json", *OUT], None
    deep = "gpu.sm_count=" + "[" * 60000 + "]" * 60000
    yield "r03 deep --set", ["replay", "r03.json", "--set", deep, *OUT], None


def division_by_zero():
    trace = linear()
    trace.op("aten::cudnn_convolution", 120, 50,
             **{"Input Dims": [[16, 3, 8, 8], [4, 3, 3, 3], [], [], [], [], [], [], []],
                "Input type": ["float", "float"] + ["ScalarList"] * 3 + ["Scalar"] * 4,
                "Concrete Inputs": ["", "", "[1, 1]", "[0, 0]", "[1, 1]", "1", "False", "False", "True"]})
    trace.launch(CONVOLUTION, 130, 5, 140, 3)
    trace.save("r04_stride.json")
    yield "r04 stride 0", ["replay", "r04_stride.json", *OUT], None
    trace = linear()
    trace.op("aten::_cudnn_rnn", 120, 50,
             **{"Input Dims": [[50, 16, 512], [], [], [], [1, 0, 512], [1, 16, 512]] + [[]] * 5,
                "Input type": ["float", "TensorList", "Scalar", "", "float", "float"] + ["Scalar"] * 5,
                "Concrete Inputs": [""] * 6 + ["2", "512", "0", "1", "False"]})
    trace.launch(GEMM, 130, 5, 140, 30, grid=[64, 100, 1])
    trace.save("r04_rnn.json")
    yield "r04 batch 0", ["replay", "r04_rnn.json", *OUT], None


def nothing_to_move():
    trace = linear()
    trace.op("aten::copy_", 200, 30, **{"Input Dims": [[16, 64], [16, 64], []],
                                        "Input type": ["float", "float", "Scalar"]})
    trace.launch("Memcpy HtoD (Pageable -> Device)", 210, 5, 220, 2, api="cudaMemcpyAsync",
                 category="gpu_memcpy")
    trace.save("r05_copy.json")
    yield "r05 copy of 0 bytes", ["replay", "r05_copy.json", "--batch", "64", *OUT], None
    trace = linear()
    trace.op("aten::sum", 200, 30, **{"Input Dims": [[16, 0]], "Input type": ["float"],
                                      "Concrete Inputs": [""]})
    trace.launch(REDUCE, 210, 5, 220, 3)
    trace.save("r05_sum.json")
    yield "r05 empty sum", ["replay", "r05_sum.json", "--batch", "4", *OUT], None


def shapes_without_limit():
    for tag, dims, options in (("smallest", [-2**63] * 2, []), ("negative", [-1, -1], []),
                               ("product", [2**31] * 4, ["--mode", "jit"])):
        trace = linear(1, name=GEMM)
        trace.op("aten::add", 100, 500, **{"Input Dims": [dims, dims], "Input type": ["float", "float"],
                                           "Concrete Inputs": ["", ""]})
        for i, kernel in enumerate([GEMM, ADD]):
            trace.launch(kernel, 110 + 20 * i, 5, 120 + 20 * i, 3, grid=[100, 1, 1])
        trace.save("r06_%s.json" % tag)
        yield "r06 dimensions: " + tag, ["replay", "r06_%s.json" % tag, *options, *OUT], None


def long_kernels():
    trace = Trace()
    trace.step(1, 0, 4000 * 20 + 1000)
    trace.op("aten::linear", 5, 50)
    for i in range(4000):
        trace.launch("k", 10 + 20 * i, 5, 100 + 20 * i, 999999999)
    trace.save("r07.json")
    yield "r07 4000 kernels of 1000 s", ["replay", "r07.json", *OUT], None


def open_quote():
    with open("r08.csv", "w") as file:
        file.write('"ID","Kernel Name\n' + "\n" * 400000)
    linear().save("r08.json")
    yield "r08 open quote", ["match", "r08.json", "r08.csv", "--out", "OUT/m.csv"], None


def many_events(streams=2000):
    trace = Trace()
    trace.step(1, 0, 1e6)
    ts = 1
    for _ in range(3):
        for stream in range(streams):
            trace.launch("k", ts, 0.01, ts + 5, 0.5, stream=stream)
            ts += 0.1
        for _ in range(streams):
            trace.call("cudaEventRecord", ts, 0.01)
            ts += 0.1
        trace.call("cudaStreamWaitEvent", ts, 0.01)
        ts += 20
    trace.save("r09.json")
    yield "r09 events x streams", ["replay", "r09.json", *OUT], None


def many_threads(threads=16000):
    trace = Trace()
    trace.step(1, 0, 30 * threads)
    for i in range(threads):
        trace.launch("k", 10 + 20 * i, 5, 20 + 20 * i, 10, tid=i + 1)
    trace.save("r10.json")
    yield "r10 many threads", ["replay", "r10.json", *OUT], None


def long_names():
    name = "a" * 300
    yield "r11 validate", ["validate", "--data", name], None
    yield "r11 calibrate host", ["calibrate", "host", name], None
    yield "r11 calibrate energy", ["calibrate", "energy", name, "--gpu", "h200_sxm"], None
    yield "r11 calibrate cache", ["calibrate", "cache", name, "--gpu", "h200_sxm"], None


def experiments():
    linear().save("r11.json")
    for path, axes in (("r11_sweep.json", {"batch": [16]}), ("r11_text.json", {"gpu.sm_count": ["xabc"]})):
        with open(path, "w") as file:
            json.dump({"schema": "tandem.experiment/1", "trace": "r11.json", "axes": axes}, file)
    os.makedirs("r11_store/points.jsonl/x", exist_ok=True)
    yield "r11 store is a folder", ["sweep", "r11_sweep.json", "--out", "r11_store"], None
    yield "r11 store is a folder, fresh", ["sweep", "r11_sweep.json", "--out", "r11_store", "--fresh"], None
    yield "r11 value xabc", ["sweep", "r11_text.json", "--out", "OUT"], None


def nothing_takes_time():
    trace = Trace()
    trace.step(1, 0, 0)
    trace.step(2, 0.0, 500)
    trace.launch("k", 10, 5, 20, 10)
    trace.save("r12_step.json")
    yield "r12 step of 0 us", ["replay", "r12_step.json", "--out", "OUT"], None
    trace = linear(1)
    trace.events[-1]["dur"] = 0
    trace.save("r12_kernel.json")
    yield "r12 blocks of 0 us", ["blocks", "r12_kernel.json", "--kernel", "0"], None


def escapes():
    linear(1, name="\x1b[2J\x1b]0;pwned\x07EVIL").save("r13.json")
    yield "r13 escapes of the terminal", ["replay", "r13.json", "--out", "OUT"], None


def numbers():
    linear().save("r14.json")
    for key in ("boost_clock_mhz", "dram_peak_gbps", "dram_read_gbps", "l2_read_gbps", "sm_count"):
        for value in ("1e-308", "1e308", "nan", "-1", "0", "1e3000"):
            yield ("r14 %s=%s" % (key, value),
                   ["replay", "r14.json", "--gpu", "h200_sxm", "--set", "gpu.%s=%s" % (key, value), *OUT], None)
    for option in ("--measured-step", "--peak-memory", "--traced-batch", "--steps", "--batch"):
        for value in ("1e-320", "1e308", "nan", "inf", "-1", "0", "99999999999999999999", "9223372036854775807"):
            yield "r14 %s %s" % (option, value), ["replay", "r14.json", option, value, *OUT], None


KINDS = (graph_of_one_pass, unknown_calls, deep_nesting, division_by_zero, nothing_to_move,
         shapes_without_limit, long_kernels, open_quote, many_events, many_threads, long_names, experiments,
         nothing_takes_time, escapes, numbers)


def cases():
    return [row for kind in KINDS for row in kind()]
