#!/usr/bin/env python3
"""Time and memory of `tandem replay` on traces of 10^5 to 10^8 events, which are made while they are read.

  bench/scale.py [LARGEST]     default 100000000 (40 GB of JSON, through a pipe); after ./tandem bench

Time must grow linearly, and memory not at all once a trace is longer than what is kept of it. Seconds of
the processor are those of tandem alone; elapsed ones are shared with the program that writes the trace.
"""
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = pathlib.Path(os.environ.get("TANDEM_BUILD_DIR", ROOT / "build"))


def measure(events):
    """One row of the table."""
    begin = time.monotonic()
    maker = subprocess.Popen([BUILD / "bench/host/import_once", "--write", str(events), "-"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    replay = subprocess.Popen([BUILD / "bin/tandem", "replay", "-"], stdin=maker.stdout,
                              stdout=subprocess.PIPE, text=True)
    maker.stdout.close()
    steps = next((line.strip() for line in replay.stdout if " steps, " in line), "no steps")
    replay.stdout.read()
    _, status, usage = os.wait4(replay.pid, 0)
    elapsed = time.monotonic() - begin
    written = dict(pair.split("=") for pair in maker.stderr.read().split())
    if status != 0 or maker.wait() != 0:
        sys.exit(f"scale: {events} events: exit status {os.waitstatus_to_exitcode(status)}")
    events, size = int(written["events"]), int(written["bytes"])
    cpu = usage.ru_utime + usage.ru_stime
    return (f"{events:>11} {size / 1e6:>9.0f} {elapsed:>9.1f} {cpu:>9.1f} {usage.ru_maxrss / 1024:>9.0f} "
            f"{cpu / events * 1e9:>9.0f}   {steps}")


def main():
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 10**8
    print(f"{'events':>11} {'MB':>9} {'s':>9} {'CPU s':>9} {'peak MiB':>9} {'ns/event':>9}")
    for events in (10**n for n in range(5, 9)):
        if events <= largest:
            print(measure(events), flush=True)


if __name__ == "__main__":
    main()
