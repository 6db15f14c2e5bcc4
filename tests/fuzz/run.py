#!/usr/bin/env python3
"""Runs the fuzz targets: run.py PROGRAMS SECONDS [--jobs N] [TARGET...].

PROGRAMS is the folder of the *_fuzz programs; the seconds are shared by the targets, as many at once as there are
processors. Inputs that cover something new join PROGRAMS/corpus/TARGET, those that break a target lie in
PROGRAMS/found. Prints a line a target; exit status 1 if anything was found."""
import argparse
import concurrent.futures
import glob
import os
import re
import subprocess
import sys

import seeds

LONGEST_S = 25  # of one input; sanitizers cost a factor of ten
MOST_MB = 3072
MOST_BYTES = 400_000  # of one input


def run(programs, target, seconds):
    """(target, inputs tried, coverage, inputs found, the last lines)"""
    corpus, found = os.path.join(programs, "corpus", target), os.path.join(programs, "found", target)
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    before = set(os.listdir(found))
    tried, covered, text = 0, 0, ""
    command = [os.path.join(programs, target + "_fuzz"), corpus, os.path.join(programs, "seeds", target),
               "-max_total_time=%d" % max(1, int(seconds)), "-timeout=%d" % LONGEST_S,
               "-report_slow_units=%d" % LONGEST_S, "-rss_limit_mb=%d" % MOST_MB,
               "-max_len=%d" % MOST_BYTES, "-artifact_prefix=%s/" % found, "-print_final_stats=1", "-verbosity=1"]
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1"}
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)
    text = done.stdout.decode("utf8", "replace")
    tried = sum(map(int, re.findall(r"stat::number_of_executed_units: *(\d+)", text)))
    covered = max(map(int, re.findall(r"cov: (\d+)", text)), default=0)
    new = sorted(set(os.listdir(found)) - before)
    if done.returncode and not new:
        new = ["exit status %d" % done.returncode]
    return target, tried, covered, new, text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("programs")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()
    programs = os.path.abspath(args.programs)
    there = [os.path.basename(path)[:-len("_fuzz")] for path in sorted(glob.glob(os.path.join(programs, "*_fuzz")))]
    targets = args.targets or there
    if not targets or set(targets) - set(there):
        sys.exit("%s: found programs of %s, expected one of each of %s" % (programs, there, targets))
    seeds.write(os.path.join(programs, "seeds"))
    share = args.seconds * min(args.jobs, len(targets)) / len(targets)
    broken = 0
    print("%-12s %10s %10s  %s" % ("target", "inputs", "coverage", "found"))
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for target, tried, covered, new, text in pool.map(lambda t: run(programs, t, share), targets):
            print("%-12s %10d %10d  %s" % (target, tried, covered, " ".join(new) or "nothing"), flush=True)
            broken += len(new)
            if new:
                print("\n".join(line for line in text.splitlines() if re.search(
                    r"ERROR|runtime error|refusal|terminate|what\(\)|^ +#\d+ .*(sim|models|workloads)/", line)))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
