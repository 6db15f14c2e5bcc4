#!/usr/bin/env python3
r"""Records steps of TensorFlow's eager runtime on a machine without a GPU.

    LD_PRELOAD=libjemalloc.so.2 MALLOC_CONF=dirty_decay_ms:-1,muzzy_decay_ms:-1 \
        python tf_eager.py OUT lenet5 infer 64 async [steps]

writes OUT/<workload>_<task>_b<batch>_<mode>.trace.json: the form of XProf's trace viewer, with the
events of the runtime that tandem reads (calls of Python into the runtime, operations, what the
executor ran, waits for values, steps); and OUT/NAME.meta.json: seconds a step without and with the
profiler. Modes: sync, async; function and xla (tf.function, without and with
jit_compile) are timed, not traced. Needs tensorflow-cpu. Use a quiet machine of two or more cores:
Python and the executor each need one. With the allocator of glibc the small events of the profiler
cut the freed buffers of tensors to pieces, every operation then touches fresh pages, and a
synchronous step of BERT takes twice as long as without the profiler; with jemalloc it takes 1.1.
"""
import glob
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import tensorflow as tf  # noqa: E402
from tensorflow.tsl.profiler.protobuf import xplane_pb2  # noqa: E402

keras, layers = tf.keras, tf.keras.layers
STEPS = int(sys.argv[6]) if len(sys.argv) > 6 else 24
WARM_UP = 4
KEPT = ("EagerLocalExecute", "EagerKernelExecute", "TFE_Py_", "step")


def lenet5():
    model = keras.Sequential([
        layers.Input((32, 32, 1)),
        layers.Conv2D(6, 5, activation="tanh"), layers.AveragePooling2D(2),
        layers.Conv2D(16, 5, activation="tanh"), layers.AveragePooling2D(2),
        layers.Flatten(), layers.Dense(120, activation="tanh"),
        layers.Dense(84, activation="tanh"), layers.Dense(10)])
    return model, lambda batch: tf.random.normal((batch, 32, 32, 1)), 10


def resnet50():
    model = keras.applications.ResNet50(weights=None, classifier_activation=None)
    return model, lambda batch: tf.random.normal((batch, 224, 224, 3)), 1000


def bert(sequence=32, hidden=768, heads=12, depth=4, words=30522):
    """Four layers of BERT base with a classifier on the first token."""
    tokens = layers.Input((sequence,), dtype="int32")
    x = layers.Embedding(words, hidden)(tokens)
    x = layers.LayerNormalization()(x)
    for _ in range(depth):
        y = layers.MultiHeadAttention(heads, hidden // heads)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, y]))
        y = layers.Dense(4 * hidden, activation="gelu")(x)
        y = layers.Dense(hidden)(y)
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    model = keras.Model(tokens, layers.Dense(2)(x[:, 0]))
    ids = lambda batch: tf.random.uniform((batch, sequence), 0, words, dtype=tf.int32)
    return model, ids, 2


def make_step(workload, task, batch, mode):
    model, inputs, classes = {"lenet5": lenet5, "resnet50": resnet50, "bert": bert}[workload]()
    x = inputs(batch)
    compiled = lambda f: f if mode in ("sync", "async") else tf.function(f, jit_compile=mode == "xla")
    if task == "infer":
        forward = compiled(lambda: model(x, training=False))
        return lambda: forward().numpy()
    labels = tf.random.uniform((batch,), 0, classes, dtype=tf.int32)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    optimizer = keras.optimizers.SGD(1e-3)

    @compiled
    def train():
        with tf.GradientTape() as tape:
            loss = loss_of(labels, model(x, training=True))
        gradients = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables))
        return loss

    return lambda: train().numpy()


def timed(step):
    """Milliseconds a step without the profiler: median."""
    times = []
    for _ in range(WARM_UP + STEPS):
        begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - begin) * 1e3)
    return sorted(times[WARM_UP:])[STEPS // 2]


def profile(step, batch):
    """The recorded space of STEPS steps and the mean time of one in ms."""
    with tempfile.TemporaryDirectory() as folder:
        options = tf.profiler.experimental.ProfilerOptions(
            host_tracer_level=2, python_tracer_level=0, device_tracer_level=0)
        tf.profiler.experimental.start(folder, options=options)
        begin = time.perf_counter()
        for i in range(STEPS):
            with tf.profiler.experimental.Trace("step", step_num=i, batch=batch, _r=1):
                step()
        profiled = (time.perf_counter() - begin) / STEPS * 1e3
        tf.profiler.experimental.stop()
        space = xplane_pb2.XSpace()
        space.ParseFromString(pathlib.Path(glob.glob(f"{folder}/**/*.xplane.pb", recursive=True)[0]).read_bytes())
    return space, profiled


def events_of(space):
    """Rows of the trace viewer: threads by name, complete events in microseconds."""
    plane = next(p for p in space.planes if p.name == "/host:CPU")
    rows = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/host:CPU"}}]
    spans = []
    for tid, line in enumerate(plane.lines, 1):
        name = (line.display_name or line.name).split("/")[0]
        rows.append({"ph": "M", "pid": 1, "tid": tid, "name": "thread_name", "args": {"name": name}})
        for e in line.events:
            what = plane.event_metadata[e.metadata_id].name
            if not what.startswith(KEPT) and not what.endswith("WaitReady"):
                continue
            begin = line.timestamp_ns / 1e3 + e.offset_ps / 1e6
            row = {"ph": "X", "pid": 1, "tid": tid, "ts": begin, "dur": round(e.duration_ps / 1e6, 1), "name": what}
            if what == "step":
                stats = {plane.stat_metadata[s.metadata_id].name: s.int64_value for s in e.stats}
                row["args"] = {key: str(stats[key]) for key in ("step_num", "batch")}
            spans.append(row)
    spans.sort(key=lambda r: (r["ts"], -r["dur"]))
    origin = spans[0]["ts"]
    for row in spans:
        row["ts"] = round(row["ts"] - origin, 1)
    return rows + spans


def main():
    out, workload, task, batch, mode = pathlib.Path(sys.argv[1]), *sys.argv[2:6]
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.experimental.set_synchronous_execution(mode != "async")
    step = make_step(workload, task, int(batch), mode)
    out.mkdir(parents=True, exist_ok=True)
    name = f"{workload}_{task}_b{batch}_{mode}"
    times = {"batch": int(batch), "iter_s": round(timed(step) / 1e3, 6)}
    if mode in ("sync", "async"):
        space, profiled = profile(step, int(batch))
        times["iter_profiled_s"] = round(profiled / 1e3, 6)
        trace = {"displayTimeUnit": "ns", "traceEvents": events_of(space)}
        (out / f"{name}.trace.json").write_text(json.dumps(trace, separators=(",", ":")))
    (out / f"{name}.meta.json").write_text(json.dumps(times) + "\n")


main()
