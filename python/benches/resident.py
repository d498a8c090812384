"""From a matrix of SciPy to distances on one GPU, beside the program: `python resident.py HIVE [SCALE] >> FILE`.

The same R-MAT graph, by the program from a .hive file in the page cache, and by the package from a CSR matrix with weights of
float32: the time from the matrix to distances in NumPy, once CUDA has started, and that of more sources. Each is the median of
several; both are to end with the same distances.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import hivegraph as hg

SOURCE, TURNS, SOURCES = 1, 5, 60


def taken(call):
    """What a call returns, and its time in ms."""
    begin = time.perf_counter()
    found = call()
    return found, (time.perf_counter() - begin) * 1e3


def median(times):
    return round(float(np.median(times)), 3)


def by_program(hive, folder, spec):
    """Ms of whole processes, and of what follows the start of CUDA; the distances."""
    file = Path(folder, "graph.hive")
    subprocess.run([hive, "convert", spec, file], check=True, capture_output=True)
    whole, later = [], []
    run = [hive, "run", "sssp", "--graph", file, "--source", str(SOURCE), "--devices", "cuda:0", "--runs", "1"]
    for _ in range(TURNS):
        record = Path(folder, "record.json")
        subprocess.run([*run, "--json", record], check=True, capture_output=True)
        found = json.loads(record.read_text())
        clock = found["end-to-end"]
        whole.append(clock["total"])
        later.append(clock["total"] - clock["devices"])
    answer = Path(folder, "distances.npy")
    subprocess.run([*run, "--output", answer], check=True, capture_output=True)
    times = {"commit": found["commit"], "whole-ms": median(whole), "after-cuda-ms": median(later)}
    return times, np.load(answer)


def by_package(matrix, wanted):
    """Ms from the matrix to distances, and of further sources."""
    run = {"devices": "cuda:0"}
    hg.bfs(hg.load("rmat:10"), 1, **run)
    first = []
    for _ in range(TURNS):
        (graph, found), ms = taken(lambda: (graph := hg.graph(matrix), np.asarray(hg.sssp(graph, SOURCE, **run).distance)))
        assert np.array_equal(found, wanted)
        first.append(ms)
    degrees = np.asarray(graph.degree())
    sources = np.random.default_rng(1).choice(np.flatnonzero(degrees), SOURCES).tolist()
    times = {}
    for where in ("device", "host"):
        later, runs = [], []
        for source in sources:
            found, ms = taken(lambda: hg.sssp(graph, source, results=where, **run))
            later.append(ms)
            runs.append(found.ms[0])
            del found
        times[where] = later
        times["run"] = runs
    return {
        "first-ms": round(first[0], 3),
        "to-distances-ms": median(first),
        "source-on-device-ms": median(times["device"]),
        "source-on-host-ms": median(times["host"]),
        "run-ms": median(times["run"]),
    }


def main():
    hive, scale = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "24"
    with tempfile.TemporaryDirectory() as folder:
        program, wanted = by_program(hive, folder, f"rmat:{scale}")
        loaded = hg.load(str(Path(folder, "graph.hive")))
        matrix = loaded.to_scipy()
        del loaded
        package = by_package(matrix, wanted)
    record = hg.sssp(hg.load("rmat:10"), 1, devices="cuda:0").record
    device = record["fleet"]["devices"][0]["name"]
    line = {"commit": record["commit"], "device": device, "graph": f"rmat:{scale}", "arcs": matrix.nnz}
    print(json.dumps({**line, "program": program, "package": package}))


if __name__ == "__main__":
    main()
