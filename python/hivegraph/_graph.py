"""Graphs, from what people have."""

import json
import os

import numpy as np

from . import _arrays, _core, _steps
from ._errors import InputError
from ._ids import Ids, named, numbered
from ._place import Place
from ._replicated import nodes_below

# What columns of sources and of targets are usually called.
_SOURCES = ("source", "src", "from", "u")
_TARGETS = ("target", "dst", "destination", "to", "v")
# A column of weights is taken if there is one.
_ANY = ...


class Graph:
    """A directed graph of `nodes` nodes and `arcs` arcs, which does not change.

    An undirected graph has each edge as two arcs. Weights are finite, 0 or more, and held as float32; without them every arc
    counts 1. Parallel arcs and loops stay.

    A graph is made by :func:`graph`, :func:`load`, or one of its ``from_`` methods. What a workload lays out of it stays on its
    devices, so that the next question costs the run alone; :meth:`release` lets go of that.

    Arrays that a graph can use as they are (SciPy's ``indices`` as int32, sorted; ``data``) are not copied. NumPy refuses to write
    to them, and to arrays that they are views of, as long as the graph or a view of it lives. Other views of the same memory that
    were made before are not known to the graph: do not write to them, and do not resize the arrays; or give ``copy=True``.

    Threads may share a graph; runs on the same devices wait for each other. A process that was forked from one that had used
    the package cannot use it: start processes with 'spawn' or 'forkserver'.
    """

    __slots__ = ("_core", "_ids", "_native", "_places", "__weakref__")

    def __init__(self, *_):
        raise TypeError("a graph is made by hivegraph.graph(...), hivegraph.load(...) or Graph.from_...(...)")

    @classmethod
    def _of(cls, core, ids=None):
        self = object.__new__(cls)
        # Whether the engine itself knows what nodes are called; else it calls them 0 to n - 1.
        self._core, self._native, self._places = core, ids is None, {}
        if ids is None:
            first, numbers, texts = core.ids()
            names = texts if numbers is None else numbers
            if names is not None:
                names = np.array(names, dtype=object if numbers is None else None)
            ids = Ids(core.nodes, first or 0, names)
        self._ids = ids
        return self

    @classmethod
    def from_csr(cls, indptr, indices, data=None, *, ids=None, copy=False, name="csr"):
        """A graph of compressed sparse rows: node u has arcs to `indices[indptr[u]:indptr[u + 1]]`.

        Parameters: `indptr` `[n + 1]`, `indices` `[m]`, whole numbers; `data` `[m]`, weights; `ids` `[n]`, what nodes are called,
        distinct [default: 0 to n - 1]; `copy`: leave the arrays alone.
        Raises :class:`InputError` for arrays that make no graph.
        """
        given = [indptr, indices, data]
        offsets = _arrays.whole_numbers(indptr, "indptr")
        offsets = np.require(offsets.astype(np.int64, copy=False), requirements=["C", "A"]).view(np.uint64)
        columns = _arrays.whole_numbers(indices, "indices")
        weights = None if data is None else _arrays.numbers(data, "data")
        if weights is not None and len(weights) != len(columns):
            raise InputError(f"there are {len(columns)} indices and {len(weights)} data; give one for each arc")
        lent = [array for array in (offsets, columns, weights) if array is not None]
        lent = [array.copy() if copy else _arrays.safe(array) for array in lent]
        # What was given is kept from being written to before it is looked at.
        same = [array for array in given if isinstance(array, np.ndarray) and any(np.may_share_memory(array, one) for one in lent)]
        unchanged = _arrays.Unchanged(lent + same)
        offsets, columns, weights = lent if len(lent) == 3 else (*lent, None)
        try:
            core = _core.Graph.from_csr(offsets, columns, weights, name, unchanged)
        except InputError:
            low = _arrays.whole_numbers(indices, "indices").view(np.int32) if columns.itemsize == 4 else columns
            if low.size and low.min() < 0 and _arrays.plain(indices, "indices").dtype.kind == "i":
                raise InputError(f"indices[{int(np.argmin(low))}] is {int(low.min())}; nodes are numbered from 0") from None
            raise
        return cls._of(core, named(ids, core.nodes))

    @classmethod
    def from_arcs(cls, sources, targets, weights=None, *, nodes=None, ids=None, directed=True, name="arcs"):
        """A graph of arcs `sources[i] -> targets[i]`, in any order.

        Parameters: `sources`, `targets` `[k]`: what nodes are called, numbers or other objects; `weights` `[k]`; `nodes`: there are
        so many, and they are called 0 to nodes - 1 [default: those that some arc has, by rising name]; `ids` `[nodes]`: they
        are called so, and arcs have their places; `directed`: else each arc stands for its reverse, too.
        Raises :class:`InputError` for arrays of other lengths or types, and nodes out of range.
        Complexity: a sort of the names, where they are no small whole numbers; then O(n + m).
        """
        ends = [_arrays.plain(sources, "sources"), _arrays.plain(targets, "targets")]
        if len(ends[0]) != len(ends[1]):
            raise InputError(f"there are {len(ends[0])} sources and {len(ends[1])} targets; give one of each for each arc")
        if ids is not None:
            ids = _arrays.plain(ids, "ids")
            nodes = len(ids) if nodes is None else nodes
        if nodes is not None and (nodes != int(nodes) or not 0 < nodes < 2**32 - 1):
            raise InputError(f"nodes is {nodes}; give a whole number from 1 to {2**32 - 2}")
        if nodes is None:
            ends, names = numbered(ends)
            nodes = len(names)
            ids = None if names.dtype.kind in "iu" and nodes and names[-1] == nodes - 1 else names
        ends = [_arrays.whole_numbers(end, what) for end, what in zip(ends, ("sources", "targets"))]
        weights = None if weights is None else _arrays.numbers(weights, "weights")
        if weights is not None and len(weights) != len(ends[0]):
            raise InputError(f"there are {len(ends[0])} arcs and {len(weights)} weights; give one for each arc")
        core = _core.Graph.from_arcs(int(nodes), *ends, weights, not directed, name)
        return cls._of(core, named(ids, core.nodes))

    @classmethod
    def from_scipy(cls, matrix, *, ids=None, weighted=True, copy=False):
        """A graph of a square sparse matrix (CSR, CSC, COO or another): `matrix[u, v]`, if stored, is the weight of u -> v.

        A CSR matrix whose rows are sorted is not copied. `weighted=False`: every stored number is an arc of weight 1.
        """
        if len(matrix.shape) != 2:
            raise InputError(f"the array has {len(matrix.shape)} dimensions; that of a graph has two")
        rows, columns = matrix.shape
        if rows != columns:
            raise InputError(f"the matrix has {rows} rows and {columns} columns; that of a graph is square")
        if matrix.format == "coo":
            weights = matrix.data if weighted else None
            return cls.from_arcs(matrix.row, matrix.col, weights, nodes=rows, ids=ids, name="coo")
        blocks = matrix.format == "bsr"
        matrix = matrix.tocsr()
        if blocks:
            # Blocks are filled up with zeros, which are no arcs.
            matrix.eliminate_zeros()
        data = matrix.data if weighted else None
        return cls.from_csr(matrix.indptr, matrix.indices, data, ids=ids, copy=copy, name="csr")

    @classmethod
    def from_pandas(cls, frame, source=None, target=None, weight=_ANY, *, directed=True):
        """A graph of a table with an arc a row, of columns `source`, `target` and `weight`.

        Nodes are called as these columns call them: numbers, texts or anything else. Columns that are not named are found by
        usual names (source, src, from; target, dst, to; weight), or are those that are left. `weight=None`: no weights.
        """
        names = list(frame.columns)
        source, target, weight = _columns(names, source, target, weight)
        weights = None if weight is None else frame[weight].to_numpy()
        ends = [frame[end].to_numpy() for end in (source, target)]
        return cls.from_arcs(*ends, weights, directed=directed, name="table")

    @classmethod
    def from_arrow(cls, table, source=None, target=None, weight=_ANY, *, directed=True):
        """As :meth:`from_pandas`, of a table of Arrow."""
        source, target, weight = _columns(list(table.column_names), source, target, weight)
        columns = [None if name is None else _of_arrow(table, name) for name in (source, target, weight)]
        *ends, weights = columns
        return cls.from_arcs(*ends, weights, directed=directed, name="table")

    @classmethod
    def from_networkx(cls, graph, weight="weight"):
        """A graph of one of NetworkX, with its nodes' own names. `weight`: the attribute of edges; None: no weights."""
        from .nx import convert

        return convert(graph, weight)

    @property
    def nodes(self):
        """How many nodes there are."""
        return self._core.nodes

    @property
    def arcs(self):
        """How many arcs there are."""
        return self._core.arcs

    @property
    def weighted(self):
        """Whether arcs have weights."""
        return self._core.weighted

    @property
    def ids(self):
        """`[n]` what each node is called."""
        return self._ids.array

    def node(self, name):
        """The node, 0 to n - 1, that is called so. Raises :class:`InputError` where none is."""
        return self._ids.find(name)

    def degree(self, nodes=...):
        """How many arcs each of these nodes (0 to n - 1) has, or each of all nodes."""
        offsets = self.to_csr()[0]
        if nodes is ...:
            return np.diff(offsets)
        places = nodes_below(self.nodes, nodes)
        degrees = offsets[places + 1] - offsets[places]
        return degrees if np.ndim(nodes) else degrees[0]

    def is_undirected(self):
        """Whether each arc has its reverse. O(m) when it is first asked for."""
        return self._core.undirected()

    def to_csr(self):
        """`(indptr [n + 1], indices [m], data [m] or None)`, read-only and not copied."""
        offsets, columns, weights = self._core.csr()
        weights = None if weights is None else np.asarray(weights)
        return np.asarray(offsets).view(np.int64), np.asarray(columns), weights

    def to_scipy(self):
        """The matrix (`scipy.sparse.csr_array`) whose stored numbers are the arcs' weights."""
        from scipy.sparse import csr_array

        offsets, columns, weights = self.to_csr()
        weights = np.ones(len(columns), dtype=np.float32) if weights is None else weights
        # As SciPy has them where they fit.
        index = np.int32 if max(self.nodes, len(columns)) < 2**31 else np.int64
        rows = (weights, columns.astype(index), offsets.astype(index, copy=False))
        return csr_array(rows, shape=(self.nodes, self.nodes))

    def loaded(self, **options):
        """This graph under options of loading: ``symmetrize='max'``, ``self_loops='drop'``, ``duplicates='min'`` and so on."""
        core = self._core.applied(json.dumps(_options(options)))
        if self._native:
            return Graph._of(core)
        # Nodes were dropped or come in another order: what they were before is what the engine calls them now.
        first, numbers, _ = core.ids()
        before = np.arange(core.nodes) + (first or 0) if numbers is None else np.array(numbers)
        return Graph._of(core, named(self.ids[before], core.nodes))

    def save(self, path):
        """Writes the graph in the format that the path's ending names: .hive, .mtx, .npz and others.

        Raises :class:`InputError` where nodes have names that Python gave them: a file would lose them.
        """
        if not self._native and (self._ids.names is not None or self._ids.first):
            raise InputError(
                "nodes have names, which the file would lose; write the arcs with their names, or Graph.from_csr(*g.to_csr()).save(path)"
            )
        self._core.save(os.fsdecode(path))

    def array(self, like, *, merge="own", of="nodes", devices=None):
        """An :class:`Array` for steps, with a copy on every replica.

        Parameters: `like`: a type (uint8, uint32, uint64, int32, float32, float64), for zeros, or the values; `of`: an element for each
        of the 'nodes' or 'arcs', or so many; `merge`: what makes the copies equal after a step that wrote them; `devices`: as of a
        workload [default: all GPUs, or the CPU].

        - 'own': each step writes its own elements: those of the nodes, arcs or indices that it runs over;
        - 'min', 'max': of what is written, the least or the largest stays; a step only lowers, or only raises;
        - 'or': of unsigned numbers, bits that are set stay;
        - 'sum': what a step writes is added to the array after it: in the step it begins at 0, and reads what it has added itself.
        """
        return self._place(devices).array(like, merge, of)

    def node_set(self, nodes=None, *, merge="or", devices=None):
        """A :class:`NodeSet` with these nodes (0 to n - 1) in it; `...`: all. `merge`: 'or': steps put nodes in; 'own': steps put in and
        take out the nodes that they run over.
        """
        return self._place(devices).node_set(nodes, merge)

    def for_all(self, function, over=None, /, **arguments):
        """Runs a :func:`function` for all elements, on all replicas, each on its part; then merges what it wrote.

        `over`: nodes [default], a :class:`NodeSet`, 'arcs', a number of indices, or an :class:`Array`, for its elements. A function of
        arcs runs over those out of the nodes. Arguments are arrays, sets and numbers, by the function's names.
        """
        _steps.for_all(self, function, over, arguments)

    def advance(self, function, over=None, /, *, output=None, backward=False, **arguments):
        """Runs a :func:`function` of arcs, which returns bool, along the arcs out of nodes or out of a set; returns the
        :class:`NodeSet` of the neighbours `v` for which it says yes. `output`: a set to which these are added. `backward`: along the
        arcs into them: `u` is the node, and `v` where the arc comes from.
        """
        return _steps.advance(self, function, over, output, backward, arguments)

    def neighbor_reduce(self, function, output, over=None, /, *, by="sum", backward=False, **arguments):
        """Folds what a :func:`function` of arcs returns over the arcs out of each node, into `output`, an :class:`Array` of nodes.

        `by`: sum, min, max or or. A node without arcs gets 0, the largest, the least or 0. `over`: nodes or a :class:`NodeSet`; elements
        of other nodes stay. `backward`: over the arcs into each node: `u` is the node, and `v` where the arc comes from.
        """
        _steps.neighbor_reduce(self, function, output, over, by, backward, arguments)

    def _place(self, devices):
        options = json.dumps(_options({"devices": devices}))
        if options not in self._places:
            self._places[options] = Place(self._core, options)
        return self._places[options]

    def release(self):
        """Lets go of what is laid out of it on devices."""
        for place in self._places.values():
            place.release()
        self._core.release()

    def __len__(self):
        return self.nodes

    def __contains__(self, name):
        return self._ids._look(name) is not None

    def __repr__(self):
        weighted = "weighted" if self.weighted else "unweighted"
        return f"<hivegraph.Graph {self._core.name}: {self.nodes:,} nodes, {self.arcs:,} arcs, {weighted}>"


def _of_arrow(table, name):
    try:
        return table.column(name).to_numpy()
    except Exception as error:
        raise InputError(f"column {name!r} of {table.schema.field(name).type} is no array of NumPy: {error}") from None


def _options(options):
    return {name.replace("_", "-"): value for name, value in options.items() if value is not None}


def _columns(names, source, target, weight):
    """Names of the columns of sources, targets and weights."""
    usual = {str(name).lower(): name for name in names}
    for name in (source, target, weight):
        if name is not None and name is not _ANY and name not in names:
            raise InputError(f"there is no column {name!r}; there are {', '.join(map(repr, names))}")
    ends = [source, target]
    for place, known in enumerate((_SOURCES, _TARGETS)):
        if ends[place] is None:
            ends[place] = next((usual[word] for word in known if word in usual and usual[word] not in ends), None)
    if weight is _ANY:
        weight = usual.get("weight") if usual.get("weight") not in ends else None
    rest = [name for name in names if name not in (*ends, weight)]
    if len(rest) < ends.count(None):
        raise InputError("the table has fewer than two columns of nodes; it needs one of sources and one of targets")
    if None in ends and len(rest) > ends.count(None):
        raise InputError(f"which columns are nodes? There are {', '.join(map(repr, names))}; name them: source=, target=")
    ends = [rest.pop(0) if end is None else end for end in ends]
    if ends[0] == ends[1]:
        raise InputError(f"column {ends[0]!r} would be source and target; name both: source=, target=")
    return *ends, weight


def load(spec, **options):
    """A graph of a file or a generator, as ``hive run --graph`` takes them: ``load('web.mtx.gz')``, ``load('rmat:18')``.

    Options are those of loading: ``weights``, ``symmetrize``, ``self_loops``, ``duplicates``, ``relabel`` and others, as
    ``hive run bfs --help`` lists them. Raises :class:`InputError` with file, line and value for a file that makes no graph.
    """
    return Graph._of(_core.Graph.load(os.fsdecode(spec), json.dumps(_options(options))))


def graph(data, *args, **options):
    """A graph of whatever `data` is: a sparse matrix of SciPy, a table of pandas, Polars or Arrow, a graph of NetworkX, a pair or
    triple of arrays (sources, targets, weights), or a path or a generator's name.

    More arguments are those of the ``from_`` method of :class:`Graph` that takes `data`.
    """
    if isinstance(data, Graph):
        return data
    if isinstance(data, (str, bytes, os.PathLike)):
        return load(data, *args, **options)
    family = type(data).__module__.split(".")[0]
    if family == "scipy" and hasattr(data, "tocsr"):
        return Graph.from_scipy(data, *args, **options)
    if family == "pandas" and hasattr(data, "columns"):
        return Graph.from_pandas(data, *args, **options)
    if family == "pyarrow" and hasattr(data, "column_names"):
        return Graph.from_arrow(data, *args, **options)
    if family == "polars":
        return Graph.from_arrow(data.to_arrow(), *args, **options)
    if hasattr(data, "is_multigraph"):
        return Graph.from_networkx(data, *args, **options)
    if isinstance(data, (tuple, list)) and len(data) in (2, 3) and all(hasattr(part, "__len__") for part in data):
        return Graph.from_arcs(*data, *args, **options)
    raise InputError(
        f"{type(data).__name__} is nothing that a graph is made of; see help(hivegraph.graph), or give sources and targets to "
        "Graph.from_arcs"
    )
