#!/usr/bin/env bash
# Collects the distinct names of operations in Kineto captures: collect_op_names.sh FILE... > op_names.txt
# (.json, .json.gz, .json.zst). Names that a compiler made up (numbered kernels) are left out.
set -euo pipefail
for file in "$@"; do
  case $file in
    *.gz) gzip -dc "$file" ;;
    *.zst) zstd -dc "$file" ;;
    *) cat "$file" ;;
  esac | python3 -c '
import json, sys
trace = json.load(sys.stdin)
for event in trace["traceEvents"]:
    if event.get("cat") in ("cpu_op", "Operator"):
        print(event["name"])'
done | grep -v '^triton_' | LC_ALL=C sort -u
