"""The README's and the notebook's code, as it stands."""

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pytest

import hivegraph as hg

ROOT = Path(__file__).parent.parent


def test_the_readmes_code_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    assert len(blocks) >= 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})


def test_the_tour_runs():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    cells = json.loads((ROOT / "examples" / "tour.ipynb").read_text())["cells"]
    names, code = {"__name__": "tour"}, [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 8 and not any(cell["outputs"] for cell in code)
    for cell in code:
        exec(compile("".join(cell["source"]), "tour.ipynb", "exec"), names)
    assert names["found"].paths["Helsinki"][0] == "Lisbon" and names["found"].verified == "yes"
    assert names["axes"].get_xlabel() == "flights from Lisbon"


def test_graphsage_learns():
    """The example, in NumPy: on samples that are handed on by DLPack."""
    spec = importlib.util.spec_from_file_location("graphsage", ROOT / "examples" / "graphsage.py")
    sage = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sage)
    graph, x, community = sage.two_communities()
    # Features alone say it of two thirds.
    assert ((x[:, 0] > 0) == community).mean() < 0.7
    for devices in ("host:1", "host:3"):
        assert sage.train(graph, x, community, devices=devices, use_torch=False) > 0.85

    # The gradients are those of differences.
    found = hg.sample(graph, sources=[1, 2, 3, 5, 8], fanouts=sage.FANOUTS, results="device", devices="host:1")
    blocks = [np.from_dlpack(found[name]) for name in ("source", "hop1", "hop2")]
    w = [one.astype(np.float64) for one in sage.weights(x.shape[1])]
    x, wanted = x.astype(np.float64), community[blocks[0]]

    def loss():
        scores, known = sage.forward(w, x, *blocks)
        return float((np.log(np.exp(scores).sum(1)) - scores[np.arange(5), wanted]).mean()), scores, known

    _, scores, known = loss()
    for one, by in zip(w, sage.gradients(w, scores, known, wanted)):
        for at in [(0, 0), (3, 1), (7, 1)]:
            one[at] += 1e-6
            above = loss()[0]
            one[at] -= 2e-6
            assert np.isclose(by[at], (above - loss()[0]) / 2e-6, rtol=1e-4, atol=1e-8)
            one[at] += 1e-6
