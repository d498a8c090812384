"""Answers of networkx on small real graphs, for the tests: writes networkx.json beside this file.

    python3 tests/data/reference/networkx.py ../shared/data

Made with networkx 3.6.1. Values stand in the order of nodes, 0 to n - 1 (input id less `id_base`), with 12
significant digits. Arcs count 1 except where `weighted` says otherwise.
"""

import gzip
import json
import math
import random
import sys
from pathlib import Path

# The file's own name is the package's.
sys.path = [entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).resolve().parent]
import networkx as nx  # noqa: E402

DAMPING = 0.85


def edge_list(path, kind):
    open_it = gzip.open if path.suffix == ".gz" else open
    with open_it(path, "rt") as lines:
        arcs = [line.split() for line in lines]
    graph = kind()
    graph.add_nodes_from(range(1 + max(int(v) for arc in arcs for v in arc[:2])))
    graph.add_weighted_edges_from((int(u), int(v), float(w)) for u, v, w in arcs)
    return graph


def metis(path):
    lines = [line for line in path.read_text().splitlines() if not line.startswith("%")]
    nodes, edges, form = lines[0].split()
    assert form == "1"
    graph = nx.Graph()
    graph.add_nodes_from(range(int(nodes)))
    for v, line in enumerate(lines[1:]):
        numbers = line.split()
        for u, weight in zip(numbers[::2], numbers[1::2]):
            graph.add_edge(v, int(u) - 1, weight=float(weight))
    assert graph.number_of_edges() == int(edges)
    return graph


def short(value):
    return float(f"{value:.12g}")


def in_order(graph, values):
    return [short(values[v]) for v in range(len(graph))]


def pagerank(graph, weighted=False, personal=None):
    weight = "weight" if weighted else None
    ranks = nx.pagerank(
        graph, DAMPING, personal, max_iter=10_000, tol=1e-12 / len(graph), weight=weight
    )
    shares = None if personal is None else [personal.get(v, 0.0) for v in range(len(graph))]
    return {
        "damping": DAMPING,
        "weighted": weighted,
        "personal": shares,
        "ranks": in_order(graph, ranks),
    }


def katz(graph):
    alpha = 0.005
    values = nx.katz_centrality(graph, alpha, max_iter=100_000, tol=1e-15, normalized=False, weight=None)
    return {"alpha": alpha, "values": in_order(graph, values)}


def betweenness(graph, normalized, endpoints, k=None, seed=None):
    scores = nx.betweenness_centrality(
        graph, k, normalized=normalized, endpoints=endpoints, seed=seed
    )
    # As betweenness_centrality draws them.
    sources = list(graph) if k is None else random.Random(seed).sample(list(graph.nodes()), k)
    assert not any(math.isnan(score) for score in scores.values())
    return {
        "sources": None if k is None else sources,
        "normalized": normalized,
        "endpoints": endpoints,
        "scores": in_order(graph, scores),
    }


def known(graph, file, id_base, source, pageranks, sampled):
    n = len(graph)
    directed = graph.is_directed()
    weak = nx.weakly_connected_components if directed else nx.connected_components
    weak = [len(part) for part in weak(graph)]
    strong = weak
    if directed:
        strong = [len(part) for part in nx.strongly_connected_components(graph)]
    distances = nx.single_source_shortest_path_length(graph, source)
    simple = nx.Graph(graph)
    simple.remove_edges_from(list(nx.selfloop_edges(simple)))
    cores = nx.core_number(simple)
    combinations = [(normalized, ends) for normalized in (False, True) for ends in (False, True)]
    full = [] if directed else [betweenness(graph, *how) for how in combinations]
    return {
        "file": file,
        "id_base": id_base,
        "directed": directed,
        "nodes": n,
        "arcs": graph.number_of_edges() * (1 if directed else 2),
        "components": len(weak),
        "largest_component": max(weak),
        "strong_components": len(strong),
        "largest_strong_component": max(strong),
        "source": source,
        "levels": [distances.get(v) for v in range(n)],
        "cores": [cores[v] for v in range(n)],
        "pagerank": [pagerank(graph, **how) for how in pageranks],
        "katz": katz(graph),
        "betweenness": full + [betweenness(graph, *how) for how in sampled],
    }


def main():
    small = Path(sys.argv[1]) / "small"
    sampled = [(False, False, 5, 1), (True, False, 5, 2), (False, True, 5, 3), (True, True, 5, 4)]
    graphs = {}
    for name in ("karate", "dolphins", "polbooks"):
        file = f"{name}.csv"
        how = [{}, {"personal": {0: 0.75, 20: 0.25}}] if name == "karate" else [{}]
        graph = edge_list(small / file, nx.Graph)
        graphs[name] = known(graph, file, 0, 0, how, sampled if name == "karate" else [])
    graph = metis(small / "networkit-lesmis.graph")
    how = [{}, {"weighted": True}]
    graphs["lesmis"] = known(graph, "networkit-lesmis.graph", 1, 5, how, sampled[:1])
    graph = edge_list(small / "email-Eu-core.csv.gz", nx.DiGraph)
    graphs["email-Eu-core"] = known(
        graph, "email-Eu-core.csv.gz", 0, 7, [{}], [(False, False, 8, 5), (True, True, 6, 6)]
    )
    out = {"networkx": nx.__version__, "graphs": graphs}
    path = Path(__file__).resolve().with_name("networkx.json")
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(graph, separators=(',', ':'))}" for name, graph in graphs.items())
    path.write_text(f'{{"networkx": {json.dumps(out["networkx"])}, "graphs": {{\n{lines}\n}}}}\n')
    print(path, path.stat().st_size, "bytes")


main()
