"""The README's and the notebook's code, as it stands."""

import json
import re
from pathlib import Path

import pytest

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
