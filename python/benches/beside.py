"""Times of the Python package beside NetworkX and SciPy, and what it takes to start: `python beside.py DATA --json FILE`.

DATA has email-Enron, soc-Slashdot0902 and cnr-2000 as Matrix Market files or edge lists. Each time is the least of three (of one
where it took more than ten seconds), in ms. "first" converts the graph, "again" finds it converted.
"""

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import networkx as nx
import numpy as np
import scipy.sparse as sp
import scipy.sparse.csgraph as cs

import hivegraph as hg

GRAPHS = {
    "email-Enron": "social/email-Enron.txt.gz",
    "soc-Slashdot0902": "social/soc-Slashdot0902.mtx.gz",
    "cnr-2000": "web/cnr-2000.mtx.gz",
}


def least(call, before=lambda: None):
    """The least time of some calls, in ms."""
    times = []
    while not times or (len(times) < 3 and times[0] < 10_000):
        before()
        begin = time.perf_counter()
        found = call()
        if hasattr(found, "__next__"):
            for _ in found:
                pass
        times.append((time.perf_counter() - begin) * 1e3)
    return round(min(times), 3)


def functions(graph, source):
    """Names, arguments, and what SciPy has of it: ten functions."""
    first = {"source": source}
    directed = graph.is_directed()
    weak = "weakly_connected_components" if directed else "connected_components"
    return [
        ("pagerank", {"weight": None}, None),
        ("single_source_shortest_path_length", first, lambda m: cs.dijkstra(m, indices=source, unweighted=True)),
        ("bfs_tree", first, lambda m: cs.breadth_first_order(m, source)),
        ("descendants", first, None),
        ("single_source_dijkstra_path_length", {**first, "weight": "weight"}, lambda m: cs.dijkstra(m, indices=source)),
        ("single_source_dijkstra_path", {**first, "weight": "weight"}, lambda m: cs.dijkstra(m, indices=source, return_predecessors=True)),
        (weak, {}, lambda m: cs.connected_components(m, connection="weak")),
        ("strongly_connected_components", {}, lambda m: cs.connected_components(m, connection="strong")) if directed else ("triangles", {}, None),
        ("core_number", {}, None),
        ("betweenness_centrality", {"k": 4, "seed": 1}, None),
    ]


def compared(data):
    rows = []
    for name, file in GRAPHS.items():
        loaded = hg.load(data / file, self_loops="drop", duplicates="min", weights="random:1-8:1")
        kind = nx.Graph if loaded.is_undirected() else nx.DiGraph
        matrix = loaded.to_scipy()
        graph = nx.from_scipy_sparse_array(matrix.astype(np.int64), create_using=kind)
        source = int(np.argmax(np.diff(matrix.indptr)))
        for function, given, scipys in functions(graph, source):
            call = getattr(nx, function)

            def forget():
                graph.__networkx_cache__.clear()

            ours = least(lambda: call(graph, **given, backend="hivegraph"), forget)
            again = least(lambda: call(graph, **given, backend="hivegraph"))
            theirs = least(lambda: call(graph, **given, backend="networkx"))
            row = {"graph": name, "function": function, "networkx-ms": theirs, "first-ms": ours, "again-ms": again}
            row["scipy-ms"] = None if scipys is None else least(lambda: scipys(matrix))
            print(row, file=sys.stderr)
            rows.append(row)
    return rows


def memory(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def large_csr(arcs):
    """A CSR matrix to PageRank: seconds until the layout begins, and memory beyond what was held."""
    rng = np.random.default_rng(1)
    nodes = 1 << 22
    per_row = arcs // nodes
    # Rows that rise: steps of random width.
    steps = rng.integers(1, 2 * nodes // per_row, (nodes, per_row), dtype=np.int32)
    np.cumsum(steps, axis=1, out=steps)
    steps %= nodes
    steps.sort(axis=1)
    offsets = np.arange(0, nodes * per_row + 1, per_row, dtype=np.int32)
    matrix = sp.csr_array((np.ones(nodes * per_row, dtype=np.float64), steps.ravel(), offsets), shape=(nodes, nodes))
    del steps
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    held, begin = memory("VmRSS"), time.perf_counter()
    graph = hg.graph(matrix)
    made = time.perf_counter()
    found = hg.pagerank(graph, iterations=1, tolerance=0, devices="host:1")
    whole = time.perf_counter() - begin
    stages = found.stages_ms
    layout = found.record["prepare"]["bytes_per_replica"]
    later = (stages["prepare"] + stages["run"] + stages["download"]) / 1e3
    return {
        "arcs": graph.arcs,
        "graph-s": round(made - begin, 3),
        "until-layout-s": round(whole - later, 3),
        "layout-s": round(stages["prepare"] / 1e3, 3),
        "peak-bytes": memory("VmHWM") - held,
        "layout-bytes": layout,
    }


def started(wheel):
    """What it takes to have the package: bytes of the wheel, ms and bytes of the import beyond NumPy's."""
    code = (
        "import time, numpy\n"
        "rss = lambda: int(open('/proc/self/statm').read().split()[1]) * 4096\n"
        "before, begin = rss(), time.perf_counter()\n"
        "import hivegraph\n"
        "print((time.perf_counter() - begin) * 1e3, rss() - before)\n"
    )
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() for _ in range(9)]
    return {
        "wheel-bytes": wheel.stat().st_size if wheel else None,
        "import-ms": round(min(float(ms) for ms, _ in runs), 3),
        "import-bytes": min(int(size) for _, size in runs),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--wheel", type=Path, help="the wheel that is installed, for its size")
    parser.add_argument("--arcs", type=int, default=100_000_000, help="arcs of the large matrix")
    parser.add_argument("--json", type=Path, required=True)
    asked = parser.parse_args()
    found = {
        "version": hg.__version__,
        "commit": hg.pagerank(hg.load("rmat:4")).record["commit"],
        "machine": {"processor": platform.processor() or platform.machine(), "cores": os.cpu_count()},
        "python": platform.python_version(),
        "networkx": nx.__version__,
        "start": started(asked.wheel),
        "csr": large_csr(asked.arcs),
        "rows": compared(asked.data),
    }
    found["peak-bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    asked.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
