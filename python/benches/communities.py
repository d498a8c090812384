"""Communities beside igraph's: `python communities.py HIVE GRAPH... > FILE`, a JSON line a graph and workload, times in ms.

HIVE is the program. Graphs are made undirected and simple, of weight 1. igraph's `community_multilevel` and `community_leiden` run five
times, with other seeds, the latter until an iteration changes nothing.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

import igraph
import numpy as np

RUNS = 5


def edges(hive, graph, folder):
    """The edges of the graph, each once, and the file that hive reads."""
    path = os.path.join(folder, "g.npz")
    simple = ["--duplicates", "first", "--self-loops", "drop", "--symmetrize", "--weights", "unit"]
    subprocess.run([hive, "convert", graph, path, "--quiet", *simple], check=True)
    with np.load(path) as matrix:
        ends, columns = matrix["indptr"], matrix["indices"]
    sources = np.repeat(np.arange(len(ends) - 1), np.diff(ends))
    once = sources < columns
    return path, len(ends) - 1, np.stack([sources[once], columns[once]], axis=1)


def main():
    hive, graphs = sys.argv[1], sys.argv[2:]
    for graph in graphs:
        with tempfile.TemporaryDirectory() as folder:
            path, nodes, pairs = edges(hive, graph, folder)
            record = os.path.join(folder, "record.json")
            own = {}
            for workload in ["louvain", "leiden"]:
                run = [hive, "run", workload, "--graph", path, "--weights", "unit", "--devices", "host:1"]
                subprocess.run([*run, "--runs", "3", "--verify", "--quiet", "--json", record], check=True)
                with open(record) as file:
                    own[workload] = json.load(file)
        other = igraph.Graph(n=nodes, edges=pairs.tolist())
        theirs = {
            "louvain": other.community_multilevel,
            "leiden": lambda: other.community_leiden(objective_function="modularity", n_iterations=-1),
        }
        for workload, record in own.items():
            found, times = [], []
            for seed in range(RUNS):
                random.seed(seed)
                begin = time.perf_counter()
                found.append(other.modularity(theirs[workload]()))
                times.append((time.perf_counter() - begin) * 1e3)
            line = {
                "graph": os.path.basename(graph),
                "workload": workload,
                "nodes": nodes,
                "edges": len(pairs),
                "modularity": record["modularity"],
                "ms": record["process-time"]["median"],
                "verified": record["verified"],
                "igraph": {
                    "version": igraph.__version__,
                    "mean": sum(found) / RUNS,
                    "best": max(found),
                    "ms": sorted(times)[RUNS // 2],
                },
                "commit": record["commit"],
                "cores": os.cpu_count(),
            }
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
