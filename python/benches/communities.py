"""Communities beside igraph's: `python communities.py HIVE GRAPH... > FILE`, a JSON line a graph and workload, times in ms.

HIVE is the program. Graphs are made undirected and simple, of weight 1. igraph's `community_multilevel` and `community_leiden` run five
times, with other seeds, the latter until an iteration changes nothing.

A graph is a file, or `planted:NODES:MIXING:SMALLEST:SEED`, which is made here: communities as Lancichinetti, Fortunato and Radicchi plant
them ("Benchmark graphs for testing community detection algorithms", Physical Review E 78, 2008). `planted` is 35 of these, of 1,000 to 20,000
nodes and a mixing of 0.1 to 0.5. Communities of 20 to 100 nodes are of all sizes; of many nodes, those of the highest modularity
are several of them together (Fortunato, Barthélemy, "Resolution limit in community detection", PNAS 104, 2007). So there are larger ones,
too. Lines have the adjusted Rand index of what was found and of what was planted, of each of igraph's runs, too, and the modularity of
what was planted.
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
PLANTED = [
    f"planted:{nodes}:{mixing}:{smallest}:{seed}"
    for seed, (nodes, smallest) in enumerate([(1000, 20), (5000, 20), (5000, 45), (10000, 20), (10000, 63), (20000, 20), (20000, 90)])
    for mixing in [0.1, 0.2, 0.3, 0.4, 0.5]
]
# Degrees, from and to, with the exponent of their power law.
DEGREES = (8, 50, 2)
# The largest community beside the smallest, and the exponent of the power law of sizes.
LARGEST, SIZES = 5, 1


def power_law(draw, low, high, exponent, many):
    """Whole numbers from low to high."""
    values = np.arange(low, high + 1)
    chances = values.astype(float) ** -exponent
    return draw.choice(values, many, p=chances / chances.sum())


def joined(draw, ends, group, apart):
    """Ends in pairs, of two groups where they are `apart`, none twice; ends that find no other are left out."""
    good = np.empty((0, 2), dtype=np.int64)
    for left in reversed(range(30)):
        ends = draw.permutation(ends)
        pairs = np.sort(ends[: len(ends) // 2 * 2].reshape(-1, 2), axis=1)
        pairs = np.concatenate([good, pairs])
        wrong = np.ones(len(pairs), dtype=bool)
        wrong[np.unique(pairs @ [len(group), 1], return_index=True)[1]] = False
        wrong |= pairs[:, 0] == pairs[:, 1]
        if apart:
            wrong |= group[pairs[:, 0]] == group[pairs[:, 1]]
        good, bad = pairs[~wrong], pairs[wrong]
        if left == 0 or len(bad) == 0:
            break
        # As many others are broken up, or the same pairs would be left.
        broken = draw.random(len(good)) < len(bad) / max(1, len(good))
        ends = np.concatenate([bad.ravel(), good[broken].ravel()])
        good = good[~broken]
    return good


def planted(nodes, mixing, smallest, seed):
    """The edges of a graph with communities, each once, and the community of each node."""
    draw = np.random.default_rng([seed, nodes, smallest, int(mixing * 1000)])
    degrees = power_law(draw, *DEGREES, nodes)
    outside = np.floor(degrees * mixing + draw.random(nodes)).astype(int)
    inside = degrees - outside
    room = power_law(draw, smallest, LARGEST * smallest, SIZES, nodes // smallest + 1)
    room = room[: np.searchsorted(np.cumsum(room), nodes) + 1]
    sizes = room.copy()
    group = np.empty(nodes, dtype=np.int64)
    # Nodes of many arcs first: a community has to be larger than what its nodes have inside.
    for v in np.argsort(-inside, kind="stable"):
        chances = np.where(sizes > inside[v], room, 0).astype(float)
        if chances.sum() == 0:
            chances = room.astype(float)
        group[v] = draw.choice(len(room), p=chances / chances.sum())
        room[group[v]] -= 1
    parts = [joined(draw, np.repeat(np.arange(nodes), outside), group, True)]
    for own in range(len(room)):
        members = np.flatnonzero(group == own)
        parts.append(joined(draw, np.repeat(members, inside[members]), group, False))
    pairs = np.unique(np.concatenate(parts), axis=0)
    return pairs, group


def saved(nodes, pairs, folder):
    """The edges as a matrix in a file of SciPy's."""
    both = np.concatenate([pairs, pairs[:, ::-1]])
    both = both[np.lexsort((both[:, 1], both[:, 0]))]
    ends = np.searchsorted(both[:, 0], np.arange(nodes + 1))
    path = os.path.join(folder, "planted.npz")
    parts = {"indptr": ends, "indices": both[:, 1], "data": np.ones(len(both), dtype=np.float32)}
    np.savez(path, format=b"csr", shape=[nodes, nodes], **parts)
    return path


def rand_index(a, b):
    """How alike two partitions are, but for chance: the adjusted Rand index, 1 of the same."""

    def pairs(names):
        counts = np.unique(names, axis=0, return_counts=True)[1].astype(float)
        return (counts * (counts - 1) / 2).sum()

    a, b = np.asarray(a), np.asarray(b)
    both, of_a, of_b = pairs(np.stack([a, b], axis=1)), pairs(a), pairs(b)
    chance = of_a * of_b / (len(a) * (len(a) - 1) / 2)
    return (both - chance) / ((of_a + of_b) / 2 - chance)


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
    graphs = [one for graph in graphs for one in (PLANTED if graph == "planted" else [graph])]
    for graph in graphs:
        with tempfile.TemporaryDirectory() as folder:
            file, group = graph, None
            if graph.startswith("planted:"):
                nodes, mixing, smallest, seed = graph.split(":")[1:]
                made, group = planted(int(nodes), float(mixing), int(smallest), int(seed))
                file = saved(int(nodes), made, folder)
            path, nodes, pairs = edges(hive, file, folder)
            record, rows = os.path.join(folder, "record.json"), os.path.join(folder, "rows.csv")
            own, alike = {}, {}
            for workload in ["louvain", "leiden"]:
                run = [hive, "run", workload, "--graph", path, "--weights", "unit", "--devices", "host:1"]
                subprocess.run([*run, "--runs", "3", "--verify", "--quiet", "--json", record], check=True)
                with open(record) as written:
                    own[workload] = json.load(written)
                if group is not None:
                    subprocess.run([*run, "--quiet", "--output", rows], check=True)
                    found = np.genfromtxt(rows, delimiter=",", skip_header=1, dtype=np.int64)
                    assert np.array_equal(found[:, 0], np.arange(nodes))
                    alike[workload] = rand_index(group, found[:, 1])
        other = igraph.Graph(n=nodes, edges=pairs.tolist())
        theirs = {
            "louvain": other.community_multilevel,
            "leiden": lambda: other.community_leiden(objective_function="modularity", n_iterations=-1),
        }
        for workload, record in own.items():
            found, times, indices = [], [], []
            for seed in range(RUNS):
                random.seed(seed)
                begin = time.perf_counter()
                parts = theirs[workload]()
                found.append(other.modularity(parts))
                times.append((time.perf_counter() - begin) * 1e3)
                if group is not None:
                    indices.append(rand_index(group, parts.membership))
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
            if group is not None:
                line["planted modularity"] = other.modularity(group.tolist())
                line["rand index"] = alike[workload]
                line["igraph"]["rand index"] = sum(indices) / RUNS
                line["igraph"]["rand indices"] = indices
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
