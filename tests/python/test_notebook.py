"""The notebook of the docs runs from top to bottom."""

import os
from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient", reason="the notebook is not run: nbclient is not installed")
nbformat = pytest.importorskip("nbformat")
pytest.importorskip("ipykernel", reason="the notebook is not run: ipykernel is not installed")


def test_notebook():
    notebook = nbformat.read(Path(os.environ["TANDEM_SOURCE"]) / "docs/python.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert len(cells) > 5 and all(cell.outputs for cell in cells[:5])
