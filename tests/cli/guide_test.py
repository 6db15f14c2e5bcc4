#!/usr/bin/env python3
"""guide_test.py PROGRAM: README.md and docs/guide.md say what the program does. Every command in them runs, every option in them is
one of the program's and each of the program's is in one of them, and what they print as output is what the program prints, numbers
apart, which change with what is measured. Errors that README.md gives with their number of steps are those of docs/accuracy.md."""

import itertools
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from checks import check, end

ROOT = Path(os.environ["TANDEM_ROOT"])
PROGRAM = os.path.abspath(sys.argv[1])
CAPTURES = ROOT / "validation/captures"
FIT = CAPTURES / "h200_2026-11-20_fit"
DOCUMENTS = ("README.md", "docs/guide.md")
# What the documents call the files of their readers.
FILES = {
    "trace.json.gz": FIT / "traces/resnet50-train-amp-eager-b32.json.zst",  # compressed is compressed, whatever the name
    "other.json.gz": FIT / "traces/resnet50-train-fp32-eager-b32.json.zst",
    "runs/one.json.gz": FIT / "traces/resnet50-train-fp32-eager-b32.json.zst",
    "ncu.csv": FIT / "counters/resnet50-train-amp-eager-b32.csv.zst",
    "rank0.json.gz": CAPTURES / "h200_2026-11-22_ranks2_fit/traces/resnet18-train-amp-eager-b128-w2.rank0.json.zst",
    "rank1.json.gz": CAPTURES / "h200_2026-11-22_ranks2_fit/traces/resnet18-train-amp-eager-b128-w2.rank1.json.zst",
    "step.sqlite": ROOT / "tests/sqlite/resnet18-train-fp32-h100.nsys.sqlite.zst",
    "model.onnx": ROOT / "tests/unit/workloads/onnx/models/resnet50-train.onnx",
    "xprof.json": CAPTURES / "cpu_2026-11-22_tensorflow_fit/traces/bert_infer_b1_async.json.zst",
}
# What stands for something of the reader's own, the longer ones first.
WORDS = {
    "TRACE=SECONDS": "trace.json.gz=0.0164", "EXPERIMENT.json": str(ROOT / "configs/experiments/resnet50.json"), "FILE.html": "page.html", "NCU.csv": "ncu.csv",
    "NETWORK": "lenet5", "COMMAND": "replay", "TRACE": "trace.json.gz", "XPROF": "xprof.json", "DIR": "runs",
    "--kernel NAME": "--kernel elementwise", "schema NAME": "schema result", "metric NAME": "metric time", "NAME": "", "--blocks B": "--blocks 132",
    "--threads T": "--threads 256", "diff A B": "diff trace.json.gz other.json.gz",
}
SLOW = {"validate": "the tests of the rung validation", "test": "ctest", "python": "the tests of Python"}
NOT_OURS = {"--trace", "--cuda-graph-trace", "--output", "--type", "--build", "--install", "--prefix", "--rm", "--hostfile", "--enable-recovery"}


def blocks(text):
    """The fenced blocks, without their fences."""
    return [match[2] for match in re.finditer(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def quoted(text):
    """What stands between backquotes, outside of the blocks."""
    return re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))


def commands(text):
    """Every command of tandem, in a block or between backquotes."""
    lines = [line for block in blocks(text) for line in block.splitlines()]
    found = [m[1] for line in lines if (m := re.match(r"(?:\$ )?(?:\./)?tandem( .*)", line))]
    found += [m[1].replace("\n", " ") for code in quoted(text) if (m := re.fullmatch(r"(?:\./)?tandem( .+)", code, re.DOTALL))]
    return sorted({command.split("#")[0].strip() for command in found})


def runnable(command):
    """The command lines that a pattern stands for: one an alternative, without what may be left out."""
    command = re.sub(r"\[[^\]]*\]|\.\.\.", "", command.replace("\\|", "|"))
    words = [word.split("|") if not word.startswith("-") else [word] for word in command.split()]
    for choice in itertools.product(*words):
        line = " ".join(choice)
        for name, meant in WORDS.items():
            line = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w.])", meant, line)
        yield line


def run(arguments, folder):
    return subprocess.run([PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, timeout=300)


def run_command(line, folder):
    words = shlex.split(line)
    if not words or words[0] in SLOW:
        return
    if words == ["calibrate", "energy"] or words == ["calibrate", "cache"] or words == ["calibrate", "host"] or words == ["describe"]:
        words.append("--help")
    if words[0] == "replay" and len(words) == 1:
        return
    if "xprof.json" in words:
        words += ["--traced-gpu", "v100_sxm2_32gb", "--allow-data-loss"]
    arguments = [str(path) for word in words for path in (sorted(Path(folder).glob(word)) if "*" in word else [word])]
    done = run(arguments, folder)
    check(done.returncode == 0, f"tandem {line}: exit {done.returncode}: {done.stderr}")


def helps_of_the_program(folder):
    helps = [["--help"]] + [[name, "--help"] for name in re.findall(r"^  (\w+)", run(["--help"], folder).stdout, re.MULTILINE)]
    for name in ("calibrate", "describe"):
        helps += [[name, part, "--help"] for part in re.findall(r"^  ([\w-]+)", run([name, "--help"], folder).stdout, re.MULTILINE)]
    check(len(helps) > 15, f"commands: {helps}")
    return "".join(run(arguments, folder).stdout for arguments in helps)


def code_of(text):
    return " ".join(blocks(text) + quoted(text))


def check_options(texts, helps):
    mentioned = set(re.findall(r"--[a-z][a-z-]+", helps)) | {"--help", "--version"}
    for name, text in texts.items():
        unknown = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+(?![\w>-])", code_of(text))) - mentioned - NOT_OURS
        check(not unknown, f"{name}: no options of tandem: {unknown}")
    own = set(re.findall(r"^  (?:-\w \[ )?(--[a-z][a-z-]*)", helps, re.MULTILINE))
    check(len(own) > 50, f"options of the program: {own}")
    documented = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", " ".join(map(code_of, texts.values()))))
    check(own <= documented, f"options that neither {' nor '.join(texts)} explains: {own - documented}")


def measured_errors():
    """Of each question of docs/accuracy.md: comparisons, their mean and their worst error, in percent."""
    found = []
    for section in (ROOT / "docs/accuracy.md").read_text().split("\n## ")[1:]:
        sets = [(int(n), float(mean), float(worst))
                for n, mean, worst in re.findall(r"^\| .*? \| (\d+) \| ([\d.]+) % \| ([\d.]+) %", section, re.MULTILINE)]
        if sets:
            number = sum(n for n, _, _ in sets)
            found.append((number, sum(n * mean for n, mean, _ in sets) / number, max(worst for _, _, worst in sets)))
    return found


def check_errors(text):
    """Figures like "2.9 % on 485 pairs" and "7 % on 74 (worst 32)": some question has as many, and such errors."""
    def rounded(shown, exact):
        half = 0.5 * 10 ** -len(shown.partition(".")[2])
        return abs(float(shown) - exact) <= half + 0.01    # the table is rounded, too

    questions = measured_errors()
    check(len(questions) > 50, f"docs/accuracy.md: {len(questions)} questions")
    figures = re.findall(r"([\d.]+) % on (\d+)(?: (?:pairs|steps)\b| (?=\(worst))(?: ?\(worst (\d+)\))?", text)
    check(len(figures) >= 5, f"README.md: figures with their number: {figures}")
    for mean, number, worst in figures:
        check(any(n == int(number) and rounded(mean, exact) and (not worst or rounded(worst, most)) for n, exact, most in questions),
              f"README.md: {mean} % on {number}{' (worst ' + worst + ')' if worst else ''}: no question of docs/accuracy.md says so")


def plain(text):
    """Without numbers, and without the breaks and blanks that depend on how long they are."""
    return re.sub(r"\s+", " ", re.sub(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", "#", text)).strip()


def check_output(document, begins, printed):
    """The block that begins so, cut where it leaves rows out, stands in what is printed."""
    found = [block for block in blocks((ROOT / document).read_text()) if block.startswith(begins)]
    check(len(found) == 1, f"{document}: {len(found)} blocks begin with {begins}")
    for block in found:
        shown = block[len(begins):] if begins.startswith("$") else block
        pieces = [plain(piece) for piece in re.split(r"^ *\.\.\.(?= *$)", shown, flags=re.MULTILINE)]
        for piece in pieces:
            check(piece in plain(printed), f"{document}: this is printed no more: {piece}")


def main():
    texts = {name: (ROOT / name).read_text() for name in DOCUMENTS}
    with tempfile.TemporaryDirectory() as folder:
        for name, source in FILES.items():
            target = Path(folder) / name
            target.parent.mkdir(exist_ok=True)
            shutil.copy(source, target)
        check_options(texts, helps_of_the_program(folder))
        check_errors(texts["README.md"])
        run_command("calibrate host trace.json.gz=0.0164 --out mine.json", folder)
        lines = sorted({line for text in texts.values() for command in commands(text) for line in runnable(command)
                        if not line.startswith("diff resnet18")})
        check(len(lines) > 40, f"commands: {lines}")
        for line in lines:
            run_command(line, folder)
        query = re.search(r'sqlite3 step.sqlite "(.*?)"', texts["docs/guide.md"])[1]
        rows = sqlite3.connect(Path(folder) / "step.sqlite").execute(query).fetchall()
        check(len(rows) == 5 and all(len(row) == 3 for row in rows), f"{query}: {rows}")
        demo = str((FIT / "traces/resnet50-train-amp-eager-b32.json.zst").relative_to(ROOT))
        check_output("README.md", "trace      ", run(["replay", demo, "--out", folder], ROOT).stdout)
        check_output("docs/guide.md", "trace      ", run(["advise", demo], ROOT).stdout)
        pair = [f"resnet18-train-fp32-{mode}-b128.json.zst" for mode in ("eager", "compile")]
        [where] = {path.parent for path in CAPTURES.glob(f"*/traces/{pair[1]}")}
        check_output("docs/guide.md", f"$ tandem diff {' '.join(pair)}\n", run(["diff", *pair], where).stdout)
    end(least=60)


if __name__ == "__main__":
    main()
