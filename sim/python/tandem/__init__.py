"""What would another batch size, precision, compiler or GPU do to the step time of a training job?

    import tandem
    r = tandem.replay("trace.json.gz", batch=128, precision="amp")
    r.step.time_us, r.band.high_us        # numbers, named as in result.json
    r.kernels.nlargest(10, "time_us")     # tables are pandas DataFrames
    tandem.sweep("trace.json.gz", batch=[32, 64, 128], gpu=["h200_sxm", "a100_sxm4_80gb"]).points

Options are those of the command line, with "_" for "-": measured_step=0.0164 is --measured-step 0.0164, True is an option
without a value, a list repeats an option, None leaves it out. Wrong input raises InputError with the message of the command
line. Calls release the GIL.
"""

import json
import os
import tempfile
import warnings

from . import _tandem
from ._tandem import InputError

__version__ = _tandem.version
__all__ = ["DataLossWarning", "InputError", "Result", "Sweep", "Values", "advise", "diff", "replay",
           "run", "sweep"]


class DataLossWarning(UserWarning):
    """Part of the trace could not be used: see the result's data_loss. allow_data_loss=True accepts that."""


def _table(rows):
    """Rows of named values as a DataFrame; a column without any text is numeric, unknown values are NaN."""
    import pandas

    table = pandas.DataFrame(rows)
    for name in table.columns:
        if table[name].isna().all():
            table[name] = table[name].astype(float)
    return table


def _value(data):
    if isinstance(data, dict):
        return Values(data)
    if isinstance(data, list) and all(isinstance(row, dict) for row in data):
        return _table(data)
    return data


class Values:
    """An object of a result: its values are attributes, its lists of rows pandas DataFrames."""

    def __init__(self, data):
        self._data = data
        self._values = {}

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._data:
            raise AttributeError(f"found {name!r}, expected one of: {', '.join(self._data)}")
        if name not in self._values:
            self._values[name] = _value(self._data[name])
        return self._values[name]

    def __dir__(self):
        return [*super().__dir__(), *self._data]

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(self._data)})"

    def to_dict(self):
        """The same as plain dicts, lists, texts and numbers."""
        return json.loads(json.dumps(self._data))


class Result(Values):
    """What `tandem replay` or `tandem run` found: result.json as attributes, and the table of kernels."""

    def __init__(self, answer):
        super().__init__(json.loads(answer.json()))
        self._answer = answer

    @property
    def activities(self):
        """One row per kernel, copy and memset, of the trace and of the scenario: kernels.csv."""
        import io
        import pandas

        if "activities" not in self._values:
            self._values["activities"] = pandas.read_csv(io.BytesIO(self._answer.kernels_csv()))
        return self._values["activities"]

    def __str__(self):
        return self._answer.summary().decode(errors="replace")


class Sweep:
    """A finished sweep. `failed` counts the points that have an error in place of numbers."""

    def __init__(self, sweep):
        self._sweep = sweep
        self.failed = sweep.failed

    @property
    def points(self):
        """One row per point: its settings, every metric, whether no other point beats it (pareto), its error."""
        import numpy
        import pandas

        columns = {name: _numbers(texts) for name, texts in self._sweep.settings().items()}
        columns.update((name, numpy.frombuffer(data)) for name, data in self._sweep.metrics().items())
        columns["error"] = self._sweep.errors()
        columns["pareto"] = numpy.isin(numpy.arange(len(columns["error"])), self._sweep.front)
        return pandas.DataFrame(columns)

    @property
    def elasticities(self):
        """One row per number of the GPU: how much the metric follows it."""
        return _table(self.to_dict().get("elasticity", {}).get("parameters", []))

    def to_dict(self):
        """sweep.json."""
        return json.loads(self._sweep.json())


def _numbers(texts):
    """The column as numbers if all of it are."""
    import pandas

    try:
        return pandas.to_numeric(texts)
    except ValueError:
        return texts


def _arguments(places, options):
    """Arguments of a command: values without a name, then options."""
    arguments = [os.fsencode(place) for place in places]
    for name, value in options.items():
        flag = b"--" + os.fsencode(name.rstrip("_").replace("_", "-"))
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is None or one is False:
                continue
            text = one if isinstance(one, (str, bytes, os.PathLike)) else str(one)
            arguments += [flag] if one is True else [flag + b"=" + os.fsencode(text)]
    return arguments


def _warn_of_loss(stacklevel):
    warnings.warn("part of the trace could not be used (see data_loss); allow_data_loss=True accepts that",
                  DataLossWarning, stacklevel=stacklevel + 1)


def _result(answer):
    if answer.lossy:
        _warn_of_loss(stacklevel=3)
    return Result(answer)


def replay(*traces, **options):
    """Replays a profiler trace, or those of several ranks together, and predicts a scenario. Options:

    """
    return _result(_tandem.replay(_arguments(traces, options)))


def run(network, **options):
    """Predicts a step of a network without a trace and without a GPU. Options:

    """
    return _result(_tandem.run(_arguments([network], options)))


def advise(trace, **options):
    """What would make the step of a trace or a network faster: .rows, the best first, and .refused. Options:

    """
    return _values(_tandem.advise(_arguments([trace], options)))


def diff(a, b, **options):
    """Where the steps of two traces or results (of --json, or of replay and run) differ: .ops, .kinds, .device ... Options:

    """
    with tempfile.TemporaryDirectory() as folder:
        sides = [_file_of(side, os.path.join(folder, f"{name}.json")) for name, side in (("A", a), ("B", b))]
        return _values(_tandem.diff(_arguments(sides, options)))


def _values(text):
    found = json.loads(text)
    return None if found is None else Values(found)


def _file_of(side, path):
    """A result is written to `path`; what is a path already stays."""
    if not isinstance(side, Result):
        return side
    with open(path, "w", encoding="utf-8") as file:
        json.dump(side.to_dict(), file)
    return path


replay.__doc__ += _tandem.help_of_replay()
run.__doc__ += _tandem.help_of_run()
advise.__doc__ += _tandem.help_of_advise()
diff.__doc__ += _tandem.help_of_diff()


def sweep(source, *, axes=None, threads=0, allow_data_loss=False, **options):
    """Predicts a grid of scenarios in parallel.

    source: an experiment file (see configs/experiments), its content as a dict, or a trace or network whose axes are
    named here: batch=[32, 64], gpu=["h200_sxm"], axes={"gpu.sm_count": [66, 132]}. Keys of experiment files (base,
    measured_step_s, pareto, elasticity ...) may be named too. threads: 0 for as many as the machine has.
    allow_data_loss: no warning where part of the trace could not be used.
    """
    path = "sweep"
    if isinstance(source, dict):
        text = json.dumps(source)
    elif axes or options:
        experiment = {"schema": "tandem.experiment/1", "trace": os.fspath(source), "axes": dict(axes or {})}
        for name, value in options.items():
            if name in _tandem.experiment_keys():
                experiment[name] = value
            else:
                values = value if isinstance(value, (list, tuple, dict)) else [value]
                experiment["axes"][name.replace("_", "-")] = values
        text = json.dumps(experiment)
    else:
        path = os.fspath(source)
        text = _text_of(path)
    found = _tandem.sweep(text, os.fsencode(path), threads)
    if found.lossy and not allow_data_loss:
        _warn_of_loss(stacklevel=2)
    return Sweep(found)


def _text_of(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"{path}: found {error.strerror}, expected an experiment file") from None
