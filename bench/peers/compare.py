"""compare.py HTA_PYTHON TANDEM TRACE...: HolisticTraceAnalysis and tandem on the same traces; a table in Markdown.

Seconds are processor time (user and system) of the whole process, so that a busy machine does not decide; memory is its peak.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

hta_python, tandem, traces = sys.argv[1], sys.argv[2], sys.argv[3:]
sys.path.append(str(Path(__file__).parents[2] / "tests/sqlite"))
from make_report import decompress  # of zstd, which HTA does not read


def measured(command):
    """Output, processor seconds, peak in MB."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    output = process.stdout.read()
    _, _, usage = os.wait4(process.pid, 0)
    return output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


rows, errors, asked = [], {}, set()
with tempfile.TemporaryDirectory() as folder:
    for trace in traces:
        plain = Path(folder) / (Path(trace).name.split(".json")[0] + ".json")
        content = Path(trace).read_bytes()
        plain.write_bytes(decompress(content) if trace.endswith(".zst") else content)
        output, hta_s, hta_mb = measured([hta_python, str(Path(__file__).with_name("hta_questions.py")), str(plain)])
        hta = json.loads(output.splitlines()[-1])
        errors.update(hta["errors"])
        asked.update(hta["answers"])
        output, tandem_s, tandem_mb = measured([tandem, "replay", str(plain), "--json", "-", "--allow-data-loss"])
        result = json.loads(output)
        steps = result["fidelity"]["steps"]
        replayed = sum(s["simulated_us"] for s in steps) / sum(s["traced_us"] for s in steps)
        share = hta.get("critical_path_share")
        rows.append([plain.stem, f"{plain.stat().st_size / 1e6:.1f}", f"{hta_s:.2f}", f"{tandem_s:.2f}", f"{hta_s / tandem_s:.0f}",
                     f"{hta_mb:.0f}", f"{tandem_mb:.0f}", "none" if share is None else f"{share:.0%}", f"{replayed:.1%}"])
        plain.unlink()

header = ["trace", "MB", "HTA s", "tandem s", "times", "HTA MB", "tandem MB", "of the traced step: HTA's critical path", "tandem's replay"]
for row in [header, ["---"] * len(header), *rows]:
    print("| " + " | ".join(row) + " |")
print(f"\nHTA answered: {', '.join(sorted(asked))}.")
for question, error in errors.items():
    print(f"HTA failed: {question}: {error}")
