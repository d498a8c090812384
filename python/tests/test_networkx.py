"""The backend of NetworkX: the same answers as NetworkX on random graphs, and NetworkX's own tests."""

import inspect
import json
import math
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pytest
from _nx_hivegraph import FUNCTIONS, info

import hivegraph as hg
import hivegraph.nx as backend

KINDS = [nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph]


def drawn(seed):
    """A random graph: of any class, nodes of any kind in any order, with loops and parts, weights whole or not."""
    rng = random.Random(seed)
    kind = KINDS[seed % 4]
    n = rng.choice([1, 2, 3, 5, 9, 17, 30])
    names = rng.choice([list(range(n)), [f"n{i}" for i in range(n)], [(i, "x") for i in range(n)], [i * 0.5 for i in range(n)]])
    rng.shuffle(names)
    graph = kind()
    graph.add_nodes_from(names)
    weights = rng.choice([[1], [1, 2, 3], [0, 1, 2], [0.5, 0.25, 3.0], [1, 0.5]])
    for _ in range(rng.choice([0, n, 2 * n, 4 * n])):
        edge = rng.choice(names), rng.choice(names)
        if rng.random() < 0.9:
            graph.add_edge(*edge, weight=rng.choice(weights))
        else:
            graph.add_edge(*edge)
    if seed % 3 == 0:
        graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph, rng


def calls(graph, rng):
    """Arguments to try each function with."""
    nodes = list(graph)
    source, target = rng.choice(nodes), rng.choice(nodes)
    several = rng.sample(nodes, min(3, len(nodes)))
    for name, served in backend._served.SERVED.items():
        parameters = inspect.signature(served.function).parameters
        given = {}
        if "source" in parameters:
            given["source"] = source
        if name == "harmonic_centrality":
            given["sources"] = rng.choice([None, source, several])
        elif "sources" in parameters:
            given["sources"] = set(several) if "dijkstra" in name else several
        if "target" in parameters and (parameters["target"].default is parameters["target"].empty or rng.random() < 0.5):
            given["target"] = target
        if "n" in parameters:
            given["n"] = source
        if "k" in parameters and name == "k_corona":
            given["k"] = rng.choice([0, 1, 2])
        if name == "descendants_at_distance":
            given["distance"] = rng.choice([0, 1, 2])
        elif "distance" in parameters:
            given["distance"] = rng.choice([None, "weight"])
        if name in ("eccentricity", "diameter", "radius", "periphery", "center") or name.startswith("betweenness"):
            given["weight"] = rng.choice([None, "weight"])
        for option, values in {
            "cutoff": [None, None, 0, 1, 2, 2.5],
            "depth_limit": [None, None, 1, 2],
            "reverse": [False, True],
            "nodes": [None, None, source, several],
            "normalized": [True, False],
            "endpoints": [True, False],
            "count_zeros": [True, False],
            "u": [None, source],
            "ebunch": [None, [], [(source, target), (target, source), (source, source)], [(source, "nobody")]],
            "v": [None, source, several],
            "nbunch": [None, source, several],
            "wf_improved": [True, False],
            "seed": [7],
            "keys": [True, False],
            "data": [True, False],
            "ignore_nan": [True, False],
        }.items():
            if option in parameters:
                given[option] = rng.choice(values)
        if name == "betweenness_centrality" and len(nodes) > 2:
            given["k"] = rng.choice([None, 2, len(nodes)])
        if name == "betweenness_centrality_subset":
            given |= {"sources": several, "targets": rng.sample(nodes, rng.randint(0, len(nodes)))}
        if name == "katz_centrality":
            given["alpha"] = 0.01
        if name == "pagerank":
            given["max_iter"] = 1000
            given["personalization"] = rng.choice([None, dict.fromkeys(several, 2)])
        yield name, given


def answered(function, graph, given):
    """What comes of it: a value, or the kind of exception."""
    try:
        value = function(graph, **given)
        if hasattr(value, "__next__"):
            value = list(value)
        return value, None
    except NotImplementedError as error:
        return None, nx.NetworkXNotImplemented if isinstance(error, nx.NetworkXException) else NotImplementedError
    except Exception as error:
        return None, type(error)


def alike(ours, theirs):
    if isinstance(theirs, nx.Graph):
        return nx.utils.graphs_equal(ours, theirs) and list(ours) == list(theirs)
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(alike(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(alike, ours, theirs))
    if isinstance(theirs, int) and type(ours) is float:
        # Of weights that are partly whole numbers NetworkX's sums of these are.
        return ours == theirs
    if isinstance(theirs, float) and isinstance(ours, (int, float)):
        return math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=5e-5) or (math.isnan(ours) and math.isnan(theirs))
    return ours == theirs and type(ours) is type(theirs)


# Of several shortest paths NetworkX may find another: these are compared by what they weigh.
PATHS = re.compile("(dijkstra|bellman_ford)(?!.*length)|^bidirectional_shortest_path$")


def weighs(graph, path):
    """The weight of a path, forward; arcs that are not there are an error."""
    total = 0
    for u, v in zip(path, path[1:]):
        edges = graph[u][v].values() if graph.is_multigraph() else [graph[u][v]]
        total += min(edge.get("weight", 1) for edge in edges)
    return total, path[-1]


def weighed(graph, name, value):
    """An answer with paths replaced by what they weigh."""
    if name == "bidirectional_shortest_path":
        return len(value), value[-1]
    if isinstance(value, list) and value and value[0] in graph:
        return weighs(graph, value)
    if isinstance(value, list):
        return [(source, weighed(graph, name, of)) for source, of in value]
    if isinstance(value, dict):
        return {key: weighs(graph, of) if isinstance(of, list) else of for key, of in value.items()}
    return tuple(weighed(graph, name, part) if isinstance(part, (list, dict)) else part for part in value)


@pytest.mark.parametrize("seed", range(80))
def test_answers_are_networkxs(seed):
    graph, rng = drawn(seed)
    for name, given in calls(graph, rng):
        function = getattr(nx, name)
        theirs, failed = answered(lambda g, **more: function(g, **more, backend="networkx"), graph, given)
        ours, kind = answered(lambda g, **more: function(g, **more, backend="hivegraph"), graph, given)
        what = f"{name}({given}) of {graph} {list(graph.edges(data=True))}: {ours} {kind}, {theirs} {failed}"
        if kind is NotImplementedError:
            free = not all(weight for *_, weight in graph.edges(data="weight", default=1))
            loops = nx.number_of_selfloops(graph) > 0
            assert (free and name.startswith("betweenness") and given["weight"]) or (loops and "ebunch" in given) or name in (
                "clustering", "average_clustering", "transitivity", "triangles", "center", "periphery",
            ), what
        elif kind is None and failed is None and PATHS.search(name):
            assert alike(weighed(graph, name, ours), weighed(graph, name, theirs)), what
        else:
            assert kind is failed and alike(ours, theirs), what


def test_weights_that_float32_does_not_hold_are_networkxs():
    graph = nx.path_graph(3)
    for weight in (0.1, 2**24 + 1, -1, math.inf, "heavy", 10**400):
        nx.set_edge_attributes(graph, weight, "weight")
        with pytest.raises(NotImplementedError):
            nx.single_source_dijkstra_path_length(graph, 0, backend="hivegraph")
    assert nx.single_source_shortest_path_length(graph, 0, backend="hivegraph") == {0: 0, 1: 1, 2: 2}


def test_weights_that_are_not_asked_for_do_not_count():
    graph = nx.path_graph(3)
    nx.set_edge_attributes(graph, {(0, 1): 5, (1, 2): 7}, "weight")
    both = [("weight", 12), (None, 2), ("weight", 12)]
    for weight, length in both:
        assert nx.dijkstra_path_length(graph, 0, 2, weight=weight, backend="hivegraph") == length
        assert nx.bidirectional_dijkstra(graph, 0, 2, weight=weight, backend="hivegraph")[0] == length
    ranks = nx.pagerank(graph, weight=None, backend="hivegraph")
    assert ranks == pytest.approx(nx.pagerank(graph, weight=None, backend="networkx"), abs=1e-5)


def test_whole_numbers_that_may_pass_what_float64_holds_are_networkxs():
    for weights in ([2**70, 2**70], [2**60, 1]):
        graph = nx.path_graph(3)
        nx.set_edge_attributes(graph, dict(zip(graph.edges, weights)), "weight")
        with pytest.raises(NotImplementedError):
            nx.single_source_dijkstra_path_length(graph, 0, backend="hivegraph")


@pytest.mark.parametrize("seed", range(40))
def test_spanning_forests_are_networkxs_edge_by_edge(seed):
    rng = random.Random(seed)
    graph = (nx.MultiGraph if seed % 2 else nx.Graph)()
    names = list("abcdefghijklmnopqrstuvwxyz")
    rng.shuffle(names)
    graph.add_nodes_from(names)
    weights = [-3, -0.0, 0, 0.1, 1e300, 1e-300, -1e300, math.inf, 2**24 + 1, math.nan]
    weights = weights[: rng.choice([3, 9, 10])]
    for _ in range(rng.choice([5, 40, 120])):
        graph.add_edge(rng.choice(names), rng.choice(names), weight=rng.choice(weights))
    for name, given in (("minimum_spanning_edges", {}), ("minimum_spanning_edges", {"keys": False}), ("minimum_spanning_tree", {})):
        for ignore_nan in (False, True):
            given = given | {"ignore_nan": ignore_nan}
            ours, theirs = (
                answered(lambda g, **more: getattr(nx, name)(g, **more, backend=by), graph, given) for by in ("hivegraph", "networkx")
            )
            if name == "minimum_spanning_tree" and theirs[0] is not None:
                ours, theirs = ([list(one[0].nodes(data=True)), list(one[0].edges(data=True))] for one in (ours, theirs))
            assert repr(ours) == repr(theirs), (name, given)


def test_what_spanning_forests_leave_to_networkx():
    graph = nx.path_graph(3)
    for algorithm in ("prim", "boruvka", "nobody's"):
        assert backend.backend.can_run("minimum_spanning_edges", (graph,), {"algorithm": algorithm}) is not True
    for weight in (2**53, 10**400, "heavy", None):
        nx.set_edge_attributes(graph, weight, "weight")
        with pytest.raises(NotImplementedError):
            nx.minimum_spanning_tree(graph, backend="hivegraph")
    with pytest.raises(nx.NetworkXNotImplemented):
        nx.minimum_spanning_tree(nx.DiGraph([(0, 1)]), backend="hivegraph")


@pytest.mark.parametrize("seed", range(20))
def test_pairs_are_alike_as_networkx_has_it(seed):
    rng = random.Random(seed)
    graph = nx.gnp_random_graph(rng.choice([1, 2, 20, 60]), rng.choice([0.02, 0.1, 0.4]), seed=seed)
    graph = nx.relabel_nodes(graph, {node: f"n {node}" for node in graph})
    pairs = [(rng.choice(list(graph)), rng.choice(list(graph))) for _ in range(50)]
    for ebunch in (None, [], pairs):
        ours, theirs = (list(nx.jaccard_coefficient(graph, ebunch, backend=by)) for by in ("hivegraph", "networkx"))
        assert repr(ours) == repr(theirs)
        if ebunch is pairs and any(u == v and any(graph.degree(w) < 2 for w in graph[u]) for u, v in pairs):
            with pytest.raises(ZeroDivisionError):
                list(nx.adamic_adar_index(graph, ebunch, backend="hivegraph"))
            continue
        ours, theirs = (list(nx.adamic_adar_index(graph, ebunch, backend=by)) for by in ("hivegraph", "networkx"))
        assert [pair[:2] for pair in ours] == [pair[:2] for pair in theirs]
        assert [pair[2] for pair in ours] == pytest.approx([pair[2] for pair in theirs], rel=1e-11)
    with pytest.raises(nx.NodeNotFound, match="Node nobody not in G"):
        nx.jaccard_coefficient(graph, [(pairs[0][0], "nobody")], backend="hivegraph")


def test_views_are_looked_at_anew():
    graph = nx.path_graph(4)
    for view in (graph.subgraph(range(4)), nx.subgraph_view(graph), graph.to_directed(as_view=True)):
        count = nx.number_weakly_connected_components if view.is_directed() else nx.number_connected_components
        graph.add_edge(1, 2)
        assert count(view, backend="hivegraph") == 1
        graph.remove_edge(1, 2)
        assert count(view, backend="hivegraph") == 2


def test_what_the_engine_refuses_is_networkxs():
    graph = nx.path_graph(4)
    for given in ({"alpha": -0.1}, {"personalization": {0: -1, 1: 2}}, {"alpha": math.nan}, {"tol": math.nan}):
        assert backend.backend.can_run("pagerank", (graph,), given) is not True
    with pytest.raises(nx.PowerIterationFailedConvergence):
        nx.katz_centrality(graph, alpha=10, backend="hivegraph")
    graph.__networkx_cache__ = None
    assert backend.backend.should_run("is_connected", (graph,), {}) is not True
    assert nx.is_connected(graph, backend="hivegraph")


def test_sums_are_those_of_float64():
    graph = nx.path_graph(4)
    nx.set_edge_attributes(graph, {(0, 1): float(2**23), (1, 2): 0.5, (2, 3): 2.0**-20}, "weight")
    ours = nx.single_source_dijkstra_path_length(graph, 0, backend="hivegraph")
    assert ours == {0: 0, 1: 2.0**23, 2: 2.0**23 + 0.5, 3: 2.0**23 + 0.5 + 2.0**-20}
    nx.set_edge_attributes(graph, 2**23, "weight")
    ours = nx.single_source_dijkstra_path_length(graph, 0, backend="hivegraph")
    assert ours[3] == 3 * 2**23 and type(ours[3]) is int


def test_conversions_are_kept_until_the_graph_changes():
    graph = nx.path_graph(5)
    assert nx.number_connected_components(graph, backend="hivegraph") == 1
    (kept,) = graph.__networkx_cache__["backends"]["hivegraph"].values()
    nx.is_connected(graph, backend="hivegraph")
    assert [kept] == list(graph.__networkx_cache__["backends"]["hivegraph"].values())
    graph.remove_edge(2, 3)
    assert nx.number_connected_components(graph, backend="hivegraph") == 2


def test_small_graphs_are_left_to_networkx():
    small, large = nx.path_graph(10), nx.path_graph(5000)
    assert backend.backend.should_run("is_connected", (small,), {}) != True  # noqa: E712: words are no refusal
    assert backend.backend.should_run("is_connected", (large,), {}) is True


def test_what_networkx_is_told_before_the_import():
    assert list(FUNCTIONS) == list(backend._served.SERVED) and len(FUNCTIONS) >= 40
    for name in FUNCTIONS:
        ours = inspect.signature(backend._served.SERVED[name].function).parameters
        theirs = [p for p in inspect.signature(getattr(nx, name).orig_func).parameters.values()]
        assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs], name
    assert set(info()["functions"]) == set(FUNCTIONS)
    code = "import sys, networkx; assert networkx.config.backends.hivegraph; assert 'hivegraph' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_readme_lists_what_is_served():
    """With HIVE_WRITE_DOCS=1 it is written."""
    path = Path(__file__).parent.parent / "README.md"
    text = path.read_text()
    rows = [f"| `{name}` | {limit or ''} |" for name, limit in FUNCTIONS.items()]
    table = "\n".join(["| function | limits |", "|---|---|", *rows])
    begin, rest = text.split("<!-- functions -->\n", 1)
    end = rest.split("<!-- end -->", 1)[1]
    whole = f"{begin}<!-- functions -->\n{table}\n<!-- end -->{end}"
    if os.environ.get("HIVE_WRITE_DOCS"):
        path.write_text(whole)
    assert path.read_text() == whole


def suite(fallback, tmp_path):
    """NetworkX's own tests of what is served, on the backend: how they ended, and which functions ran on it. All of its tests take
    nine minutes: `hivegraph` is a backend of them all by the variables below.
    """
    root = Path(nx.__file__).parent / "algorithms"
    parts = ["shortest_paths", "traversal", "components", "centrality", "link_analysis", "approximation/tests/test_kcomponents.py"]
    parts += [f"tests/test_{name}.py" for name in ("core", "cluster", "dag", "cycles", "chains", "link_prediction")]
    parts += ["tests/test_distance_measures.py::TestDistance", "tree/tests/test_mst.py"]
    counts = tmp_path / "counts.json"
    environment = os.environ | {
        "NETWORKX_TEST_BACKEND": "hivegraph",
        "PYTHONPATH": str(Path(__file__).parent),
        "HIVE_COUNTS": str(counts),
    }
    if fallback:
        environment["NETWORKX_FALLBACK_TO_NX"] = "True"
    # Without its configuration NetworkX would test itself, and pytest guesses where to look for it.
    command = [sys.executable, "-m", "pytest", "-q", f"--confcutdir={root.parent}", "-p", "counting", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=native"]
    # Hundreds of thousands of calls, each of which is counted.
    command += ["-k", "not use_bounds"]
    told = subprocess.run([*command, *(str(root / part) for part in parts)], env=environment, cwd=tmp_path, capture_output=True, text=True)
    return told.stdout, json.loads(counts.read_text())


def test_networkxs_own_tests_pass(tmp_path):
    told, ran = suite(True, tmp_path)
    last = told.strip().splitlines()[-1]
    assert " failed" not in last and " error" not in last and " xfailed" not in last, told[-5000:]
    assert int(re.search(r"(\d+) passed", last)[1]) > 800
    assert set(ran) == set(FUNCTIONS), "every function ran on the backend"


def test_networkxs_own_tests_pass_without_networkx(tmp_path):
    told, ran = suite(False, tmp_path)
    last = told.strip().splitlines()[-1]
    # What asks for other functions ends as "xfailed".
    assert " failed" not in last and " error" not in last, told[-5000:]
    assert int(re.search(r"(\d+) passed", last)[1]) > 100 and len(ran) >= 30
