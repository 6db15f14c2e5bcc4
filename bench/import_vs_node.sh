#!/usr/bin/env bash
# Ingest against Node's JSON.parse on one uncompressed trace, and peak memory against its bound on a
# file of more than 500 MB: bench/import_vs_node.sh [BUILD_DIR]. Files go to $TMPDIR and are removed.
# Exit 1 if ingest is less than 3 times as fast or needs more than 1.2 x trace + 64 MiB.
set -euo pipefail

root=$(dirname -- "$(readlink -f -- "$0")")/..
import_once=${1:-$root/build}/bench/host/import_once
[[ -x $import_once ]] || {
  echo "import_vs_node: $import_once is not there; build with TANDEM_BUILD_BENCH=ON (./tandem bench)" >&2
  exit 2
}
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
failed=0

value() { sed -E "s/.*\b$1=([^ ]*).*/\1/" <<<"$2"; }
# The best of three runs: the machine may be shared.
best() { sort -g | tail -n 1; }

"$import_once" --write 400000 "$folder/medium.json"
ours=$(for _ in 1 2 3; do value mb_per_s "$("$import_once" "$folder/medium.json")"; done | best)
printf 'tandem          %8.0f MB/s on 150 MB\n' "$ours"
if command -v node >/dev/null; then
  nodes=$(for _ in 1 2 3; do
    node --max-old-space-size=8192 -e '
      const text = require("fs").readFileSync(process.argv[1], "utf8");
      const start = process.hrtime.bigint();
      const events = JSON.parse(text).traceEvents.length;
      const seconds = Number(process.hrtime.bigint() - start) / 1e9;
      console.log(events > 0 ? text.length / 1e6 / seconds : 0);' "$folder/medium.json"
  done | best)
  printf 'node JSON.parse %8.0f MB/s (without reading the file)\n' "$nodes"
  awk -v a="$ours" -v b="$nodes" 'BEGIN { printf "ratio           %8.1f\n", a / b; exit a < 3 * b }' || failed=1
else
  echo "node JSON.parse skipped: there is no node here"
fi
rm -- "$folder/medium.json"

"$import_once" --write 1600000 "$folder/large.json"
large=$("$import_once" "$folder/large.json") || failed=1
for stored in plain gzip; do
  if [[ $stored == gzip ]]; then
    gzip -1 -- "$folder/large.json"
    large=$("$import_once" "$folder/large.json.gz") || failed=1
  fi
  printf '%s, %.0f MB: %.0f MB/s, trace %.1f MiB, peak RSS %.1f MiB, bound %.1f MiB\n' "$stored" \
    "$(value json_mb "$large")" "$(value mb_per_s "$large")" "$(value trace_mib "$large")" \
    "$(value peak_rss_mib "$large")" "$(value bound_mib "$large")"
done
((failed == 0)) || echo "import_vs_node: a target is missed" >&2
exit "$failed"
