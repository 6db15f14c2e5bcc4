#!/usr/bin/env python3
"""Fits configs/bands.json on the residuals of validation, and says how often bands hold for models left out.

    tandem validate --json rows.json
    python3 fit_bands.py rows.json ../../../configs/bands.json [--check]

Every constant is a quantile (5 %, 95 %) of measured over predicted, each model counting as one, of hosts each model
on each machine. Quantiles of hosts lie further out where nine of ten steps of machines that are left out would not lie
inside. --check fits without each of these in turn, counts how often its measurements lie inside, and writes
nothing.
"""
import argparse
import collections
import itertools
import json
import math
import os
import re

TAIL = 0.05               # beyond either end of a band
FURTHER_TAILS = (0.0475, 0.045, 0.0425, 0.04, 0.0375, 0.035, 0.0325, 0.03, 0.025, 0.02)
HOST_BASES = ("trace", "measured_step", "kept", "executor", "network", "compiled")
LEAST_MODELS = 3          # fewer say too little of a quantile: the prior of that kind stands
UNSEEN_MODELS = 20        # of fewer, a 5 % quantile is their worst; then those that constants were fitted on count, too
FAILURE = math.log(2)     # a prediction that far off is a missing rule, which no band holds: it counts as so far
FIRST_SCORES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "first_scores.json")
HOST_MATTERS = 0.25       # a step changes by this share of the logarithm between a fast and a slow host
HOST_DECIDES = 0.8
RATIOS = ("ratio", "over eager")   # questions about two steps: how slow the host was cancels


def model_of(row):
    """The network that a row predicts: names begin with it."""
    return re.split(r"[-_ ](?:train|infer|keras2)", row["name"])[0]


def rows_of(path):
    """Rows of validation. What was predicted before anyone looked at a capture counts, where it is known: a rule that was changed
    on sight of it is right about it, but not about the next one."""
    rows = json.load(open(path))["rows"]
    first = {(r["question"], r["set"], r["name"]): r["predicted"] for r in json.load(open(FIRST_SCORES))["rows"]}
    for row in rows:
        row["model"] = model_of(row)
        predicted = first.get((row["question"], row["set"], row["name"]))
        if predicted is not None:
            row["predicted"], row["data"] = predicted, "holdout"
        row["log"] = math.log(row["measured"] / row["predicted"]) if row["measured"] > 0 < row["predicted"] else 0
        if predicted is not None:
            row["log"] = max(-FAILURE, min(FAILURE, row["log"]))
    return rows


def host_factor(row, host):
    """How slow the host must have been for the step to last as measured: piecewise in the logarithms."""
    band, measured, at_one = row["band"], row["measured"], row["predicted"]
    end, factor = (band["host_slow_us"], host[1]) if measured > at_one else (band["host_fast_us"], host[0])
    moved = math.log(end / at_one)
    return math.log(factor) * math.log(measured / at_one) / moved if moved else 0.0


def quantile(samples, share):
    """Weighted quantile of (value, weight) pairs, at the middle of each weight."""
    samples = sorted(samples)
    total, passed = sum(w for _, w in samples), 0.0
    previous = samples[0][0]
    at = samples[0][1] / 2 / total
    if share <= at:
        return previous
    for (value, weight), (_, before) in zip(samples[1:], samples):
        passed += before
        here = (passed + weight / 2) / total
        if share <= here:
            return previous + (value - previous) * (share - at) / (here - at)
        previous, at = value, here
    return previous


def interval(samples, tail=TAIL):
    """(low, high) of {model: [values]}; with few models the ends lie beyond what was seen."""
    weighted = [(value, 1 / len(values)) for values in samples.values() for value in values]
    low, high = quantile(weighted, tail), quantile(weighted, 1 - tail)
    beyond = 1 + 1.5 / len(samples)     # of n models, the next one is beyond all with 1 / (n + 1)
    return min(0.0, low) * beyond, max(0.0, high) * beyond


def inside_left_out(samples, tail, owner):
    """(inside, total): values of {group: [values]} inside of what the groups of all other owners tell."""
    inside = total = 0
    for left_out in {owner(group) for group in samples}:
        others = {group: values for group, values in samples.items() if owner(group) != left_out}
        low, high = interval(others, tail)
        own = [value for group, values in samples.items() if owner(group) == left_out for value in values]
        inside += sum(low <= value <= high for value in own)
        total += len(own)
    return inside, total


def machine_of(program):
    return program[0]


def tail_of(key, samples):
    """5 %; of hosts the most with which nine of ten steps of a machine that was left out lie inside."""
    if one_of(key) == "models" or len(set(map(machine_of, samples))) < LEAST_MODELS:
        return TAIL
    for tail in (TAIL,) + FURTHER_TAILS:
        inside, total = inside_left_out(samples, tail, machine_of)
        if inside / total >= 1 - 2 * TAIL:
            return tail
    return FURTHER_TAILS[-1]


def unseen(rows):
    """Those whose constants were not fitted on what is measured, where there are enough: a fit is nearer to its own data."""
    out = [r for r in rows if r["data"] != "fitted"]
    return out if len({r["model"] for r in out}) >= UNSEEN_MODELS else rows


def program_on_machine(row):
    """A set is of one machine and day: another day of the same program says as much as another program."""
    return row["set"], row["model"]


def grouped(rows, value, one=lambda row: row["model"]):
    out = collections.defaultdict(list)
    for row in rows:
        out[one(row)].append(value(row))
    return out


def host_share(row, bands):
    """Of a change of the host, how much the step follows: no matter how wide the band of the host is."""
    band, host = row["band"], bands["host"][row["band"]["host_basis"]]
    return math.log(band["host_slow_us"] / band["host_fast_us"]) / math.log(host["high"]["value"] / host["low"]["value"])


def time_rows(rows, basis, bands):
    """Step times without changes whose host decides."""
    return [r for r in rows if r["band"] and r["band"]["host_basis"] == basis and "step" in r["question"]
            and not any(words in r["question"] for words in RATIOS) and host_share(r, bands) > HOST_DECIDES]


class Samples:
    """Residuals of each constant, by model."""

    def __init__(self, rows, bands):
        self.bands = bands
        self.kinds = {}
        fresh = [r for r in rows if r["band"] and r["host"] == "default"]
        plain = [r for r in fresh if not r["band"]["what_ifs"]]
        traced = [r for r in plain if "without the profiler" in r["question"] and "ranks" not in r["set"]]
        steps = traced + [r for r in rows if r["question"].startswith("eager to CUDA graph, step")]
        for launched in bands["gpu"]:
            self.kinds["gpu", launched] = grouped(
                [r for r in steps if r["band"]["host_basis"] == "trace" and r["band"]["launched"] == launched
                 and host_share(r, bands) < HOST_MATTERS], lambda r: r["log"])
        for basis in ("trace", "compiled", "executor"):
            chosen = time_rows(traced if basis == "trace" else fresh, basis, bands)
            host = [self.value("host", basis, end) for end in ("low", "high")]
            self.kinds["host", basis] = grouped(chosen, lambda r: host_factor(r, host), program_on_machine)
        self.kinds["host", "measured_step"] = grouped(
            [r for r in rows if r["question"] == "host-bound step, host calibrated"], lambda r: r["log"])
        kernel = [r for r in rows if r["band"] and ("GPU time" in r["question"] or r["question"] == "other GPU")]
        self.kinds["network",] = grouped(unseen([r for r in kernel if r["band"]["generated_error"] > 0
                                                 and not r["band"]["what_ifs"]]),
                                         lambda r: r["log"] / r["band"]["generated_error"])
        for name in bands["what_ifs"]:
            chosen = [r for r in kernel if list(r["band"]["what_ifs"]) == [name]
                      and not r["band"]["generated_error"] and r["band"]["what_ifs"][name] > 0]
            self.kinds["what_ifs", name] = grouped(unseen(chosen), lambda r, n=name: r["log"] / r["band"]["what_ifs"][n])
        self.add_memory(rows)

    def add_memory(self, rows):
        """Of peaks as they stand; of a what-if, how much more its peak is off than that of its base."""
        peaks = [r for r in rows if r["band"] and r["band"]["memory"]]
        traced = [r for r in peaks if r["question"].startswith("traced step")]
        networks = [r for r in peaks if "network" in r["band"]["memory"]]
        for basis in self.bands["memory"]:
            self.kinds["memory", basis] = grouped(
                unseen([r for r in traced + networks if r["band"]["memory"] == basis]), lambda r: r["log"])
        own = {base_of(r): r["log"] for r in traced}
        for name in self.bands["memory_what_ifs"]:
            self.kinds["memory_what_ifs", name] = grouped(
                [r for r in peaks if list(r["band"]["what_ifs"]) == [name] and r not in networks
                 and base_of(r) in own], lambda r: r["log"] - own[base_of(r)])
        measured = collections.defaultdict(list)   # of one program, in several processes
        for row in traced:
            measured[base_of(row)].append(math.log(row["measured"]))
        twice = collections.defaultdict(list)
        for name, values in measured.items():
            if len(values) > 1:
                twice[model_of({"name": name})] += [a - b for a, b in itertools.permutations(values, 2)]
        self.kinds["memory", "recorded"] = twice

    def value(self, part, name, end):
        return self.bands[part][name][end]["value"]


def base_of(row):
    return row["name"].split(" from ")[-1]


def relative(key):
    """Whether a constant is a factor itself, not a multiple of an expected error."""
    return key[0] in ("gpu", "host", "memory", "memory_what_ifs")


def one_of(key):
    """What counts as one."""
    return "programs on machines" if key[0] == "host" and key[1] != "measured_step" else "models"


def at(bands, key):
    part = bands
    for name in key:
        part = part[name]
    return part


def write(samples, bands):
    for key, by_model in samples.kinds.items():
        if len(by_model) < LEAST_MODELS:
            print(f"{key}: {len(by_model)} models, kept as it is")
            continue
        tail = tail_of(key, by_model)
        low, high = interval(by_model, tail)
        count = sum(map(len, by_model.values()))
        ends = (math.exp(low), math.exp(high)) if relative(key) else (-low, high)
        print(f"{key}: {ends[0]:.3f} {ends[1]:.3f}  ({count} rows, {len(by_model)} groups)")
        for end, value in zip(("low", "high"), ends):
            at(bands, key)[end].update(value=round(value, 3), kind="fitted",
                                       source=f"{100 * (tail if end == 'low' else 1 - tail):g} % quantile of {count} residuals of {len(by_model)} {one_of(key)}",
                                       fitted_on="tandem validate; validation/fits/bands")


def check(samples):
    for key, by_model in samples.kinds.items():
        if len(by_model) < LEAST_MODELS:
            continue
        inside, total = inside_left_out(by_model, tail_of(key, by_model), lambda group: group)
        print(f"{key}: {inside} of {total} inside ({100 * inside / total:.0f} %), each left out")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("rows")
    parser.add_argument("bands")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    bands = json.load(open(args.bands))
    samples = Samples(rows_of(args.rows), bands)
    if args.check:
        check(samples)
        return
    write(samples, bands)
    with open(args.bands, "w") as file:
        json.dump(bands, file, indent=1)
        file.write("\n")


main()
