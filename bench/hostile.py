#!/usr/bin/env python3
"""Time and memory of `tandem replay` on input that is made to take too much of either.

  bench/hostile.py [NAME ...]     default: all; after ./tandem bench

Every case must end within a minute and 3 GiB, with exit status 0, 2 or 3; the script fails where one does not.
"""
import gzip
import os
import pathlib
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = pathlib.Path(os.environ.get("TANDEM_BUILD_DIR", ROOT / "build")) / "bin/tandem"
MOST_SECONDS, MOST_MIB = 60, 3072
MIB = 1 << 20
HEAD = '{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": [\n'


def op(i, name="aten::add", tid=1, args=""):
    return (f'{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":{tid},"ts":{10 * i},"dur":8,'
            f'"args":{{{args}}}}}')


def launch(i, tid=1):
    return (f'{{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":{tid},"ts":{10 * i + 1},'
            f'"dur":3,"args":{{"correlation":{i + 1}}}}}')


def kernel(i, name="k", stream=7, grid=1):
    return (f'{{"ph":"X","cat":"kernel","name":"{name}","pid":0,"tid":7,"ts":{10 * i + 5},"dur":4,"args":'
            f'{{"device":0,"stream":{stream},"correlation":{i + 1},"grid":[{grid},1,1],"block":[128,1,1]}}}}')


def step(i):
    return (f'{{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{i}","pid":1,"tid":1,"ts":{10 * i},'
            f'"dur":10,"args":{{}}}}')


def trace(events):
    """The text of a trace of these events, in pieces."""
    yield HEAD
    piece, comma = [], ""
    for event in events:
        piece.append(comma + event)
        comma = ",\n"
        if len(piece) == 4096:
            yield "".join(piece)
            piece = []
    yield "".join(piece) + "]}"


def each(count, *makers):
    return trace(make(i) for i in range(count) for make in makers)


def bomb(before, unit, gib, after):
    """`gib` GiB of one text as gzip, in members of 64 MiB that are packed once."""
    member = gzip.compress((unit * (64 * MIB // len(unit))).encode(), 6)
    yield gzip.compress(before.encode())
    for _ in range(gib * 16):
        yield member
    yield gzip.compress(after.encode())


def long(before, unit, mib, after):
    yield before
    for _ in range(mib):
        yield unit * (MIB // len(unit))
    yield after


ARGS_HEAD = HEAD + op(0)[:-2]
CASES = {
    "bomb_of_blanks": lambda: bomb(HEAD, " ", 10, "]}"),
    "bomb_of_one_name": lambda: bomb(HEAD + '{"name":"', "x", 10, '"}]}'),
    "bomb_beside_events": lambda: bomb('{"schemaVersion": 1, "x": [0', ",0", 10, '], "traceEvents": []}'),
    "bomb_of_events": lambda: bomb(HEAD + op(0), "," + op(0), 4, "]}"),
    "bomb_of_unused_events": lambda: bomb(
        HEAD + op(0), ',{"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":1,"dur":1}', 4, "]}"),
    "string_of_500_mb": lambda: long(HEAD + '{"name":"', "x", 500, '"}]}'),
    "key_of_500_mb": lambda: long('{"', "x", 500, '":1}'),
    "event_of_500_mb": lambda: long(ARGS_HEAD + '"a":0', ',"b":1', 500, "}}]}"),
    "nesting_of_500_mb": lambda: long(ARGS_HEAD + '"a":', "[", 500, ""),
    "streams_1e6": lambda: each(10**6, launch, lambda i: kernel(i, stream=i)),
    "streams_4096": lambda: each(4_096, launch, lambda i: kernel(i, stream=i)),
    "threads_1e6": lambda: each(10**6, lambda i: launch(i, tid=i), kernel),
    "threads_4096": lambda: each(4_096, lambda i: launch(i, tid=i), kernel),
    "threads_and_streams_4096": lambda: each(4_096, lambda i: launch(i, tid=i), lambda i: kernel(i, stream=i)),
    "names_1e6": lambda: each(10**6, launch, lambda i: kernel(i, name=f"kernel_{i}")),
    "names_of_operations_1e6": lambda: each(10**6, lambda i: op(i, name=f"aten::f{i}"), launch, kernel),
    "grids_1e6": lambda: each(10**6, launch, lambda i: kernel(i, grid=i + 1)),
    "shapes_1e6": lambda: each(10**6, lambda i: op(i, args=f'"Input Dims":[[{i + 1},3]],"Input type":["float"]'),
                               launch, kernel),
    "steps_1e6": lambda: each(10**6, step, launch, kernel),
    "one_step_1e6": lambda: each(10**6, op, launch, kernel),
    "one_step_8e5": lambda: each(8 * 10**5, op, launch, kernel),
    "one_step_of_names_8e5": lambda: each(8 * 10**5, launch, lambda i: kernel(i, name=f"kernel_{i}")),
    "one_step_of_shapes_8e5": lambda: each(
        8 * 10**5, lambda i: op(i, args=f'"Input Dims":[[{i + 1},3]],"Input type":["float"]'), launch, kernel),
    "at_once_5e6": lambda: trace(kernel(0) for _ in range(5 * 10**6)),
    "backwards_6e6": lambda: trace(e for i in range(3 * 10**6, 0, -1) for e in (kernel(i), launch(i))),
}


def feed(pieces, pipe):
    try:
        for piece in pieces:
            pipe.write(piece if isinstance(piece, bytes) else piece.encode())
        pipe.close()
    except BrokenPipeError:
        pass  # the program has seen enough


def run(name):
    """One row of the table; True if the case kept its bounds."""
    begin = time.monotonic()
    program = subprocess.Popen([PROGRAM, "replay", "-", "--quiet"], stdin=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    threading.Thread(target=feed, args=(CASES[name](), program.stdin), daemon=True).start()
    stop = threading.Timer(10 * MOST_SECONDS, program.kill)
    stop.start()
    message = program.stderr.read().decode(errors="replace").strip().split("\n")[-1]
    _, status, usage = os.wait4(program.pid, 0)
    stop.cancel()
    code = os.waitstatus_to_exitcode(status)
    cpu, peak = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
    good = code in (0, 2, 3) and cpu <= MOST_SECONDS and peak <= MOST_MIB
    print(f"{name:26} {time.monotonic() - begin:>7.1f} {cpu:>7.1f} {peak:>9.0f} {code:>5}  {message[:150]}"
          f"{'' if good else '  TOO MUCH'}", flush=True)
    return good


def main():
    if len(sys.argv) == 2:
        sys.exit(0 if run(sys.argv[1]) else 1)
    # A process each: what a parent once held counts as its child's peak.
    print(f"{'case':26} {'s':>7} {'CPU s':>7} {'peak MiB':>9} {'exit':>5}  message", flush=True)
    sys.exit(max([subprocess.call([__file__, name]) for name in sys.argv[1:] or CASES]))


if __name__ == "__main__":
    main()
