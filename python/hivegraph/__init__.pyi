"""Written by `python -m hivegraph._stubs`: what editors are told."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

_Id = Any
_Nodes = _Id | Iterable[_Id] | str

__version__: str


class HivegraphError(Exception):
    """What all exceptions of this package are."""

class InputError(HivegraphError, ValueError):
    """The input cannot be used: a graph, an option, an id, a weight."""

class MachineError(HivegraphError, RuntimeError):
    """The machine lacks something that was asked for: a device, a library, memory."""

class FaultError(HivegraphError, RuntimeError):
    """A replica failed, stalled or disagreed with the others. The next call opens the devices anew."""

class VerificationError(HivegraphError):
    """An answer did not pass its independent check (``verify=True``)."""

class Result:
    """The answer of a workload: columns of `[n]` values, one a node, in the order of :attr:`ids`.

    A column is an attribute (``result.rank``) and an item (``result['rank']``), a NumPy array that is read-only and not copied.
    Columns of nodes hold 0 to n - 1, -1 for none; :meth:`to_pandas` has their names. A hop of samples is a column `[source, place]`.
    Counts are -1 where there is none, as the level of a node that is not reached; distances are inf there. A matrix is the column ``distance``, `[source, target]`, whose rows
    and columns are the nodes of ``source`` and ``target``; numbers of arcs are the largest of their type where there is no path.

    With ``results="device"`` columns are :class:`DeviceArray`. What needs values on the host brings them there: :meth:`named`,
    :meth:`to_dict`, :meth:`to_pandas`, :meth:`top`."""
    @property
    def workload(self) -> Any:
        """The name of what ran."""
    @property
    def columns(self) -> Any:
        """Names of the columns."""
    @property
    def ids(self) -> Any:
        """`[n]` what each node is called. None where values are not those of nodes: walks, edges, elements of an array."""
    def __getitem__(self, name) -> Any:
        ...
    def named(self, name) -> Any:
        """A column with nodes as they are called; None where there is none."""
    def to_dict(self, name=None) -> Any:
        """One column, the first if none is named, as ``{id: value}``; a matrix as ``{source: {target: value}}``."""
    def to_pandas(self) -> Any:
        """All columns as a table, its rows by id where they are nodes; a matrix as one, with the ids of sources and targets."""
    def top(self, k=10, name=None, *, smallest=False) -> Any:
        """The `k` nodes of the largest values of a column, the first if none is named: `[(id, value)]`, equal ones by node."""
    @property
    def paths(self) -> Any:
        """The paths to the targets that were asked for, as ``{target: [ids]}``, without those that cannot be reached. None without targets."""
    @property
    def record(self) -> Any:
        """The record of the run: options, devices, times, counts, as ``hive run --json`` writes it."""
    @property
    def ms(self) -> Any:
        """Milliseconds of each run, without loading and laying out."""
    @property
    def stages_ms(self) -> Any:
        """Milliseconds of each stage: load, build, prepare, compile, run, download. What was there before took none."""
    @property
    def verified(self) -> Any:
        """'yes', or what was not checked, where ``verify=True`` was given; else None."""
    def __getattr__(self, name: str) -> np.ndarray: ...

class DeviceArray:
    """A column of a result that was left where it was computed, with ``results="device"``: on the first GPU, or on the host.

    `torch.from_dlpack(x)`, `cupy.from_dlpack(x)` and `cupy.asarray(x)` take it as it lies there. It is finished, so no stream needs
    to wait. The memory belongs to whoever holds it: it stays as it is when other questions are asked, and when result, graph and
    fleet are gone. On a GPU who takes it may write to it, which others who took the same column see; on the host it is read-only.

    Of counts and nodes -1 is what there is none of. They have 32 bits; from 2^31 rows on without a sign, where none is 2^32 - 1."""
    @property
    def device(self) -> Any:
        """`cuda:0`, or `host`."""
    def numpy(self) -> Any:
        """The values on the host, as a result without ``results="device"`` has them: from a GPU they are copied."""
    def __dlpack_device__(self) -> Any:
        ...
    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None) -> Any:
        """A capsule of DLPack, as the array API standard says."""
    def __len__(self) -> Any:
        ...

class Array:
    """An array with a copy on every replica, made by :meth:`Graph.array`.

    `len(x)`, `x.dtype`, `x.merge`; `x.numpy()` has its values, `x.assign(values)` and `x.fill(value)` set them. CuPy and PyTorch take
    it as it lies on a GPU."""
    def numpy(self) -> Any:
        """`[len]` its values, as the last step left them: a copy."""
    def assign(self, values) -> Any:
        """Sets all values: as many as there are, of a type that fits."""
    def fill(self, value) -> Any:
        """Sets all values to one."""
    def __len__(self) -> Any:
        ...

class NodeSet:
    """A set of nodes with a copy on every replica, one bit for each node, made by :meth:`Graph.node_set`.

    `len(s)` is how many nodes are in it; `s.numpy()` are those nodes; `s.assign(nodes)`, `s.clear()`."""
    def numpy(self) -> Any:
        """The nodes in it, 0 to n - 1, rising."""
    def assign(self, nodes) -> Any:
        """Makes these nodes (0 to n - 1) the set; `...`: all of them."""
    def clear(self) -> Any:
        """Takes all nodes out."""
    def __len__(self) -> Any:
        ...

class Reads:
    """An array or a set that a function reads: an annotation of its parameter."""

class Writes:
    """An array or a set that a function writes (and may read): an annotation of its parameter."""

class Function:
    """A function of an element or of an arc, written for CPUs and for GPUs; see :func:`function`."""
    def compile(self, arch='sm_90', returns=None, /, **types) -> Any:
        """Compiles the CUDA text for GPUs of an architecture, without one. Raises :class:`InputError` with line and reason.

        `returns`: `bool` for :meth:`Graph.advance`, a type of NumPy for :meth:`Graph.neighbor_reduce`. Arrays are given by their
        types, sets as `set`: ``tell.compile("sm_90", bool, label=numpy.uint32)``."""

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
    the package cannot use it: start processes with 'spawn' or 'forkserver'."""
    @classmethod
    def from_csr(cls, indptr, indices, data=None, *, ids=None, copy=False, name='csr') -> Graph:
        """A graph of compressed sparse rows: node u has arcs to `indices[indptr[u]:indptr[u + 1]]`.

        Parameters: `indptr` `[n + 1]`, `indices` `[m]`, whole numbers; `data` `[m]`, weights; `ids` `[n]`, what nodes are called,
        distinct [default: 0 to n - 1]; `copy`: leave the arrays alone.
        Raises :class:`InputError` for arrays that make no graph."""
    @classmethod
    def from_arcs(cls, sources, targets, weights=None, *, nodes=None, ids=None, directed=True, name='arcs') -> Graph:
        """A graph of arcs `sources[i] -> targets[i]`, in any order.

        Parameters: `sources`, `targets` `[k]`: what nodes are called, numbers or other objects; `weights` `[k]`; `nodes`: there are
        so many, and they are called 0 to nodes - 1 [default: those that some arc has, by rising name]; `ids` `[nodes]`: they
        are called so, and arcs have their places; `directed`: else each arc stands for its reverse, too.
        Raises :class:`InputError` for arrays of other lengths or types, and nodes out of range.
        Complexity: a sort of the names, where they are no small whole numbers; then O(n + m)."""
    @classmethod
    def from_scipy(cls, matrix, *, ids=None, weighted=True, copy=False) -> Graph:
        """A graph of a square sparse matrix (CSR, CSC, COO or another): `matrix[u, v]`, if stored, is the weight of u -> v.

        A CSR matrix whose rows are sorted is not copied. `weighted=False`: every stored number is an arc of weight 1."""
    @classmethod
    def from_pandas(cls, frame, source=None, target=None, weight=Ellipsis, *, directed=True) -> Graph:
        """A graph of a table with an arc a row, of columns `source`, `target` and `weight`.

        Nodes are called as these columns call them: numbers, texts or anything else. Columns that are not named are found by
        usual names (source, src, from; target, dst, to; weight), or are those that are left. `weight=None`: no weights."""
    @classmethod
    def from_arrow(cls, table, source=None, target=None, weight=Ellipsis, *, directed=True) -> Graph:
        """As :meth:`from_pandas`, of a table of Arrow."""
    @classmethod
    def from_networkx(cls, graph, weight='weight') -> Graph:
        """A graph of one of NetworkX, with its nodes' own names. `weight`: the attribute of edges; None: no weights."""
    @property
    def nodes(self) -> Any:
        """How many nodes there are."""
    @property
    def arcs(self) -> Any:
        """How many arcs there are."""
    @property
    def weighted(self) -> Any:
        """Whether arcs have weights."""
    @property
    def ids(self) -> Any:
        """`[n]` what each node is called."""
    def node(self, name) -> Any:
        """The node, 0 to n - 1, that is called so. Raises :class:`InputError` where none is."""
    def degree(self, nodes=Ellipsis) -> Any:
        """How many arcs each of these nodes (0 to n - 1) has, or each of all nodes."""
    def is_undirected(self) -> Any:
        """Whether each arc has its reverse. O(m) when it is first asked for."""
    def to_csr(self) -> Any:
        """`(indptr [n + 1], indices [m], data [m] or None)`, read-only and not copied."""
    def to_scipy(self) -> Any:
        """The matrix (`scipy.sparse.csr_array`) whose stored numbers are the arcs' weights."""
    def loaded(self, **options) -> Any:
        """This graph under options of loading: ``symmetrize='max'``, ``self_loops='drop'``, ``duplicates='min'`` and so on."""
    def save(self, path) -> Any:
        """Writes the graph in the format that the path's ending names: .hive, .mtx, .npz and others.

        Raises :class:`InputError` where nodes have names that Python gave them: a file would lose them."""
    def array(self, like, *, merge='own', of='nodes', devices=None) -> Any:
        """An :class:`Array` for steps, with a copy on every replica.

        Parameters: `like`: a type (uint8, uint32, uint64, int32, float32, float64), for zeros, or the values; `of`: an element for each
        of the 'nodes' or 'arcs', or so many; `merge`: what makes the copies equal after a step that wrote them; `devices`: as of a
        workload [default: all GPUs, or the CPU].

        - 'own': each step writes its own elements: those of the nodes, arcs or indices that it runs over;
        - 'min', 'max': of what is written, the least or the largest stays; a step only lowers, or only raises;
        - 'or': of unsigned numbers, bits that are set stay;
        - 'sum': what a step writes is added to the array after it: in the step it begins at 0, and reads what it has added itself."""
    def node_set(self, nodes=None, *, merge='or', devices=None) -> Any:
        """A :class:`NodeSet` with these nodes (0 to n - 1) in it; `...`: all. `merge`: 'or': steps put nodes in; 'own': steps put in and
        take out the nodes that they run over."""
    def for_all(self, function, over=None, /, **arguments) -> Any:
        """Runs a :func:`function` for all elements, on all replicas, each on its part; then merges what it wrote.

        `over`: nodes [default], a :class:`NodeSet`, 'arcs', a number of indices, or an :class:`Array`, for its elements. A function of
        arcs runs over those out of the nodes. Arguments are arrays, sets and numbers, by the function's names."""
    def advance(self, function, over=None, /, *, output=None, backward=False, **arguments) -> Any:
        """Runs a :func:`function` of arcs, which returns bool, along the arcs out of nodes or out of a set; returns the
        :class:`NodeSet` of the neighbours `v` for which it says yes. `output`: a set to which these are added. `backward`: along the
        arcs into them: `u` is the node, and `v` where the arc comes from."""
    def neighbor_reduce(self, function, output, over=None, /, *, by='sum', backward=False, **arguments) -> Any:
        """Folds what a :func:`function` of arcs returns over the arcs out of each node, into `output`, an :class:`Array` of nodes.

        `by`: sum, min, max or or. A node without arcs gets 0, the largest, the least or 0. `over`: nodes or a :class:`NodeSet`; elements
        of other nodes stay. `backward`: over the arcs into each node: `u` is the node, and `v` where the arc comes from."""
    def release(self) -> Any:
        """Lets go of what is laid out of it on devices."""
    def __len__(self) -> Any:
        ...
    def __contains__(self, name) -> Any:
        ...

def graph(data, *args, **options) -> Graph:
    """A graph of whatever `data` is: a sparse matrix of SciPy, a table of pandas, Polars or Arrow, a graph of NetworkX, a pair or
    triple of arrays (sources, targets, weights), or a path or a generator's name.

    More arguments are those of the ``from_`` method of :class:`Graph` that takes `data`."""

def load(spec, **options) -> Graph:
    """A graph of a file or a generator, as ``hive run --graph`` takes them: ``load('web.mtx.gz')``, ``load('rmat:18')``.

    Options are those of loading: ``weights``, ``symmetrize``, ``self_loops``, ``duplicates``, ``relabel`` and others, as
    ``hive run bfs --help`` lists them. Raises :class:`InputError` with file, line and value for a file that makes no graph."""

def function(cuda=None, *, functions='') -> Callable[[Callable[..., Any]], Function]:
    """Makes a function of NumPy one that runs on the replicas of a fleet: a decorator.

    >>> @hg.function(cuda="y[v] = by * x[v];")
    ... def scaled(v, x: hg.Reads, y: hg.Writes, by: np.float32):
    ...     y[v] = by * x[v]

    The function of NumPy runs on CPUs and is called for many elements at once: `v` and the others are arrays. `cuda` is its body in
    CUDA C++, which runs on GPUs for each element; docs/operators.md, "CUDA C++ of one's own", says what it may use. It may be
    left out where no GPU is used.

    Parameters are told apart by their names and annotations:

    - `v`: nodes, or `i`: indices of an array; it is then a function of elements;
    - `u`, `v`, `e`, `w`: sources, neighbours, places in the rows and weights of arcs; with `u`, `e` or `w` it is one of arcs;
    - `g`: the graph (`g.degree(v)`, `g.nodes`, `g.arcs`);
    - `x: Reads`, `y: Writes`: an :class:`Array`, as an array of NumPy; a :class:`NodeSet`, as truth values `[n]`;
    - `c: numpy.float32`: a number.

    `functions`: functions in CUDA C++ that `cuda` calls."""

def workloads() -> Any:
    """Names of all workloads, and what each computes."""

def doctor() -> Any:
    """Prints what this machine has for computing: GPUs, driver, NVRTC, NCCL; and what is missing and how to get it."""

def close() -> Any:
    """Closes all fleets that no graph is on: their GPUs are free afterwards."""

class _Run(TypedDict, total=False):
    """Options of every run; a workload refuses those that it has no use for."""

    devices: float | str | None
    collective: float | str | None
    merge: float | str | None
    chunks: float | str | None
    chunk_align: float | str | None
    layout: float | str | None
    placement: float | str | None
    memory_limit: int | str | None
    benchmark: bool | None
    runs: int | str | None
    warmup: int | str | None
    verify: bool | str | None
    trace: bool | None
    deadline: float | str | None

def vn(
    graph: Any,
    seeds: _Nodes | None = None,
    *,
    rank: float | str | None = None,
    target: _Nodes | None = None,
    nominee: bool | None = None,
    predecessors: bool | None = None,
    delta: float | str | None = None,
    precision: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Vertex nomination: rank all nodes by their distance from the nearest of some seeds. See help(hivegraph.vn)."""

def sssp(
    graph: Any,
    source: _Id | None = None,
    *,
    target: _Nodes | None = None,
    predecessors: bool | None = None,
    delta: float | str | None = None,
    precision: float | str | None = None,
    results: Literal["host", "device"] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Shortest paths from one source to all nodes. See help(hivegraph.sssp)."""

def geo(
    graph: Any,
    *,
    labels: str | os.PathLike[str] | dict[_Id, Any] | None = None,
    labels_first_id: int | str | None = None,
    locate: float | str | None = None,
    hide: int | str | None = None,
    truth: str | os.PathLike[str] | dict[_Id, Any] | None = None,
    geo_iter: int | str | None = None,
    geo_complete: bool | None = None,
    spatial_iter: int | str | None = None,
    tolerance: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Geolocation: place nodes at the spatial median of their located neighbours. See help(hivegraph.geo)."""

def bfs(
    graph: Any,
    source: _Id | None = None,
    *,
    sources: _Nodes | None = None,
    target: _Nodes | None = None,
    predecessors: bool | None = None,
    direction: float | str | None = None,
    do_a: float | str | None = None,
    do_b: float | str | None = None,
    results: Literal["host", "device"] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Breadth-first search: the least number of arcs from a source to each node. See help(hivegraph.bfs)."""

def cc(
    graph: Any,
    **run: Unpack[_Run],
) -> Result:
    """Connected components: the smallest node in the component of each node. See help(hivegraph.cc)."""

def scc(
    graph: Any,
    **run: Unpack[_Run],
) -> Result:
    """Strongly connected components: the smallest node in the component of each node. See help(hivegraph.scc)."""

def cdlp(
    graph: Any,
    *,
    iterations: int | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Communities by label propagation: the label that most neighbours have, again and again. See help(hivegraph.cdlp)."""

def louvain(
    graph: Any,
    *,
    resolution: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Communities of high modularity: nodes join those of their neighbours, level by level. See help(hivegraph.louvain)."""

def leiden(
    graph: Any,
    *,
    resolution: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Communities of high modularity, each connected: those of Louvain, refined at each level. See help(hivegraph.leiden)."""

def cluster(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    alpha: float | str | None = None,
    epsilon: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Local graph clustering: around each of several nodes, the set that fewest arcs leave. See help(hivegraph.cluster)."""

def kcore(
    graph: Any,
    **run: Unpack[_Run],
) -> Result:
    """Core numbers: the largest k such that a node lies in a subgraph of minimum degree k. See help(hivegraph.kcore)."""

def triangles(
    graph: Any,
    **run: Unpack[_Run],
) -> Result:
    """Triangles: how many each node is in, and how many the graph has. See help(hivegraph.triangles)."""

def lcc(
    graph: Any,
    **run: Unpack[_Run],
) -> Result:
    """Local clustering coefficients: how many of the neighbours of a node know each other. See help(hivegraph.lcc)."""

def scan(
    graph: Any,
    **run: Unpack[_Run],
) -> Result:
    """Scan statistics: the edges among each node and its neighbours. See help(hivegraph.scan)."""

def similar(
    graph: Any,
    *,
    measure: float | str | None = None,
    top_k: float | str | None = None,
    sources: _Nodes | None = None,
    threshold: float | str | None = None,
    pairs: str | os.PathLike[str] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Similarity: the nodes that have most neighbours in common, by Jaccard and four other measures. See help(hivegraph.similar)."""

def project(
    graph: Any,
    side: _Nodes | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Bipartite projection: how many neighbours any two nodes of one side have in common. See help(hivegraph.project)."""

def mst(
    graph: Any,
    **run: Unpack[_Run],
) -> Result:
    """Minimum spanning forest: the lightest edges that join the nodes of each component. See help(hivegraph.mst)."""

def filter(
    *,
    elements: int | str | None = None,
    share: float | str | None = None,
    seed: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Filter: the values of an array below a threshold, in order. See help(hivegraph.filter)."""

def bc(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    targets: _Nodes | None = None,
    weighted: bool | None = None,
    normalized: bool | None = None,
    endpoints: bool | None = None,
    batch: int | str | None = None,
    precision: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Betweenness: for each node, the sum over pairs of nodes of the fraction of their shortest paths that pass through it. See help(hivegraph.bc)."""

def closeness(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    mode: float | str | None = None,
    weighted: bool | None = None,
    precision: float | str | None = None,
    within: float | str | None = None,
    histogram: float | str | None = None,
    batch: int | str | None = None,
    rank_by: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Closeness, harmonic centrality and eccentricity: how far every node is from the others. See help(hivegraph.closeness)."""

def hops(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    targets: _Nodes | None = None,
    nearest: float | str | None = None,
    dtype: float | str | None = None,
    batch: int | str | None = None,
    into: str | os.PathLike[str] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """A matrix of distances in arcs, from several sources to several targets. See help(hivegraph.hops)."""

def distances(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    targets: _Nodes | None = None,
    precision: float | str | None = None,
    nearest: float | str | None = None,
    batch: int | str | None = None,
    into: str | os.PathLike[str] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """A matrix of distances by weight, from several sources to several targets. See help(hivegraph.distances)."""

def pagerank(
    graph: Any,
    *,
    damping: float | str | None = None,
    iterations: int | str | None = None,
    tolerance: float | str | None = None,
    personalize: str | os.PathLike[str] | dict[_Id, Any] | None = None,
    weighted: bool | None = None,
    strategy: float | str | None = None,
    warp_width: float | str | None = None,
    warp_chunk: float | str | None = None,
    segments: int | str | None = None,
    segment_width: float | str | None = None,
    segment_teams: int | str | None = None,
    deterministic: bool | None = None,
    results: Literal["host", "device"] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """PageRank: the share of time that a random walk spends at each node. See help(hivegraph.pagerank)."""

def pr(
    graph: Any,
    *,
    damping: float | str | None = None,
    iterations: int | str | None = None,
    tolerance: float | str | None = None,
    personalize: str | os.PathLike[str] | dict[_Id, Any] | None = None,
    weighted: bool | None = None,
    strategy: float | str | None = None,
    warp_width: float | str | None = None,
    warp_chunk: float | str | None = None,
    segments: int | str | None = None,
    segment_width: float | str | None = None,
    segment_teams: int | str | None = None,
    deterministic: bool | None = None,
    results: Literal["host", "device"] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """PageRank: the share of time that a random walk spends at each node. See help(hivegraph.pr)."""

def ppr(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    method: float | str | None = None,
    alpha: float | str | None = None,
    epsilon: float | str | None = None,
    damping: float | str | None = None,
    iterations: int | str | None = None,
    tolerance: float | str | None = None,
    weighted: bool | None = None,
    top_nodes: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Personalised PageRank of many sources: the nodes that random walks from each end at. See help(hivegraph.ppr)."""

def katz(
    graph: Any,
    *,
    alpha: float | str | None = None,
    iterations: int | str | None = None,
    tolerance: float | str | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Katz centrality: walks that end at a node, shorter ones counting more. See help(hivegraph.katz)."""

def walk(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    walks: int | str | None = None,
    length: int | str | None = None,
    weighted: float | str | None = None,
    scores: str | os.PathLike[str] | dict[_Id, Any] | None = None,
    greedy: float | str | None = None,
    restart: float | str | None = None,
    p: float | str | None = None,
    q: float | str | None = None,
    seed: float | str | None = None,
    keep: float | str | None = None,
    results: Literal["host", "device"] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Random walks: uniform, weighted, by scores, with restarts, node2vec. See help(hivegraph.walk)."""

def sample(
    graph: Any,
    sources: _Nodes | None = None,
    *,
    fanouts: Iterable[int] | int | str | None = None,
    replace: float | str | None = None,
    seed: float | str | None = None,
    results: Literal["host", "device"] | None = None,
    **run: Unpack[_Run],
) -> Result:
    """Neighbour sampling: some neighbours of each node, and of those, hop by hop, for GraphSAGE. See help(hivegraph.sample)."""
