#!/usr/bin/env python3
"""Runs inputs that once broke the program: run.py PROGRAM [--sanitized] [NAME...].

Each ends with exit 0 or 3 and a sane result, or with exit 2 and a message "place: found X, expected Y";
never with a signal, exit 70, after 10 s or with 1 GB. `cases.json` lists the recorded inputs (a folder
each), `smallest.py` makes the others. With sanitizers neither time nor memory counts."""
import json
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading

import smallest

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST_S = 10  # of processor time: other programs may run
MOST_BYTES = 1 << 30
MESSAGE = re.compile(r"^tandem: .+: found .*, expected .+", re.S)
NONSENSE = re.compile(r"(?<![A-Za-z0-9_])[-+]?(nan|inf)(?![A-Za-z0-9_])")
QUANTITY = re.compile(r"(_us|_bytes|_cycles|_j|_w|count|^launches|^kernels)$")
# Differences, and what may be below zero by definition.
SIGNED = {"change_us", "delta_us", "gap_us", "difference", "slack_us"}
RATIO = re.compile(r"(utilization|_share|^share|^gract|^smact|^smocc|^tenso|^drama|occupancy)$")
LEVELS = ("smsp_issue_cycles", "smsp_active_cycles", "smsp_elapsed_cycles")
TOLERANCE = 1e-6
SMALLEST = 1e-12  # what rounding leaves of a difference


def check_number(path, key, value):
    if not math.isfinite(value):
        return "%s is %r" % (path, value)
    if QUANTITY.search(key) and key not in SIGNED and value < -SMALLEST:
        return "%s is negative: %r" % (path, value)
    if RATIO.search(key) and not -TOLERANCE <= value <= 1 + TOLERANCE:
        return "%s is no ratio: %r" % (path, value)
    return None


def check_json(path, value):
    """The first number of a result that cannot be, or None."""
    if isinstance(value, dict):
        if all(isinstance(value.get(level), (int, float)) for level in LEVELS):
            issue, active, elapsed = (value[level] for level in LEVELS)
            if not issue <= active * (1 + TOLERANCE) <= elapsed * (1 + TOLERANCE) ** 2:
                return "%s: issue %r, active %r, elapsed %r" % (path, issue, active, elapsed)
        for key, child in value.items():
            fault = check_json(path + "/" + key, child)
            if fault:
                return fault
    elif isinstance(value, list):
        for i, child in enumerate(value):
            fault = check_json("%s/%d" % (path, i), child)
            if fault:
                return fault
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        return check_number(path, path.rsplit("/", 1)[-1], value)
    return None


def refuse_constant(name):
    raise ValueError("the constant " + name)


def check_files(out, stdout, check):
    """What is wrong with the files below `out` and with the text, or None."""
    if b"\x1b" in stdout or b"\x07" in stdout:
        return "control characters on standard output"
    if NONSENSE.search(stdout.decode("utf8", "replace")):
        return "nan or inf on standard output"
    for folder, _, names in os.walk(out):
        for name in names:
            with open(os.path.join(folder, name), encoding="utf8", errors="replace") as file:
                text = file.read()
            if name.endswith(".csv") and re.search(r"(^|,)-?(nan|inf)(,|$)", text, re.M):
                return "nan or inf in " + name
            if not name.endswith(".json"):
                continue
            value = json.loads(text, parse_constant=refuse_constant)
            if name == "timeline.json":
                continue
            fault = check_json(name, value)
            if fault:
                return fault
            if check and name == "result.json":
                try:
                    check(value)
                except AssertionError as error:
                    return str(error)
    return None


def run(program, arguments, folder, sanitized):
    """(status, output, errors, peak bytes); status None: it took too long."""
    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if not sanitized:
            resource.setrlimit(resource.RLIMIT_AS, (4 * MOST_BYTES, 4 * MOST_BYTES))
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([program, *arguments], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=output, stderr=errors, preexec_fn=limit)
        late = threading.Event()
        timer = threading.Timer(LONGEST_S * 20, lambda: (late.set(), process.kill()))
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        late_cpu = not sanitized and usage.ru_utime + usage.ru_stime > LONGEST_S
        return (None if late.is_set() or late_cpu else process.returncode, output.read(),
                errors.read().decode("utf8", "replace"), usage.ru_maxrss * 1024)


def fault_of(program, arguments, folder, check, sanitized):
    """How the program fails on one input, or None."""
    with tempfile.TemporaryDirectory() as out:
        placed = [a.replace("OUT", out, 1) if a.startswith("OUT") else a for a in arguments]
        status, output, errors, peak = run(program, placed, folder, sanitized)
        first = " ".join(errors.split())[:300]
        if status is None:
            return "longer than %d s" % LONGEST_S
        if "Sanitizer" in errors or "runtime error" in errors:
            at = max(errors.find("ERROR"), 0) if "runtime error" not in errors else errors.find("runtime error")
            return " ".join(errors[at:at + 300].split())
        # A sweep goes on without the points that cannot be predicted; it names them.
        if status == 1 and arguments[0] == "sweep" and b"internal error" not in output:
            return None if "internal error" not in errors else first
        if status not in (0, 2, 3):
            return "exit %d: %s" % (status, first)
        if peak > MOST_BYTES and not sanitized:
            return "%d MB" % (peak >> 20)
        if status == 2:
            return None if MESSAGE.match(errors) else "exit 2 without place, found and expected: " + first
        if NONSENSE.search(errors):
            return "nan or inf: " + first
        try:
            return check_files(out, output, check if status == 0 else None)
        except ValueError as error:
            return "no JSON: %s" % error


def recorded():
    with open(os.path.join(HERE, "cases.json")) as file:
        rows = json.load(file)
    return [(row["folder"], row["arguments"], None) for row in rows]


def main():
    program = os.path.abspath(sys.argv[1])
    sanitized = "--sanitized" in sys.argv
    wanted = [a for a in sys.argv[2:] if not a.startswith("--")]
    faults = tried = 0
    with tempfile.TemporaryDirectory() as made:
        os.chdir(made)
        rows = [(name, arguments, os.path.join(HERE, name), check) for name, arguments, check in recorded()]
        rows += [(name, arguments, made, check) for name, arguments, check in smallest.cases()]
        for name, arguments, folder, check in rows:
            if wanted and not any(name.startswith(w) for w in wanted):
                continue
            tried += 1
            fault = fault_of(program, arguments, folder, check, sanitized)
            if fault:
                faults += 1
                print("FAILED %s: %s\n    tandem %s" % (name, fault, " ".join(arguments)[:200]), flush=True)
    print("%d inputs, %d break the program" % (tried, faults))
    return 1 if faults or not tried else 0


if __name__ == "__main__":
    sys.exit(main())
