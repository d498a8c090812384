"""Centralities by distance: those of igraph and NetworkX on random graphs and on real ones."""

import pathlib
import random

import hivegraph as hg
import networkx as nx
import numpy as np
import pytest

ig = pytest.importorskip("igraph")

DATA = pathlib.Path(__file__).parents[3] / "shared/data"
REAL = [
    "social/facebook_combined.txt.gz",
    "social/wiki-Vote.txt.gz",
    "social/email-Enron.txt.gz",
    "social/loc-brightkite.mtx.gz",
    "social/soc-Slashdot0902.mtx.gz",
]


def drawn(seed):
    """Nodes, arcs with weights, and whether they go one way; in parts, weights whole or not."""
    rng = random.Random(seed)
    n, directed = rng.choice([2, 5, 12, 30, 60]), seed % 2 == 1
    weights = rng.choice([[1], [1, 2, 3], [1, 5, 9, 200], [0.5, 0.25, 3.0], [0.1, 0.3, 1.7]])
    weights = np.float32(weights).tolist()
    pairs = {tuple(rng.sample(range(n), 2)) for _ in range(rng.choice([0, n // 2, n, 3 * n]))}
    if not directed:
        pairs = {tuple(sorted(pair)) for pair in pairs}
    return n, [(u, v, rng.choice(weights)) for u, v in sorted(pairs)], directed


def close(ours, theirs):
    return np.allclose(np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float), rtol=1e-9, atol=1e-12)


def engines(n, arcs, directed):
    """The same graph of the engine, igraph and NetworkX."""
    columns = [np.array(column) for column in zip(*arcs)] if arcs else [np.zeros(0, int), np.zeros(0, int), np.zeros(0)]
    ours = hg.Graph.from_arcs(*columns, nodes=n, directed=directed)
    theirs = ig.Graph(n, [arc[:2] for arc in arcs], directed=directed)
    theirs.es["weight"] = [arc[2] for arc in arcs]
    other = (nx.DiGraph if directed else nx.Graph)()
    other.add_nodes_from(range(n))
    other.add_weighted_edges_from(arcs)
    return ours, theirs, other


@pytest.mark.parametrize("part", range(4))
def test_random_graphs(part):
    # igraph's closeness is of the nodes that reach a node alone; ours and NetworkX's weighs it by their share of all. igraph counts a
    # pair of an undirected graph once, and normalizes harmonic centrality by the others.
    for seed in range(part, 200, 4):
        n, arcs, directed = drawn(seed)
        ours, theirs, other = engines(n, arcs, directed)
        for weighted in (False, True):
            weight = "weight" if weighted and arcs else None
            found = hg.closeness(ours, devices="host:2", weighted=weighted, precision="f64" if weighted else "auto")
            share = found.reached / (n - 1)
            near = np.nan_to_num(theirs.closeness(mode="in", weights=weight, normalized=True)) * share
            # Where a node is reached by nobody it is not a number.
            assert close(found.closeness, near), (seed, weighted)
            assert close(found.harmonic, np.array(theirs.harmonic_centrality(mode="in", weights=weight)) * (n - 1)), (seed, weighted)
            assert close(found.closeness, list(nx.closeness_centrality(other, distance=weight).values())), (seed, weighted)
            assert close(found.harmonic, list(nx.harmonic_centrality(other, distance=weight).values())), (seed, weighted)
            if not weighted:
                assert close(found.eccentricity, theirs.eccentricity(mode="in")), seed
            if n > 2:
                scores = hg.bc(ours, devices="host:2", sources="all", normalized=True, weighted=weighted).betweenness
                pairs = (n - 1) * (n - 2) / (1 if directed else 2)
                assert close(scores, np.array(theirs.betweenness(directed=directed, weights=weight)) / pairs), (seed, weighted)
                assert close(scores, list(nx.betweenness_centrality(other, weight=weight).values())), (seed, weighted)


@pytest.mark.parametrize("name", REAL)
def test_real_graphs(name):
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there")
    graph = hg.load(str(path), symmetrize="min", self_loops="drop", duplicates="min", weights="random:1-9:1")
    n, arcs = graph.nodes, graph.to_scipy().tocoo()
    theirs = ig.Graph(n, np.column_stack([arcs.row, arcs.col]).tolist(), directed=True)
    theirs.es["weight"] = arcs.data.astype(float).tolist()
    sources = random.Random(1).sample(range(n), 24)
    named = graph.ids[sources].tolist()
    for weight in (None, "weight"):
        weighted = weight is not None
        far = np.array(theirs.distances(source=sources, weights=weight))
        there = np.isfinite(far)
        there[np.arange(len(sources)), sources] = False
        others = len(sources) - np.isin(np.arange(n), sources)
        reached, sums = there.sum(axis=0), np.where(there, far, 0).sum(axis=0)
        with np.errstate(divide="ignore"):
            inverses = np.where(there, 1 / far, 0).sum(axis=0)
        found = hg.closeness(graph, devices="host:2", sources=named, weighted=weighted)
        assert (found.reached == reached).all()
        assert close(found.closeness, np.where(sums > 0, reached / np.maximum(sums, 1) * reached / np.maximum(others, 1), 0))
        assert close(found.harmonic, inverses * (n - 1) / np.maximum(others, 1))
        assert close(found.eccentricity, np.where(there, far, 0).max(axis=0))
        scores = hg.bc(graph, devices="host:2", sources=named[:4], targets=graph.ids.tolist(), normalized=True, weighted=weighted).betweenness
        right = np.array(theirs.betweenness(weights=weight, sources=sources[:4], targets=range(n)))
        assert close(scores, right / ((n - 1) * (n - 2)))
