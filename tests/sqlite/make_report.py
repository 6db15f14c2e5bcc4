#!/usr/bin/env python3
"""A Kineto trace as the SQLite report that Nsight Systems would have written of the same run.

    make_report.py TRACE.json[.zst] REPORT.sqlite

Tables and columns as in NVIDIA's SQLite schema reference (export schema 3.16); operations are ranges as
torch.autograd.profiler.emit_nvtx writes them.
"""

import ctypes
import json
import re
import sqlite3
import sys
from pathlib import Path

SCHEMA = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER,
  cuDevice INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL,
  globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER,
  registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL,
  blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL,
  dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, localMemoryTotal INTEGER NOT NULL,
  gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER, graphNodeId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  value INTEGER NOT NULL, bytes INTEGER NOT NULL, graphNodeId INTEGER, memKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL,
  contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER,
  syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER,
  color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER);
"""
COPY_KINDS = {"HtoD": 1, "DtoH": 2, "DtoD": 8, "HtoH": 9, "PtoP": 10}
MEMORY_KINDS = {"Pageable": 0, "Pinned": 1, "Device": 2, "Array": 3, "Managed": 4, "Unknown": 7}
SYNC_KINDS = {"Event Sync": 1, "Stream Wait Event": 2, "Stream Sync": 3, "Context Sync": 4}


def decompress(content):
    """One zstd frame that knows its size; Python has no zstd of its own before 3.14."""
    zstd = ctypes.CDLL("libzstd.so.1")
    zstd.ZSTD_getFrameContentSize.restype = zstd.ZSTD_decompress.restype = ctypes.c_ulonglong
    size = zstd.ZSTD_getFrameContentSize(content, ctypes.c_size_t(len(content)))
    out = ctypes.create_string_buffer(size)
    assert zstd.ZSTD_decompress(out, ctypes.c_size_t(size), content, ctypes.c_size_t(len(content))) == size
    return out.raw


def read_trace(path):
    content = Path(path).read_bytes()
    return json.loads(decompress(content) if str(path).endswith(".zst") else content)


class Report:
    def __init__(self, path, origin_us):
        Path(path).unlink(missing_ok=True)
        self.database = sqlite3.connect(path)
        self.database.executescript(SCHEMA)
        self.origin_us = origin_us
        self.texts = {}

    def text(self, value):
        return self.texts.setdefault(value, len(self.texts) + 1)

    def add(self, table, **row):
        self.database.execute(
            f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))

    def times(self, event):
        start = round((event["ts"] - self.origin_us) * 1000)
        return {"start": start, "end": start + round(event["dur"] * 1000)}

    def thread(self, event):
        return (event["pid"] << 24) + event["tid"]

    def activity(self, event):
        args = event["args"]
        return {**self.times(event), "deviceId": args["device"], "contextId": args["context"], "streamId": args["stream"],
                "correlationId": args["correlation"]}

    def op(self, event):
        args, name = event["args"], event["name"]
        if args.get("Sequence number", -1) >= 0:
            name += f", seq = {args['Sequence number']}"
        name += f", op_id = {args['External id']}"
        if "Input Dims" in args:
            name += f", sizes = {json.dumps(args['Input Dims'])}"
        self.add("NVTX_EVENTS", **self.times(event), eventType=59, text=name, globalTid=self.thread(event))

    def annotation(self, event):
        self.add("NVTX_EVENTS", **self.times(event), eventType=59, textId=self.text(event["name"]),
                 globalTid=self.thread(event))

    def call(self, event):
        self.add("CUPTI_ACTIVITY_KIND_RUNTIME", **self.times(event), eventClass=0, globalTid=self.thread(event),
                 correlationId=event["args"].get("correlation"), nameId=self.text(event["name"] + "_v7000"), returnValue=0)

    def kernel(self, event):
        args = event["args"]
        grid, block = args["grid"], args["block"]
        self.add("CUPTI_ACTIVITY_KIND_KERNEL", **self.activity(event), demangledName=self.text(event["name"]),
                 shortName=self.text(event["name"].split("(")[0]), registersPerThread=args["registers per thread"],
                 gridX=grid[0], gridY=grid[1], gridZ=grid[2], blockX=block[0], blockY=block[1], blockZ=block[2],
                 staticSharedMemory=0, dynamicSharedMemory=args["shared memory"], localMemoryPerThread=0, localMemoryTotal=0,
                 gridId=0)

    def copy(self, event):
        kind, source, target = re.fullmatch(r"Memcpy (\w+) \((\w+) -> (\w+)\)", event["name"]).groups()
        self.add("CUPTI_ACTIVITY_KIND_MEMCPY", **self.activity(event), bytes=event["args"]["bytes"],
                 copyKind=COPY_KINDS[kind], srcKind=MEMORY_KINDS[source], dstKind=MEMORY_KINDS[target])

    def set(self, event):
        kind = re.fullmatch(r"Memset \((\w+)\)", event["name"])[1]
        self.add("CUPTI_ACTIVITY_KIND_MEMSET", **self.activity(event), bytes=event["args"]["bytes"], value=0,
                 memKind=MEMORY_KINDS[kind])

    def sync(self, event):
        args = event["args"]
        self.add("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", **self.times(event), deviceId=args.get("device", 0),
                 contextId=args.get("context", 1), streamId=args.get("stream", 0xFFFFFFFF),
                 correlationId=args.get("correlation"), syncType=SYNC_KINDS.get(args.get("cuda_sync_kind"), 0), eventId=0)

    def finish(self):
        self.database.executemany("INSERT INTO StringIds VALUES (?, ?)", [(i, text) for text, i in self.texts.items()])
        self.database.commit()
        self.database.close()


def make(trace_path, report_path):
    trace = read_trace(trace_path)
    events = [e for e in trace["traceEvents"] if e.get("ph") == "X"]
    report = Report(report_path, int(min(e["ts"] for e in events)))
    add = {"cpu_op": report.op, "user_annotation": report.annotation, "cuda_runtime": report.call,
           "cuda_driver": report.call, "kernel": report.kernel, "gpu_memcpy": report.copy, "gpu_memset": report.set,
           "cuda_sync": report.sync}
    for event in events:
        if event.get("cat") in add:
            add[event["cat"]](event)
    for device in trace.get("deviceProperties", []):
        report.add("TARGET_INFO_GPU", vmId=0, id=device["id"], name=device["name"], totalMemory=device["totalGlobalMem"],
                   smCount=device["numSms"], cuDevice=device["id"], computeMajor=device["computeMajor"],
                   computeMinor=device["computeMinor"])
    report.finish()


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2])
