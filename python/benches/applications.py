"""Applications beside igraph, networkit and SciPy: `python applications.py HIVE GRAPH... > FILE`, a JSON line an application and a graph.

HIVE is the program. Graphs are made undirected and simple. Times are in ms: hive's is the median of three processes, from the graph in
memory to the answer, the layout included; the other's is the least of three calls, its graph made before. `equal` says whether answers were
compared, and are the same but for rounding. networkit has as many threads as there are cores; igraph and SciPy have one.
"""

import json
import os
import subprocess
import sys
import tempfile
import time

import igraph
import networkit
import numpy as np
import scipy
from scipy.sparse import csgraph, csr_array

from communities import edges

RUNS = 3
SOURCES = 16
EPSILON = 1e-6


def timed(call):
    """The least time of some calls, and the answer."""
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        answer = call()
        times.append((time.perf_counter() - begin) * 1e3)
    return min(times), answer


def hive(program, workload, path, *options, weights="unit"):
    """What hive takes, and its answer as an array of its CSV file."""
    took = []
    with tempfile.TemporaryDirectory() as folder:
        record, rows = os.path.join(folder, "record.json"), os.path.join(folder, "rows.csv")
        run = [program, "run", workload, "--graph", path, "--weights", weights, "--devices", "host:1", *options]
        for _ in range(RUNS):
            subprocess.run([*run, "--warmup", "0", "--quiet", "--json", record], check=True)
            with open(record) as file:
                own = json.load(file)
            took.append(own["prepare-and-run-ms"])
        subprocess.run([*run, "--quiet", "--verify", "--json", record, "--output", rows], check=True)
        with open(record) as file:
            own = json.load(file)
        table = np.genfromtxt(rows, delimiter=",", skip_header=1)
    return sorted(took)[RUNS // 2], table, own


def lcc(program, path, matrix, pairs):
    took, table, own = hive(program, "lcc", path)
    graph = networkit.GraphFromCoo((pairs[:, 0], pairs[:, 1]), n=matrix.shape[0])
    other, scores = timed(lambda: networkit.centrality.LocalClusteringCoefficient(graph, True).run().scores())
    return took, other, "networkit", bool(np.allclose(table[:, 1], scores)), own


def scan(program, path, matrix, pairs):
    took, table, own = hive(program, "scan", path)

    def neighbourhoods():
        closed = (matrix @ matrix).multiply(matrix).sum(axis=1)
        return np.asarray(closed).ravel() / 2 + np.diff(matrix.indptr)

    other, found = timed(neighbourhoods)
    return took, other, "SciPy", bool(np.array_equal(table[:, 1], found)), own


def mst(program, path, matrix, pairs):
    weights = 1.0 + (pairs[:, 0] * 7 + pairs[:, 1] * 13) % 101
    half = csr_array((weights, (pairs[:, 0], pairs[:, 1])), shape=matrix.shape)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "w.npz")
        scipy.sparse.save_npz(file, csr_array(half + half.T).astype(np.float32))
        took, table, own = hive(program, "mst", file, weights="file")
    other, forest = timed(lambda: csgraph.minimum_spanning_tree(half))
    return took, other, "SciPy", bool(table[:, 2].sum() == forest.sum()), own


def similar(program, path, matrix, pairs):
    took, table, own = hive(program, "similar", path)
    degrees = np.diff(matrix.indptr)

    def best():
        common = (matrix @ matrix).tocsr()
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(common.indptr))
        value = common.data / (degrees[rows] + degrees[common.indices] - common.data)
        value[rows == common.indices] = 0
        order = np.lexsort((common.indices, -value, rows))
        place = np.arange(len(rows)) - common.indptr[rows]
        kept = order[(place < 10)]
        return value[kept][value[kept] > 0]

    other, found = timed(best)
    return took, other, "SciPy", bool(np.allclose(table[:, 2], found)), own


def ppr(program, path, matrix, pairs):
    sources = [int(s) for s in np.argsort(-np.diff(matrix.indptr), kind="stable")[:SOURCES]]
    asked = ["--sources", ",".join(map(str, sources)), "--epsilon", str(EPSILON)]
    took, _, own = hive(program, "ppr", path, *asked)
    graph = igraph.Graph(n=matrix.shape[0], edges=pairs.tolist())
    other, _ = timed(lambda: [graph.personalized_pagerank(reset_vertices=s) for s in sources])
    return took, other, "igraph", None, own


def ppr_power(program, path, matrix, pairs):
    """By power iteration, whose values are compared: those of the hundred highest."""
    sources = [int(s) for s in np.argsort(-np.diff(matrix.indptr), kind="stable")[:SOURCES]]
    took, table, own = hive(program, "ppr", path, "--sources", ",".join(map(str, sources)), "--method", "power")
    graph = igraph.Graph(n=matrix.shape[0], edges=pairs.tolist())
    other, found = timed(lambda: [graph.personalized_pagerank(reset_vertices=s) for s in sources])
    right = dict(zip(sources, np.array(found)))
    off = max(abs(right[int(source)][int(node)] - value) for source, node, value in table)
    return took, other, "igraph", bool(off < 1e-5), own


def walk(program, path, matrix, pairs):
    took, _, own = hive(program, "walk", path, "--length", "40")
    graph = igraph.Graph(n=matrix.shape[0], edges=pairs.tolist())
    some = range(0, matrix.shape[0], max(1, matrix.shape[0] // 10_000))
    other, _ = timed(lambda: [graph.random_walk(v, 40) for v in some if graph.degree(v)])
    return took, other * matrix.shape[0] / len(some), "igraph", None, own


def main():
    program, graphs = sys.argv[1], sys.argv[2:]
    versions = {"igraph": igraph.__version__, "networkit": networkit.__version__, "SciPy": scipy.__version__}
    networkit.setNumberOfThreads(os.cpu_count())
    for graph in graphs:
        with tempfile.TemporaryDirectory() as folder:
            path, nodes, pairs = edges(program, graph, folder)
            both = np.concatenate([pairs, pairs[:, ::-1]])
            matrix = csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(nodes, nodes))
            for workload in (lcc, scan, mst, similar, ppr, ppr_power, walk):
                took, other, library, equal, own = workload(program, path, matrix, pairs)
                line = {
                    "graph": os.path.basename(graph),
                    "workload": workload.__name__,
                    "nodes": nodes,
                    "edges": len(pairs),
                    "ms": took,
                    "library": library,
                    "version": versions[library],
                    "its ms": other,
                    "equal": equal,
                    "verified": own["verified"],
                    "commit": own["commit"],
                    "cores": os.cpu_count(),
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
