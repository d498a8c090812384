"""Writes bc-networkx.json: betweenness as NetworkX has it, for tests/bc.rs.

    python3 tests/data/bc-networkx.py > tests/data/bc-networkx.json
"""

import json
import math
import random

import networkx as nx


class These(random.Random):
    """Draws the nodes that it is told."""

    def __init__(self, nodes):
        super().__init__(0)
        self.nodes = nodes

    def sample(self, population, k, **_):
        return self.nodes


def directed(seed, nodes, arcs):
    """Random arcs, loops among them; the last nodes have none."""
    chance = random.Random(seed)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(
        (chance.randrange(nodes - 2), chance.randrange(nodes - 2)) for _ in range(arcs)
    )
    return graph


def graphs():
    yield "karate", nx.karate_club_graph(), [0, 5, 33, 16]
    yield "florentine", nx.convert_node_labels_to_integers(nx.florentine_families_graph()), [3, 8]
    yield "two parts", nx.disjoint_union(nx.cycle_graph(7), nx.path_graph(5)), [0, 9]
    yield "directed", directed(1, 40, 120), [0, 1, 2, 20, 39]
    yield "sparse directed", directed(2, 50, 60), [7, 11, 30]
    yield "pair", nx.path_graph(2), [1]
    yield "directed chain of three", nx.path_graph(3, create_using=nx.DiGraph), [0, 2]


def cases():
    for name, graph, some in graphs():
        for sources in [None, some, some[:1]]:
            for normalized in [False, True]:
                for endpoints in [False, True]:
                    k = None if sources is None else len(sources)
                    scores = nx.betweenness_centrality(
                        graph, k=k, normalized=normalized, endpoints=endpoints, seed=These(sources)
                    )
                    yield {
                        "name": name,
                        "nodes": len(graph),
                        "directed": graph.is_directed(),
                        "edges": [[u, v] for u, v in graph.edges()],
                        "sources": sources,
                        "normalized": normalized,
                        "endpoints": endpoints,
                        "scores": [None if math.isnan(scores[v]) else scores[v] for v in sorted(graph)],
                    }


lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases())
print('{"networkx":"%s","cases":[\n%s\n]}' % (nx.__version__, lines))
