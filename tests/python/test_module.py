"""The module says what the command line says: same numbers, same errors, as objects and tables."""

import json
import os
import subprocess
import threading
import time
import warnings
from pathlib import Path

import pandas
import pytest
from pandas.api.types import is_numeric_dtype

import tandem

source = Path(os.environ["TANDEM_SOURCE"])
program = os.environ["TANDEM_PROGRAM"]
tiny = source / "tests/golden/replay/tiny.json"
resnet = source / "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst"
texts = {"name", "family", "bound", "bound_law", "run", "kind", "op", "layer", "code", "severity", "description",
         "from", "to", "values", "followed_by", "reason"}


def command_line(*arguments):
    environment = {**os.environ, "TANDEM_ROOT": str(source)}
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def result():
    return tandem.replay(resnet, batch=64, gpu="a100_sxm4_80gb", mode="cuda-graph")


def test_equals_the_command_line(result):
    done = command_line("replay", resnet, "--batch", 64, "--gpu", "a100_sxm4_80gb", "--mode", "cuda-graph", "--json", "-")
    assert json.loads(done.stdout) == result.to_dict()


def test_scalars_are_attributes(result):
    assert result.step.time_us == result.to_dict()["step"]["time_us"] > 0
    assert result.band.low_us < result.step.time_us < result.band.high_us
    assert result.scenario.gpu == "a100_sxm4_80gb" and result.scenario.batch == 64
    assert result.step.energy.dram_j > 0
    assert "step time" in str(result) and "kernels" in dir(result) and "kernels" in repr(result)
    with pytest.raises(AttributeError, match="found 'kernel', expected one of: .*kernels"):
        result.kernel


@pytest.mark.parametrize("table", ["kernels", "ops", "layers", "families", "critical_path", "activities"])
def test_tables_are_numeric(result, table):
    rows = getattr(result, table)
    assert isinstance(rows, pandas.DataFrame) and len(rows) > 3
    numeric = [name for name in rows if is_numeric_dtype(rows[name])]
    assert set(rows) - set(numeric) <= texts
    assert "time_us" in numeric or "simulated_us" in numeric
    assert getattr(result, table) is rows


def test_tables_hold_the_step(result):
    assert result.kernels.time_us.sum() == pytest.approx(result.step.gpu_kernel_us)
    assert result.layers.time_us.sum() == pytest.approx(result.step.gpu_kernel_us)
    scenario = result.activities[result.activities.run == "scenario"]
    assert scenario.simulated_us.sum() == pytest.approx(result.step.gpu_kernel_us, rel=1e-3)
    assert len(scenario) == result.kernels["count"].sum()


def test_unknown_numbers_are_numeric(tmp_path):
    """A trace of a GPU that nobody described has no counters: NaN, not None."""
    trace = json.loads(tiny.read_text())
    for device in trace["deviceProperties"]:
        device.update(name="Nobody's GPU", numSms=7, computeMajor=3, totalGlobalMem=1 << 30)
    path = tmp_path / "unknown.json"
    path.write_text(json.dumps(trace))
    families = tandem.replay(path, allow_data_loss=True).kernels
    assert is_numeric_dtype(families.waves) and families.waves.isna().all()


@pytest.mark.parametrize("options", [
    {"batch": -3}, {"batch": "x"}, {"gpu": "h300"}, {"no_such_option": 1}, {"mode": "fast"}, {"precision": "fp7"},
    {"measured_step": -1}, {"traced_batch": 0}, {"graph_scope": "all"}, {"steps": 2, "step": "x"}])
def test_errors_are_those_of_the_command_line(options):
    with pytest.raises(tandem.InputError) as error:
        tandem.replay(resnet, **options)
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]
    done = command_line("replay", resnet, *arguments)
    assert done.returncode == 2
    assert done.stderr == f"tandem: {error.value}\n"
    assert isinstance(error.value, ValueError)


@pytest.mark.parametrize("path", ["no-such-trace.json", "", b"not\xffutf8.json", Path("/"), "with\nline.json"])
def test_paths_that_are_no_trace(path):
    with pytest.raises(tandem.InputError, match="found .*, expected "):
        tandem.replay(path)


def test_no_trace_and_wrong_types():
    with pytest.raises(tandem.InputError, match="no TRACE"):
        tandem.replay()
    with pytest.raises(TypeError):
        tandem.replay(3)
    with pytest.raises(TypeError):
        tandem.run()


def test_options_are_the_command_lines():
    for call, command in [(tandem.replay, "replay"), (tandem.run, "run")]:
        help_text = command_line(command, "--help").stdout.strip()
        assert len(help_text) > 1000 and help_text in call.__doc__


def test_values_of_options(tmp_path):
    plain = tandem.replay(resnet, batch=None, quiet=False).to_dict()
    assert plain == tandem.replay(resnet).to_dict()
    twice = tandem.replay(resnet, set=["gpu.sm_count=66", "gpu.l2_bytes=20971520"]) if "--set" in tandem.replay.__doc__ else None
    assert twice is None or twice.step.time_us > 0
    files = {name: tmp_path / name for name in ("result.json", "timeline.json", "kernels.csv")}
    written = tandem.replay(resnet, out=tmp_path)
    assert json.loads(files["result.json"].read_text()) == written.to_dict()
    assert files["kernels.csv"].read_bytes() == written._answer.kernels_csv()
    assert json.loads(files["timeline.json"].read_text())["traceEvents"]


def test_lost_data_is_a_warning(tmp_path):
    path = tmp_path / "lossy.json"
    path.write_text(tiny.read_text().replace('"dur":80,', '"dur":-80,'))
    assert command_line("replay", path).returncode == 3
    with pytest.warns(tandem.DataLossWarning):
        result = tandem.replay(path)
    assert (result.data_loss.severity == "data_loss").any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tandem.replay(path, allow_data_loss=True)
        tandem.sweep(path, batch=[8], allow_data_loss=True)
    with pytest.warns(tandem.DataLossWarning):
        sweep = tandem.sweep(path, batch=[8])
    assert any(loss["severity"] == "data_loss" for loss in sweep.to_dict()["data_loss"])


def test_run_a_network():
    result = tandem.run("resnet50", gpu="h200_sxm", batch=32, precision="amp")
    done = command_line("run", "resnet50", "--gpu", "h200_sxm", "--batch", 32, "--precision", "amp", "--json", "-")
    theirs, ours = json.loads(done.stdout), result.to_dict()
    theirs["trace"].pop("path"), ours["trace"].pop("path")  # of the network's file: here the wheel's
    assert ours == theirs
    with pytest.raises(tandem.InputError):
        tandem.run("no_such_network")


def sweep_file(tmp_path, **more):
    experiment = {"schema": "tandem.experiment/1", "trace": str(resnet),
                  "axes": {"batch": [16, 64], "gpu": ["h200_sxm", "a100_sxm4_80gb"], "gpu.sm_count": {"scale": [0.5, 1]}}}
    path = tmp_path / "experiment.json"
    path.write_text(json.dumps({**experiment, **more}))
    return path


def test_sweep_equals_the_command_line(tmp_path):
    path = sweep_file(tmp_path, pareto={"x": "energy_j", "y": "throughput_per_s"},
                      elasticity={"parameters": ["gpu.sm_count", "gpu.l2_bytes"]})
    swept = tandem.sweep(path, threads=2)
    assert command_line("sweep", path, "--out", tmp_path / "out", "--quiet").returncode == 0
    theirs = json.loads((tmp_path / "out/sweep.json").read_text())
    assert swept.to_dict() == theirs
    points = swept.points
    assert len(points) == 8 and swept.failed == 0 and list(points["batch"]) == [16] * 4 + [64] * 4
    for point, (_, row) in zip(theirs["points"], points.iterrows(), strict=True):
        values = point.get("values", point.get("metrics"))
        assert row.time_us == values["time_us"] and row.energy_j == values["energy_j"]
    assert set(points.index[points.pareto]) == set(theirs["pareto"]["points"])
    assert set(swept.elasticities.parameter) == {"gpu.sm_count", "gpu.l2_bytes"}
    text = {name for name in points if not is_numeric_dtype(points[name])}
    assert text == {"gpu", "gpu.sm_count", "error"}


def test_sweep_without_a_file(tmp_path):
    path = sweep_file(tmp_path)
    asked = tandem.sweep(resnet, batch=[16, 64], gpu=["h200_sxm", "a100_sxm4_80gb"],
                         axes={"gpu.sm_count": {"scale": [0.5, 1]}}).points
    columns = ["batch", "gpu", "gpu.sm_count", "time_us"]
    of_file = tandem.sweep(path).points.sort_values(columns[:3])[columns].reset_index(drop=True)
    assert asked.sort_values(columns[:3])[columns].reset_index(drop=True).equals(of_file)
    assert len(tandem.sweep("resnet50", gpu="h200_sxm", batch=[32]).points) == 1


@pytest.mark.parametrize("source, options, message", [
    (resnet, {"batch": ["x"]}, "sweep:axes.batch"), (resnet, {"colour": [1]}, 'unknown axis "colour"'),
    (resnet, {"batch": []}, "an empty list"), (resnet, {"measured_step_s": 0.01}, "no axis"),
    ("no-such.json", {}, "no-such.json: found No such file"), ("no-such.json", {"batch": [1]}, "no-such.json: found"),
    ({"schema": "tandem.experiment/1"}, {}, 'no key "trace"'), (tiny, {}, "unknown key")])
def test_sweeps_that_cannot_be(source, options, message):
    with pytest.raises(tandem.InputError) as error:
        tandem.sweep(source, **options)
    assert message in str(error.value)


def test_other_threads_run_meanwhile():
    """A replay in a thread must not hold the GIL: this thread counts on while it runs."""
    began, counted = threading.Event(), 0

    def work():
        began.set()
        tandem.sweep(resnet, batch=list(range(8, 48)), threads=1)

    thread = threading.Thread(target=work)
    thread.start()
    began.wait()
    while thread.is_alive():
        counted += 1
        time.sleep(0.001)
    thread.join()
    assert counted > 20


def test_threads_agree():
    found = []
    threads = [threading.Thread(target=lambda: found.append(tandem.replay(resnet, batch=64).to_dict())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4 and all(one == found[0] for one in found)


def test_advice_equals_the_command_line():
    found = tandem.advise(resnet, gpu="a100_sxm4_80gb")
    done = command_line("advise", resnet, "--gpu", "a100_sxm4_80gb", "--json", "-")
    assert json.loads(done.stdout) == found.to_dict()
    assert len(found.rows) > 5 and is_numeric_dtype(found.rows["time_us"])
    with pytest.raises(tandem.InputError, match="found .*, expected "):
        tandem.advise("no_such_file.json")


def test_diff_of_traces_and_results(result):
    before = tandem.replay(resnet)
    found = tandem.diff(before, result)
    assert found.attributed_share == pytest.approx(1)
    assert found.b.time_us == pytest.approx(result.step.time_us, abs=1e-3)
    assert found.ops.rows["change_us"].sum() == pytest.approx(found.change_us, abs=0.1)
    same = tandem.diff(resnet, resnet)
    assert same.change_us == 0 and same.to_dict() == json.loads(command_line("diff", resnet, resnet, "--json", "-").stdout)
