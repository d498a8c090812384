"""Graphs of NetworkX as arrays."""

from itertools import chain

import networkx as nx
import numpy as np

from .._errors import InputError
from .._graph import Graph as Engine
from .._arrays import objects
from .._ids import Ids


_CLASSES = (nx.Graph, nx.DiGraph, nx.MultiGraph, nx.MultiDiGraph)


class Graph:
    """A graph of NetworkX as this backend holds it: nodes and neighbours in NetworkX's order."""

    __networkx_backend__ = "hivegraph"

    def __init__(self, original, nodes, index, backward=False, attribute=(None, 1)):
        self.original, self.node_list, self.index = original, nodes, index
        self._backward, self._attribute = backward, attribute
        rows = original._pred if backward else original._adj
        simple = not original.is_multigraph()
        # `[n + 1]` int64 and `[m]` int32, in the order of adjacency.
        self.offsets, self.columns = _rows(rows, index, simple)
        # `[m]` float64, None where all weigh 1; whether they are Python's whole numbers: lengths of paths are, too.
        self.weights, self.whole = (None, True) if attribute[0] is None else _exact(_given(rows, simple, *attribute), len(nodes))
        self._engine = self._reverse = self._plain = None

    @classmethod
    def of(cls, graph, weight=None, missing=1):
        """Of a graph of NetworkX, with weights of the attribute `weight` if one is named; `missing` where an edge lacks it."""
        nodes = list(_adjacency(graph))
        return cls(graph, nodes, {node: i for i, node in enumerate(nodes)}, attribute=(weight, missing))

    def plain(self):
        """The graph without weights."""
        if self.weights is None:
            return self
        if self._plain is None:
            self._plain = Graph(self.original, self.node_list, self.index, self._backward)
        return self._plain

    def is_directed(self):
        return self.original.is_directed()

    def is_multigraph(self):
        return self.original.is_multigraph()

    def __len__(self):
        return len(self.node_list)

    def __iter__(self):
        return iter(self.node_list)

    def __contains__(self, node):
        try:
            return node in self.index
        except TypeError:
            return False

    def number_of_nodes(self):
        return len(self.node_list)

    order = number_of_nodes

    @property
    def nodes(self):
        return self.original.nodes

    def number_of_edges(self):
        return self.original.number_of_edges()

    def to_networkx(self):
        return self.original

    @property
    def engine(self):
        """The same graph for workloads: ties go by the places of nodes in NetworkX's order."""
        if self._engine is None:
            self._engine = Engine.from_csr(self.offsets, self.columns, self.weights, name="networkx")
        return self._engine

    def sources(self):
        """`[m]` the source of each arc."""
        return np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.offsets))

    def reversed(self):
        """The graph with every arc turned; rows in the order in which NetworkX lists predecessors."""
        if not self.is_directed():
            return self
        if self._reverse is None:
            backward = not self._backward
            self._reverse = Graph(self.original, self.node_list, self.index, backward, self._attribute)
        return self._reverse


def _rows(rows, index, simple):
    """Where the row of each node begins, and its neighbours: parallel edges each."""
    if simple:
        lengths = [len(row) for row in rows.values()]
        names = list(chain.from_iterable(rows.values()))
    else:
        lengths = [sum(map(len, row.values())) for row in rows.values()]
        names = [v for row in rows.values() for v, edges in row.items() for _ in edges]
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(np.array(lengths, dtype=np.int64), out=offsets[1:])
    return offsets, np.fromiter(map(index.__getitem__, names), dtype=np.int32, count=len(names))


def _given(rows, simple, weight, missing):
    """What edges have of an attribute."""
    edges = (edge for row in rows.values() for edge in row.values())
    if not simple:
        edges = (one for several in edges for one in several.values())
    return [edge.get(weight, missing) for edge in edges]


# What tells who is whose neighbour. A class that has its own may say something else than its dictionaries.
_TELL = ("__getitem__", "__iter__", "adj", "adjacency", "degree", "edges", "neighbors", "nodes")


def _adjacency(graph):
    """The dictionaries of a graph of NetworkX, if they are what it is. NotImplementedError where they need not be."""
    own = type(graph)
    known = next((base for base in own.__mro__ if base in _CLASSES), None)
    if known is None or any(getattr(own, name) is not getattr(known, name) for name in _TELL):
        raise NotImplementedError(f"{own.__name__} is a graph by rules of its own")
    return graph._adj


def _exact(given, nodes):
    """Weights as `[m]` numbers that float32 holds exactly, and whether all are whole numbers of Python: then float64 holds the
    length of every path.
    """
    kinds = set(map(type, given))
    if not kinds <= {int, float, bool}:
        if not all(issubclass(kind, (int, float, np.integer, np.floating)) for kind in kinds):
            raise NotImplementedError("weights are not all numbers")
    whole = not kinds or all(issubclass(kind, (int, np.integer)) for kind in kinds)
    try:
        weights = np.array(given, dtype=np.float64)
    except OverflowError:
        raise NotImplementedError("a weight is more than float64 holds") from None
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise NotImplementedError("a weight is negative or not finite")
    if whole and len(weights) and weights.max() * nodes >= 2.0**53:
        raise NotImplementedError("a path may be longer than the whole numbers that float64 holds")
    with np.errstate(over="ignore"):
        exact = np.array_equal(weights.astype(np.float32).astype(np.float64), weights)
    if not exact:
        raise NotImplementedError("a weight is none that float32 holds exactly, and the engine would round it")
    return (None if np.all(weights == 1) else weights), whole


def convert(graph, weight="weight"):
    """A :class:`hivegraph.Graph` of one of NetworkX, with its nodes' names. Weights are rounded to float32; edges that lack one
    weigh 1.
    """
    try:
        rows = _adjacency(graph)
    except NotImplementedError as error:
        raise InputError(f"{error}; copy it into one of NetworkX's own: nx.Graph(G)") from None
    weights = None
    if weight is not None:
        given = _given(rows, not graph.is_multigraph(), weight, None)
        if any(value is not None for value in given):
            given = [1 if value is None else value for value in given]
            if not all(isinstance(value, (int, float, np.integer, np.floating)) for value in given):
                raise InputError(f"the attribute {weight!r} of an edge is no number; name another, or none: weight=None")
            try:
                weights = np.array(given, dtype=np.float64)
            except OverflowError:
                raise InputError(f"the attribute {weight!r} of an edge is more than float64 holds") from None
        elif weight != "weight":
            raise InputError(f"no edge has the attribute {weight!r}; name another, or none: weight=None")
    made = Graph.of(graph)
    engine = Engine.from_csr(made.offsets, made.columns, weights, name="networkx")
    counted = all(type(name) is int and name == node for node, name in enumerate(made.node_list))
    engine._ids = Ids(len(made)) if counted else Ids(len(made), 0, objects(made.node_list))
    return engine
