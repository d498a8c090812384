"""The functions that the backend serves."""

import functools
import inspect
import math
from collections.abc import Collection

import networkx as nx
import numpy as np
from _nx_hivegraph import FUNCTIONS

from .. import _core, _workloads
from .._errors import InputError
from .._graph import Graph as Engine
from ._convert import _given


class Served:
    """A function, what it cannot do, and how to tell."""

    def __init__(self, function, unless):
        self.function, self.unless = function, unless
        self.limit = FUNCTIONS[function.__name__]
        self.signature = inspect.signature(function)

    def runs(self, args, kwargs):
        """True, or why it cannot run with these arguments."""
        if self.unless is None:
            return True
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            return str(error)
        bound.apply_defaults()
        why = self.unless(**bound.arguments)
        return why or True


SERVED = {}


def served(unless=None):
    """Marks a function as served, unless `unless` says of its arguments why not. Its limits in words: `_nx_hivegraph`."""

    def keep(function):
        parameters = inspect.signature(function).parameters
        for name in ("weight", "distance"):
            # A distance that has no default is a number of levels.
            if name in parameters and parameters[name].default is not inspect.Parameter.empty:
                function = _weighing(function, name)
        SERVED[function.__name__] = Served(function, unless)
        return function

    return keep


def _weighing(function, name):
    """The function on the graph without weights where none are asked for, by the argument `name`: a conversion that is kept may
    have some.
    """
    signature = inspect.signature(function)

    @functools.wraps(function)
    def run(*args, **given):
        bound = signature.bind(*args, **given)
        bound.apply_defaults()
        if bound.arguments[name] is None:
            bound.arguments["G"] = bound.arguments["G"].plain()
        return function(*bound.args, **bound.kwargs)

    return run


def limits():
    """Name and limits of each."""
    return {name: one.limit for name, one in SERVED.items()}


def _run(name, graph, *args, **options):
    devices = getattr(getattr(nx.config.backends, "hivegraph", None), "devices", "auto")
    return _workloads.named(name)(graph.engine, *args, devices=devices, **options)


def _weight(weight, **_):
    return "weight is a function" if callable(weight) else None


def _named(graph, nodes):
    names = graph.node_list
    return [names[i] for i in nodes.tolist()]


def _by_node(graph, values):
    return dict(zip(graph.node_list, values.tolist()))


def _need(graph, node, words):
    if node not in graph:
        raise nx.NodeNotFound(words)
    return graph.index[node]


# Breadth-first search. Lengths come from the engine; orders and paths from a pass in NetworkX's own order.


def _order(graph, sources, cutoff=None):
    """Nodes as NetworkX finds them, the place among these of the one before each, and their levels."""
    # A level is looked at while `cutoff` is above the one before.
    most = 2**32 - 1 if cutoff is None or cutoff >= 2**32 - 1 else max(math.ceil(cutoff), 0)
    found = _core.bfs_order(graph.offsets.view(np.uint64), graph.columns.view(np.uint32), list(sources), most)
    order, before, levels = (np.asarray(column) for column in found)
    return order, before, levels


def _lengths(graph, source, cutoff):
    levels = _run("bfs", graph, source).level
    reached = levels >= 0
    if cutoff is not None:
        reached &= levels < max(cutoff, 0) + 1
    nodes = np.flatnonzero(reached)
    nodes = nodes[np.argsort(levels[nodes], kind="stable")]
    return dict(zip(_named(graph, nodes), levels[nodes].tolist()))


def _paths(graph, source, cutoff):
    order, before, _ = _order(graph, [source], cutoff)
    names = _named(graph, order)
    listed = [[names[0]]]
    for place, parent in enumerate(before.tolist()[1:], 1):
        listed.append([*listed[parent], names[place]])
    return dict(zip(names, listed))


@served()
def single_source_shortest_path_length(G, source, cutoff=None):
    return _lengths(G, _need(G, source, f"Source {source} is not in G"), cutoff)


@served()
def single_target_shortest_path_length(G, target, cutoff=None):
    return _lengths(G.reversed(), _need(G, target, f"Target {target} is not in G"), cutoff)


@served()
def all_pairs_shortest_path_length(G, cutoff=None):
    for name, source in G.index.items():
        yield name, _lengths(G, source, cutoff)


@served()
def single_source_shortest_path(G, source, cutoff=None):
    return _paths(G, _need(G, source, f"Source {source} is not in G"), cutoff)


@served()
def single_target_shortest_path(G, target, cutoff=None):
    paths = _paths(G.reversed(), _need(G, target, f"Target {target} not in G"), cutoff)
    for path in paths.values():
        path.reverse()
    return paths


@served()
def all_pairs_shortest_path(G, cutoff=None):
    for name, source in G.index.items():
        yield name, _paths(G, source, cutoff)


def _path(graph, source, target):
    """Names of the nodes of a path of fewest arcs; none where there is none."""
    order, before, _ = _order(graph, [source])
    place = np.flatnonzero(order == target)
    if not len(place):
        return None
    place, path = int(place[0]), []
    while True:
        path.append(order[place])
        if place == before[place]:
            return _named(graph, np.array(path[::-1]))
        place = int(before[place])


@served()
def bidirectional_shortest_path(G, source, target):
    ends = [_need(G, end, f"{what} {end} is not in G") for end, what in ((source, "Source"), (target, "Target"))]
    path = _path(G, *ends)
    if path is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    return path


@served()
def has_path(G, source, target):
    ends = [_need(G, end, f"{what} {end} is not in G") for end, what in ((source, "Source"), (target, "Target"))]
    return bool(_run("bfs", G, ends[0]).level[ends[1]] >= 0)


def _edges(graph, source, reverse, depth_limit):
    node = _start(graph, source)
    graph = graph.reversed() if reverse else graph
    order, before, _ = _order(graph, [node], depth_limit)
    names = _named(graph, order)
    return names, before.tolist()


def _start(graph, source):
    if source not in graph:
        # As its adjacency says.
        raise nx.NetworkXError(f"The node {source} is not in the digraph." if graph.is_directed() else f"The node {source} is not in the graph.")
    return graph.index[source]


def _sorts(sort_neighbors=None, **_):
    return "sort_neighbors is a function" if sort_neighbors is not None else None


@served(_sorts)
def bfs_edges(G, source, reverse=False, depth_limit=None, sort_neighbors=None):
    names, before = _edges(G, source, reverse, depth_limit)
    for place, parent in enumerate(before):
        if place:
            yield names[parent], names[place]


@served(_sorts)
def bfs_tree(G, source, reverse=False, depth_limit=None, sort_neighbors=None):
    tree = nx.DiGraph()
    tree.add_node(source)
    tree.add_edges_from(bfs_edges(G, source, reverse, depth_limit))
    return tree


@served(_sorts)
def bfs_predecessors(G, source, depth_limit=None, sort_neighbors=None):
    for parent, child in bfs_edges(G, source, False, depth_limit):
        yield child, parent


@served(_sorts)
def bfs_successors(G, source, depth_limit=None, sort_neighbors=None):
    parent, children = source, []
    for before, child in bfs_edges(G, source, False, depth_limit):
        if before == parent:
            children.append(child)
            continue
        yield parent, children
        parent, children = before, [child]
    yield parent, children


@served()
def bfs_layers(G, sources):
    if sources in G:
        sources = [sources]
    sources = list(set(sources))
    for source in sources:
        if source not in G:
            raise nx.NetworkXError(f"The node {source} is not in the graph.")
    if not sources:
        return
    order, _, levels = _order(G, [G.index[source] for source in sources])
    for part in np.split(order, np.flatnonzero(np.diff(levels)) + 1):
        yield _named(G, part)


@served()
def descendants_at_distance(G, source, distance):
    if source not in G:
        raise nx.NetworkXError(f"The node {source} is not in the graph.")
    return set(_named(G, np.flatnonzero(_run("bfs", G, G.index[source]).level == distance))) if distance >= 0 else set()


def _reached(graph, node):
    levels = _run("bfs", graph, node).level
    return set(_named(graph, np.flatnonzero(levels > 0)))


@served()
def descendants(G, source):
    return _reached(G, _start(G, source))


@served()
def ancestors(G, source):
    return _reached(G.reversed(), _start(G, source))


# Shortest paths by weight: distances in float64, as NetworkX adds them up.


class _Search:
    """Distances and predecessors from the nearest of some nodes."""

    def __init__(self, graph, sources, cutoff=None, paths=False):
        self.graph, self.sources = graph, set(sources)
        options = {"precision": "f64", "predecessors": paths or None}
        found = _run("vn" if len(sources) > 1 else "sssp", graph, sources if len(sources) > 1 else sources[0], **options)
        distances = found.distance
        reached = np.isfinite(distances)
        if cutoff is not None:
            reached &= distances <= cutoff
        self.nodes = np.flatnonzero(reached)
        self.nodes = self.nodes[np.argsort(distances[self.nodes], kind="stable")]
        if cutoff is not None and not len(self.nodes):
            # Below 0, where NetworkX has the sources all the same.
            self.nodes = np.array(sorted(self.sources), dtype=np.int64)
        self.distances, self.before = distances, found.predecessor if paths else None

    def length(self, node):
        value = self.distances[node].item()
        return int(value) if self.graph.whole else value

    def lengths(self):
        values = self.distances[self.nodes]
        if self.graph.whole:
            values = values.astype(np.int64)
        # A source is at 0, a whole number, whatever the weights.
        return {
            name: 0 if node in self.sources else value
            for name, node, value in zip(_named(self.graph, self.nodes), self.nodes.tolist(), values.tolist())
        }

    def paths(self):
        names, done = self.graph.node_list, {}
        before = self.before
        for node in self.nodes.tolist():
            chain = []
            while node not in done:
                chain.append(node)
                parent = int(before[node])
                if parent == node or parent < 0:
                    break
                node = parent
            for node in reversed(chain):
                parent = int(before[node])
                done[node] = [*done.get(parent, []), names[node]] if parent != node else [names[node]]
        return {names[node]: done[node] for node in self.nodes.tolist()}

    def path(self, node):
        path = [node]
        while (parent := int(self.before[path[-1]])) != path[-1] and parent >= 0:
            path.append(parent)
        return [self.graph.node_list[i] for i in reversed(path)]

    def is_reached(self, node):
        return bool(np.isin(node, self.nodes))


def _sources(graph, sources):
    if not sources:
        raise ValueError("sources must not be empty")
    return [_need(graph, source, f"Node {source} not found in graph") for source in sources]


def _one(graph, source, words):
    return [_need(graph, source, words.format(source))]


def _to(graph, nodes, target, cutoff, missing):
    """Length and path to one node."""
    search = _Search(graph, nodes, cutoff, paths=True)
    if target not in graph or not search.is_reached(graph.index[target]):
        raise nx.NetworkXNoPath(missing)
    return search.length(graph.index[target]), search.path(graph.index[target])


def _length_to(graph, nodes, target, missing):
    """Length of a shortest path to one node."""
    search = _Search(graph, nodes)
    if target not in graph or not search.is_reached(graph.index[target]):
        raise nx.NetworkXNoPath(missing)
    return search.length(graph.index[target])


@served(_weight)
def multi_source_dijkstra(G, sources, target=None, cutoff=None, weight="weight"):
    nodes = _sources(G, sources)
    if target in sources:
        return (0, [target])
    if target is not None:
        return _to(G, nodes, target, cutoff, f"No path to {target}.")
    search = _Search(G, nodes, cutoff, paths=True)
    return search.lengths(), search.paths()


@served(_weight)
def multi_source_dijkstra_path(G, sources, cutoff=None, weight="weight"):
    return _Search(G, _sources(G, sources), cutoff, paths=True).paths()


@served(_weight)
def multi_source_dijkstra_path_length(G, sources, cutoff=None, weight="weight"):
    return _Search(G, _sources(G, sources), cutoff).lengths()


@served(_weight)
def single_source_dijkstra(G, source, target=None, cutoff=None, weight="weight"):
    return multi_source_dijkstra(G, {source}, target, cutoff, weight)


@served(_weight)
def single_source_dijkstra_path(G, source, cutoff=None, weight="weight"):
    return multi_source_dijkstra_path(G, {source}, cutoff, weight)


@served(_weight)
def single_source_dijkstra_path_length(G, source, cutoff=None, weight="weight"):
    return multi_source_dijkstra_path_length(G, {source}, cutoff, weight)


@served(_weight)
def dijkstra_path(G, source, target, weight="weight"):
    return single_source_dijkstra(G, source, target, None, weight)[1]


@served(_weight)
def dijkstra_path_length(G, source, target, weight="weight"):
    (node,) = _one(G, source, "Node {} not found in graph")
    if source == target:
        return 0
    return _length_to(G, [node], target, f"Node {target} not reachable from {source}")


@served(_weight)
def bidirectional_dijkstra(G, source, target, weight="weight"):
    (node,) = _one(G, source, "Source {} is not in G")
    _need(G, target, f"Target {target} is not in G")
    if source == target:
        return (0, [source])
    rows = []
    for graph in (G, G.reversed()):
        rows += [graph.offsets.view(np.uint64), graph.columns.view(np.uint32), graph.weights]
    found = _core.meeting_path(*rows, node, G.index[target])
    if found is None:
        raise nx.NetworkXNoPath(f"No path between {source} and {target}.")
    length, path = found
    return int(length) if G.whole else length, [G.node_list[node] for node in path]


@served(_weight)
def single_source_bellman_ford(G, source, target=None, weight="weight"):
    nodes = _one(G, source, "Node {} is not found in the graph" if source == target else "Source {} not in G")
    if source == target:
        return (0, [source])
    if target is not None:
        return _to(G, nodes, target, None, f"Node {target} not reachable from {source}")
    search = _Search(G, nodes, paths=True)
    return search.lengths(), search.paths()


@served(_weight)
def single_source_bellman_ford_path(G, source, weight="weight"):
    return single_source_bellman_ford(G, source, None, weight)[1]


@served(_weight)
def single_source_bellman_ford_path_length(G, source, weight="weight"):
    return _Search(G, _one(G, source, "Source {} not in G")).lengths()


@served(_weight)
def bellman_ford_path(G, source, target, weight="weight"):
    return single_source_bellman_ford(G, source, target, weight)[1]


@served(_weight)
def bellman_ford_path_length(G, source, target, weight="weight"):
    nodes = _one(G, source, "node {} not found in graph" if source == target else "Source {} not in G")
    if source == target:
        return 0
    return _length_to(G, nodes, target, f"node {target} not reachable from {source}")


@served(_weight)
def all_pairs_dijkstra(G, cutoff=None, weight="weight"):
    for source in G:
        yield source, single_source_dijkstra(G, source, None, cutoff, weight)


@served(_weight)
def all_pairs_dijkstra_path(G, cutoff=None, weight="weight"):
    for source in G:
        yield source, single_source_dijkstra_path(G, source, cutoff, weight)


@served(_weight)
def all_pairs_dijkstra_path_length(G, cutoff=None, weight="weight"):
    for source in G:
        yield source, single_source_dijkstra_path_length(G, source, cutoff, weight)


@served(_weight)
def all_pairs_bellman_ford_path(G, weight="weight"):
    for source in G:
        yield source, single_source_bellman_ford_path(G, source, weight)


@served(_weight)
def all_pairs_bellman_ford_path_length(G, weight="weight"):
    for source in G:
        yield source, single_source_bellman_ford_path_length(G, source, weight)


# Components: an engine's component is called by its first node, so that sets come in the order of these.


def _labels(graph, workload):
    return _run(workload, graph).component


def _sets(graph, labels):
    order = np.argsort(labels, kind="stable")
    ends = np.flatnonzero(np.diff(labels[order])) + 1
    return [set(_named(graph, part)) for part in np.split(order, ends)]


def _components(graph, workload):
    return _sets(graph, _labels(graph, workload)) if len(graph) else []


def _count(graph, workload):
    return len(np.unique(_labels(graph, workload))) if len(graph) else 0


def _is_one(graph, workload, words):
    if not len(graph):
        raise nx.NetworkXPointlessConcept(words)
    return _count(graph, workload) == 1


@served()
def connected_components(G):
    yield from _components(G, "cc")


@served()
def number_connected_components(G):
    return _count(G, "cc")


@served()
def is_connected(G):
    return _is_one(G, "cc", "Connectivity is undefined for the null graph.")


@served()
def node_connected_component(G, n):
    if n not in G:
        raise KeyError(n)
    labels = _labels(G, "cc")
    return set(_named(G, np.flatnonzero(labels == labels[G.index[n]])))


@served()
def weakly_connected_components(G):
    yield from _components(G, "cc")


@served()
def number_weakly_connected_components(G):
    return _count(G, "cc")


@served()
def is_weakly_connected(G):
    return _is_one(G, "cc", "Connectivity is undefined for the null graph.")


@served()
def strongly_connected_components(G):
    if not len(G):
        return
    labels = _labels(G, "scc")
    order = np.argsort(labels, kind="stable")
    firsts, starts = np.unique(labels[order], return_index=True)
    parts = dict(zip(firsts.tolist(), np.split(order, starts[1:])))
    left = _core.leaving_order(G.offsets.view(np.uint64), G.columns.view(np.uint32), labels.view(np.uint32))
    for node in labels[np.asarray(left)].tolist():
        yield set(_named(G, parts[node]))


@served()
def number_strongly_connected_components(G):
    return _count(G, "scc")


@served()
def is_strongly_connected(G):
    return _is_one(G, "scc", "Connectivity is undefined for the null graph.")


# Centralities.


def _no_pagerank(G, alpha, personalization, tol, nstart, dangling, max_iter, **_):
    if not 0 <= alpha <= 1:
        return "alpha is not from 0 to 1"
    if personalization is not None and not all(0 <= value < math.inf for value in personalization.values()):
        return "a weight of personalization is negative or not finite"
    if nstart is not None or dangling is not None:
        return "nstart and dangling are not served"
    if not 1e-6 <= tol * len(G) < math.inf:
        return "ranks are float32, and tol asks for more"
    return "max_iter is below 1" if max_iter < 1 else None


@served(_no_pagerank)
def pagerank(G, alpha=0.85, personalization=None, max_iter=100, tol=1e-06, nstart=None, weight="weight", dangling=None):
    if not len(G):
        return {}
    options = {"damping": alpha, "iterations": max_iter, "tolerance": tol * len(G)}
    if G.weights is not None:
        options["weighted"] = True
    if personalization is not None:
        known = {G.index[node]: value for node, value in personalization.items() if node in G}
        if sum(known.values()) == 0:
            raise ZeroDivisionError
        options["personalize"] = known
    found = _run("pagerank", G, **options)
    if found.record["change"] > tol * len(G):
        raise nx.PowerIterationFailedConvergence(max_iter)
    return _by_node(G, found.rank.astype(np.float64))


def _betweenness(G, **options):
    """The engine's betweenness, by weight if there are weights."""
    if G.weights is not None:
        if not G.weights.all():
            raise NotImplementedError("an edge weighs 0, so that paths may go round without end")
        options["weighted"] = True
    return _run("bc", G, **options).betweenness


@served(_weight)
def betweenness_centrality(G, k=None, normalized=True, weight=None, endpoints=False, seed=None):
    n = len(G)
    if not n:
        return {}
    sources = "all"
    if k is not None and k != n:
        sources = [G.index[node] for node in seed.sample(list(G), k)]
        if not sources and n - (not endpoints) < 2:
            return dict.fromkeys(G, 0.0)
        if not sources:
            raise ZeroDivisionError("division by zero")
    # Where all arcs of a directed graph have their reverse, the engine takes it for undirected, unless it normalizes.
    pairs = G.is_directed() and not normalized
    options = {"normalized": normalized or pairs or None, "endpoints": endpoints or None}
    scores = _betweenness(G, sources=sources, **options)
    others = n if endpoints else n - 1
    return _by_node(G, scores * (others * (others - 1)) if pairs and others >= 2 else scores)


def _no_subset(G, sources, targets, weight, **_):
    if callable(weight):
        return _weight(weight)
    ends = sources, targets
    if not all(isinstance(nodes, Collection) for nodes in ends):
        return "sources or targets can be read but once"
    if not all(node in G for nodes in ends for node in nodes):
        return "a source or target is not in the graph"
    return "a source is there twice" if len(set(sources)) < len(sources) else None


@served(_no_subset)
def betweenness_centrality_subset(G, sources, targets, normalized=False, weight=None):
    sources, targets = ([G.index[node] for node in dict.fromkeys(nodes)] for nodes in (sources, targets))
    n = len(G)
    if not sources or not targets or n <= 2:
        return dict.fromkeys(G, 0.0)
    # What the engine does not normalize it may halve in a directed graph, too.
    scores = _betweenness(G, sources=sources, targets=targets, normalized=True)
    pairs = (n - 1) * (n - 2) / (1 if G.is_directed() else 2)
    return _by_node(G, scores if normalized else scores * pairs)


def _no_distance(distance, **_):
    return "distance is a function" if callable(distance) else None


def _closeness(G, **options):
    """The engine's closeness, by weight if there are weights: exact for whole numbers, else in float64."""
    if G.weights is not None:
        options |= {"weighted": True, "precision": "auto" if G.whole else "f64"}
    return _run("closeness", G, **options)


def _lengths_from(G, source):
    return _lengths(G, source, None) if G.weights is None else _Search(G, [source]).lengths()


@served(_no_distance)
def closeness_centrality(G, u=None, distance=None, wf_improved=True):
    n = len(G)
    if u is not None:
        lengths = _lengths_from(G.reversed(), _need(G, u, f"Source {u} is not in G"))
        reached, far = len(lengths) - 1, sum(lengths.values())
        return reached / far * (reached / (n - 1) if wf_improved else 1.0) if far else 0.0
    if not n:
        return {}
    found = _closeness(G)
    if wf_improved:
        return _by_node(G, found.closeness)
    return _by_node(G, found.closeness * (n - 1) / np.maximum(found.reached, 1))


@served(_no_distance)
def harmonic_centrality(G, nbunch=None, distance=None, sources=None):
    nodes = dict.fromkeys(G if nbunch is None else G.original.nbunch_iter(nbunch))
    given = range(len(G)) if sources is None else sorted({G.index[node] for node in G.original.nbunch_iter(sources)})
    if not nodes or not given:
        return dict.fromkeys(nodes, 0)
    found = _closeness(G, sources=None if sources is None else list(given))
    # The engine scales to all nodes.
    others = np.full(len(G), len(given))
    others[list(given)] -= 1
    values = (found.harmonic * others / max(len(G) - 1, 1)).tolist()
    return {node: values[G.index[node]] or 0 for node in nodes}


def _no_eccentricity(sp, weight, **_):
    return "sp is not served" if sp is not None else _weight(weight)


@served(_no_eccentricity)
def eccentricity(G, v=None, sp=None, weight=None):
    nodes = list(G) if v is None else list(G.original.nbunch_iter(v))
    if v is None and nodes:
        found = _closeness(G, mode="out")
        most = found.eccentricity
        most = most.astype(np.int64 if G.whole else np.float64)
        pairs = zip(most.tolist(), (found.reached + 1).tolist())
    else:
        searches = (_lengths_from(G, G.index[node]) for node in nodes)
        pairs = ((max(lengths.values()), len(lengths)) for lengths in searches)
    farthest = {}
    for node, (most, reached) in zip(nodes, pairs):
        if reached != len(G):
            directed = "the digraph is not strongly" if G.is_directed() else "the graph is not"
            raise nx.NetworkXError(f"Found infinite path length because {directed} connected")
        farthest[node] = most
    return farthest[v] if v is not None and v in G else farthest


def _no_extremes(e, usebounds, weight, **_):
    return "e and usebounds are not served" if e is not None or usebounds else _weight(weight)


@served(_no_extremes)
def diameter(G, e=None, usebounds=False, weight=None):
    return max(eccentricity(G, weight=weight).values())


@served(_no_extremes)
def radius(G, e=None, usebounds=False, weight=None):
    return min(eccentricity(G, weight=weight).values())


def _those(G, most, weight):
    if G.weights is not None and not G.whole:
        raise NotImplementedError("which of several sums of fractions is larger may depend on their order")
    farthest = eccentricity(G, weight=weight)
    extreme = (max if most else min)(farthest.values())
    return [node for node, value in farthest.items() if value == extreme]


@served(_no_extremes)
def periphery(G, e=None, usebounds=False, weight=None):
    return _those(G, True, weight)


def _no_center(G, **given):
    if not G.is_directed() and G.number_of_edges() == len(G) - 1:
        return "it may be a tree, which has an algorithm of its own"
    return _no_extremes(**given)


@served(_no_center)
def center(G, e=None, usebounds=False, weight=None):
    return _those(G, False, weight)


def _no_katz(alpha, beta, max_iter, tol, nstart, weight, **_):
    if not (0 < alpha < math.inf and 0 < tol < 1):
        return "alpha is not above 0, or tol not between 0 and 1"
    if 0 < max_iter < 100:
        return "max_iter is below 100: iterations are counted otherwise"
    if isinstance(beta, dict) or not isinstance(beta, (int, float)):
        return "beta is not one number"
    return "nstart and weight are not served" if nstart is not None or weight is not None else None


@served(_no_katz)
def katz_centrality(G, alpha=0.1, beta=1.0, max_iter=1000, tol=1e-06, nstart=None, normalized=True, weight=None):
    if not len(G):
        return {}
    if max_iter < 1:
        raise nx.PowerIterationFailedConvergence(max_iter)
    try:
        found = _run("katz", G, alpha=alpha, iterations=max_iter, tolerance=tol)
    except InputError:
        # The values grow beyond all numbers.
        raise nx.PowerIterationFailedConvergence(max_iter) from None
    if found.record["change"] > tol:
        raise nx.PowerIterationFailedConvergence(max_iter)
    values = found.katz * beta
    if normalized:
        norm = np.linalg.norm(values)
        values = values / norm if norm else values
    return _by_node(G, values)


def _shares(graph, degrees):
    n = len(graph)
    if n <= 1:
        return dict.fromkeys(graph, 1)
    return _by_node(graph, degrees * (1.0 / (n - 1.0)))


def _degrees(graph):
    out = np.diff(graph.offsets)
    if graph.is_directed():
        return out + np.bincount(graph.columns, minlength=len(graph))
    # A loop is in its row once, and counts twice.
    loops = graph.sources() == graph.columns
    return out + np.bincount(graph.columns[loops], minlength=len(graph))


@served()
def degree_centrality(G):
    return _shares(G, _degrees(G))


@served()
def in_degree_centrality(G):
    return _shares(G, np.bincount(G.columns, minlength=len(G)))


@served()
def out_degree_centrality(G):
    return _shares(G, np.diff(G.offsets))


# Spanning forests. The engine is given the places of edges in the order in which Kruskal's algorithm takes them, as the bits of
# weights: no two are alike, and it finds the very edges that NetworkX finds, whatever numbers the weights are.


def _no_forest(algorithm, **_):
    return None if algorithm == "kruskal" else "of the algorithms only kruskal is served"


def _sortable(given):
    """Weights as `[k]` float64 that are in order as they are."""
    kinds = set(map(type, given))
    if not all(issubclass(kind, (int, float, np.integer, np.float16, np.float32)) for kind in kinds):
        raise NotImplementedError("weights are not all numbers of up to 64 bits")
    try:
        weights = np.array(given, dtype=np.float64)
    except OverflowError:
        raise NotImplementedError("a weight is more than float64 holds") from None
    large = np.flatnonzero(np.abs(weights) >= 2.0**53).tolist()
    if any(isinstance(given[place], (int, np.integer)) for place in large):
        raise NotImplementedError("a weight is more than the whole numbers that float64 holds")
    return weights


def _forest(G, weight, ignore_nan):
    """The arcs of the minimum spanning forest, places in the rows of `G`, in Kruskal's order."""
    if G.is_directed():
        raise nx.NetworkXNotImplemented("not implemented for directed type")
    simple = not G.is_multigraph()
    sources, targets = G.sources(), G.columns
    # Each edge once, as it is listed first.
    arcs = np.flatnonzero(targets >= sources)
    weights = _sortable(_given(G.original._adj, simple, weight, 1))[arcs]
    hidden = np.isnan(weights)
    if np.any(hidden):
        if not ignore_nan:
            edge = _edge(G, arcs[np.argmax(hidden)], True, True)
            raise ValueError(f"NaN found as an edge weight. Edge {edge}")
        arcs, weights = arcs[~hidden], weights[~hidden]
    arcs = arcs[np.argsort(weights, kind="stable")]
    if len(arcs) >= 0x7F800000:
        raise NotImplementedError("there are more edges than float32 has numbers")
    if not len(arcs):
        return arcs
    order = np.arange(len(arcs), dtype=np.uint32).view(np.float32)
    ends = sources[arcs], targets[arcs]
    both = [np.concatenate(pair) for pair in (ends, ends[::-1])]
    graph = Engine.from_arcs(*both, np.concatenate((order, order)), nodes=len(G), name="networkx")
    devices = getattr(getattr(nx.config.backends, "hivegraph", None), "devices", "auto")
    found = _workloads.named("mst")(graph, devices=devices)
    return arcs[np.sort(np.ascontiguousarray(found.weight).view(np.uint32))]


def _edge(G, arc, keys, data):
    """The edge of an arc as NetworkX lists it."""
    row = int(np.searchsorted(G.offsets, arc, side="right")) - 1
    u, v = G.node_list[row], G.node_list[int(G.columns[arc])]
    there = G.original._adj[u][v]
    if not G.is_multigraph():
        return (u, v, there) if data else (u, v)
    # Parallel edges lie side by side.
    first = int(G.offsets[row])
    place = int(arc) - first - int(np.argmax(G.columns[first : int(arc) + 1] == G.columns[arc]))
    key = list(there)[place]
    return (u, v, *([key] if keys else []), *([there[key]] if data else []))


@served(_no_forest)
def minimum_spanning_edges(G, algorithm="kruskal", weight="weight", keys=True, data=True, ignore_nan=False):
    arcs = _forest(G, weight, ignore_nan)
    return (_edge(G, arc, keys, data) for arc in arcs)


@served(_no_forest)
def minimum_spanning_tree(G, weight="weight", algorithm="kruskal", ignore_nan=False):
    edges = [_edge(G, arc, True, True) for arc in _forest(G, weight, ignore_nan)]
    original = G.original
    tree = original.__class__()
    tree.graph.update(original.graph)
    tree.add_nodes_from(original.nodes.items())
    tree.add_edges_from(edges)
    return tree


# Cores and triangles.


class _Both:
    """The arcs of a directed graph both ways, as NetworkX counts them for cores."""

    def __init__(self, graph):
        self.node_list = graph.node_list
        self.engine = Engine.from_arcs(graph.sources(), graph.columns, nodes=len(graph), directed=False, name="networkx")


@served()
def core_number(G):
    if np.any(G.sources() == G.columns):
        raise nx.NetworkXNotImplemented(
            "Input graph has self loops which is not permitted; Consider using G.remove_edges_from(nx.selfloop_edges(G))."
        )
    if not len(G):
        return {}
    graph = _Both(G) if G.is_directed() else G
    return _by_node(G, _run("kcore", graph).core)


def _cores(graph, given):
    """Core numbers: those that are given, if some are."""
    return core_number(graph) if given is None else given


def _part(graph, k, given, keeps):
    numbers = _cores(graph, given)
    k = max(numbers.values()) if k is None else k
    return graph.original.subgraph(node for node, number in numbers.items() if keeps(number, k)).copy()


@served()
def k_core(G, k=None, core_number=None):
    return _part(G, k, core_number, lambda number, k: number >= k)


@served()
def k_shell(G, k=None, core_number=None):
    return _part(G, k, core_number, lambda number, k: number == k)


@served()
def k_crust(G, k=None, core_number=None):
    numbers = _cores(G, core_number)
    k = max(numbers.values()) - 1 if k is None else k
    return G.original.subgraph(node for node, number in numbers.items() if number <= k).copy()


@served()
def k_corona(G, k, core_number=None):
    numbers = _cores(G, core_number)
    original = G.original
    kept = (v for v in numbers if numbers[v] == k and k == sum(numbers[w] >= k for w in original[v]))
    return original.subgraph(kept).copy()


def _triangles(graph):
    return _run("triangles", graph).triangles if len(graph) else np.zeros(0, dtype=np.int64)


def _chosen(graph, values, nodes):
    """The values of one node, of some, or of all."""
    if nodes is None:
        return _by_node(graph, values)
    if nodes in graph:
        return values[graph.index[nodes]].item()
    return {node: values[graph.index[node]].item() for node in nodes if node in graph}


def _some(graph, nodes):
    """As nbunch_iter has it: what is no node is left out, what cannot be one is an error."""
    if nodes is None or nodes in graph:
        return nodes
    return list(graph.original.nbunch_iter(nodes))


def _no_triangles(G, nodes):
    return "of a multigraph only all nodes are counted" if G.is_multigraph() and nodes is not None else None


@served(_no_triangles)
def triangles(G, nodes=None):
    return _chosen(G, _triangles(G), _some(G, nodes))


def _plain_degrees(graph):
    """Degrees without loops."""
    loops = graph.sources() == graph.columns
    return np.diff(graph.offsets) - np.bincount(graph.columns[loops], minlength=len(graph))


def _shares_of_pairs(graph):
    counts, degrees = _triangles(graph), _plain_degrees(graph)
    pairs = degrees * (degrees - 1)
    # 0, a whole number, where there is no triangle.
    return [2 * count / pair if count else 0 for count, pair in zip(counts.tolist(), pairs.tolist())]


def _no_clustering(G, weight=None, **_):
    if weight is not None:
        return "weighted clustering is not served"
    if G.is_directed() or G.is_multigraph():
        return "clustering of directed graphs and multigraphs is not served"
    return None


@served(_no_clustering)
def clustering(G, nodes=None, weight=None):
    shares = _shares_of_pairs(G)
    nodes = _some(G, nodes)
    if nodes is None:
        return dict(zip(G.node_list, shares))
    if nodes in G:
        return shares[G.index[nodes]]
    return {node: shares[G.index[node]] for node in nodes}


@served(_no_clustering)
def average_clustering(G, nodes=None, weight=None, count_zeros=True):
    shares = clustering(G, nodes).values()
    shares = list(shares) if count_zeros else [share for share in shares if abs(share) > 0]
    return sum(shares) / len(shares)


@served(lambda G: _no_clustering(G))
def transitivity(G):
    degrees = _plain_degrees(G)
    closed, all_pairs = 2 * int(_triangles(G).sum()), int((degrees * (degrees - 1)).sum())
    return 0 if closed == 0 else closed / all_pairs


def _no_pairs(G, **_):
    rows = G.original._adj if hasattr(G, "original") else G._adj
    return "the graph has loops" if any(node in row for node, row in rows.items()) else None


def _pairs(graph, ebunch, measure, of_one, of_none):
    """What is said of pairs of nodes, in their order; `of_one` says it of a node and itself, `of_none` of two that have nothing in
    common.
    """
    original = graph.original
    pairs = list(nx.non_edges(original) if ebunch is None else ebunch)
    for node in (node for u, v in pairs for node in (u, v)):
        if node not in graph:
            raise nx.NodeNotFound(f"Node {node} not in G.")
    places = np.array([(graph.index[u], graph.index[v]) for u, v in pairs], dtype=np.int64).reshape(-1, 2)
    several = places[:, 0] != places[:, 1]
    values = np.zeros(len(pairs))
    if several.any():
        values[several] = _run("similar", graph, pairs=places[several], measure=measure).value
    told = zip(pairs, values.tolist(), several.tolist())
    return ((u, v, (value or of_none(original, u, v)) if apart else of_one(original, u)) for (u, v), value, apart in told)


@served(_no_pairs)
def jaccard_coefficient(G, ebunch=None):
    def of_one(graph, node):
        return 1.0 if graph[node] else 0

    def of_none(graph, u, v):
        # A whole number only where neither has a neighbour, as NetworkX has it.
        return 0.0 if graph[u] or graph[v] else 0

    return _pairs(G, ebunch, "jaccard", of_one, of_none)


@served(_no_pairs)
def adamic_adar_index(G, ebunch=None):
    def of_one(graph, node):
        return sum(1 / math.log(graph.degree(w)) for w in graph[node])

    return _pairs(G, ebunch, "adamic-adar", of_one, lambda graph, u, v: 0)
