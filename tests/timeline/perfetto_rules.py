#!/usr/bin/env python3
"""What Perfetto's trace processor keeps of a Chrome JSON trace: perfetto_rules.py FILE...

Prints each way in which a file breaks a rule; exit status 1 if there is one. The rules are those of
its importer (json_trace_tokenizer, json_trace_parser, slice_tracker, flow_tracker), which drops what
breaks them and counts it in the table `stats`:

  time       `ts` and `dur` are not negative (trace_sorter_negative_timestamp_dropped), and are the
             same nanosecond whether microseconds x 1000 are rounded or cut off: versions differ
  nesting    in the order of `ts`, events of one time in the order of the file, a slice of a thread
             begins after the end of the one that is open or ends with it or before
             (slice_drop_overlapping_complete_event); at most 512 are open (slice_max_depth_exceeded)
  threads    every slice has a pid and a tid; a tid belongs to one process, is not 0 (the idle
             thread), and has a name, as its process has
  flows      `s` and `f` have an id; of each there is one `s` (flow_duplicate_id) and one `f`, not
             before it (flow_end_without_start), each while a slice of its thread is open that begins
             with it (flow_no_enclosing_slice)
  counters   args are numbers (json_parser_failure)
  instants   have a scope that it knows (json_parser_failure)
"""
import collections
import gzip
import json
import subprocess
import sys

MAX_DEPTH = 512


def read(path):
    if path.endswith(".gz"):
        with gzip.open(path) as file:
            return json.load(file)
    if path.endswith(".zst"):
        return json.loads(subprocess.run(["zstd", "-dcq", path], check=True, capture_output=True).stdout)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def nanoseconds(us):
    """As Perfetto reads it, or None where its versions differ."""
    rounded = round(us * 1000)
    return rounded if rounded == int(us * 1000) else None


def check_times(event, say):
    for key in ("ts", "dur") if event["ph"] == "X" else ("ts",):
        if key not in event:
            say("time", event, f"has no {key}")
        elif event[key] < 0:
            say("time", event, f"{key} {event[key]} is negative")
        elif nanoseconds(event[key]) is None:
            say("time", event, f"{key} {event[key]} is rounded to another nanosecond than cut off")


def check_thread(event, owner, names, say):
    tid = event.get("tid", 0)
    if not tid or "pid" not in event:
        return say("threads", event, "has no pid and tid other than 0")
    if owner.setdefault(tid, event["pid"]) != event["pid"]:
        say("threads", event, f"tid {tid} is of process {owner[tid]} as well")
    if ("thread_name", tid) not in names or ("process_name", event["pid"]) not in names:
        say("threads", event, "its thread or process has no name")
    return None


def open_slice(stack, event, say):
    """Adds a slice to those of its thread that are open."""
    begin, length = round(event["ts"] * 1000), round(event.get("dur", 0) * 1000)
    while stack:
        _, open_begin, open_end = stack[-1]
        instants = open_end == begin and open_end == open_begin and length == 0
        if open_end > begin or instants:
            break
        stack.pop()
    if stack and begin < stack[-1][2] < begin + length:
        return say("nesting", event, f"overlaps {stack[-1][0]['name']} in part")
    if len(stack) >= MAX_DEPTH:
        return say("nesting", event, f"is deeper than {MAX_DEPTH}")
    stack.append((event, begin, begin + length))
    return None


def check_flow(event, stack, starts, ends, say):
    if "id" not in event:
        return say("flows", event, "has no id")
    if not stack or stack[-1][1] != round(event["ts"] * 1000):
        say("flows", event, "no slice begins there")
    if event["ph"] == "s":
        if event["id"] in starts:
            say("flows", event, f"a second start of {event['id']}")
        starts.add(event["id"])
        return None
    if event["id"] not in starts or event["id"] in ends:
        say("flows", event, f"no start before the end of {event['id']}, or a second end")
    if event.get("bp") != "e":
        say("flows", event, "does not bind to the slice around it")
    ends.add(event["id"])
    return None


def check(trace):
    """The violations, as texts, and how many events of each phase there are."""
    found = []
    say = lambda rule, event, text: found.append(f"{rule}: {event.get('name')} at {event.get('ts')}: {text}")
    events = trace["traceEvents"]
    names = {(e["name"], e["tid" if e["name"] == "thread_name" else "pid"]) for e in events if e["ph"] == "M"}
    for event in events:
        if event["ph"] != "M":
            check_times(event, say)
    owner, stacks, starts, ends = {}, collections.defaultdict(list), set(), set()
    for event in sorted((e for e in events if e["ph"] != "M"), key=lambda e: round(e["ts"] * 1000)):
        phase = event["ph"]
        if phase in "Xisf":
            check_thread(event, owner, names, say)
        stack = stacks[event.get("tid")]
        if phase in "Xi":
            open_slice(stack, event, say)
        if phase == "i" and event.get("s") not in ("t", "p", "g"):
            say("instants", event, f"scope {event.get('s')}")
        elif phase in "sf":
            check_flow(event, stack, starts, ends, say)
        elif phase == "C" and not all(isinstance(v, (int, float)) for v in event["args"].values()):
            say("counters", event, "an arg that is no number")
        elif phase not in "XiCsf":
            say("phases", event, f"phase {phase}")
    found += [f"flows: {id} has no end" for id in sorted(starts - ends)]
    return found, collections.Counter(e["ph"] for e in events)


def main(paths):
    broken = 0
    for path in paths:
        found, phases = check(read(path))
        for text in found[:20]:
            print(f"{path}: {text}")
        print(f"{path}: {len(found)} violations in {dict(phases)}")
        broken += len(found)
    return 1 if broken or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
