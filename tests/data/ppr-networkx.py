"""Writes ppr-networkx.json: personalised PageRank from one node as NetworkX has it, for tests/workloads/ppr.rs.

    python3 tests/data/ppr-networkx.py > tests/data/ppr-networkx.json
"""

import json
import random

import networkx as nx


def directed(seed, nodes, arcs):
    """Random arcs with weights, loops among them; the last nodes are reached, and lead nowhere."""
    chance = random.Random(seed)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    for _ in range(arcs):
        u, v = chance.randrange(nodes - 4), chance.randrange(nodes)
        graph.add_edge(u, v, weight=chance.choice([0.25, 1.0, 3.5]))
    return graph


def graphs():
    yield "karate", nx.convert_node_labels_to_integers(nx.karate_club_graph()), [0, 16, 33]
    yield "two parts", nx.disjoint_union(nx.cycle_graph(7), nx.path_graph(5)), [0, 9]
    yield "directed", directed(1, 40, 120), [0, 20, 39]
    yield "sparse directed", directed(2, 50, 60), [7, 11]
    yield "chain of three", nx.path_graph(3, create_using=nx.DiGraph), [0, 2]
    yield "pair", nx.path_graph(2), [1]


def cases():
    for name, graph, sources in graphs():
        arcs = [[u, v, w] for u, v, w in graph.to_directed().edges(data="weight", default=1.0)]
        for source in sources:
            for damping, weighted in [(0.85, False), (0.5, True), (0.99, True)]:
                values = nx.pagerank(
                    graph,
                    damping,
                    {source: 1},
                    max_iter=100_000,
                    tol=1e-13 / len(graph),
                    weight="weight" if weighted else None,
                )
                yield {
                    "name": name,
                    "nodes": len(graph),
                    "arcs": arcs,
                    "source": source,
                    "damping": damping,
                    "weighted": weighted,
                    "values": [float(f"{values[v]:.15g}") for v in range(len(graph))],
                }


def main():
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases())
    print(f'{{"networkx": {json.dumps(nx.__version__)}, "cases": [\n{lines}\n]}}')


main()
