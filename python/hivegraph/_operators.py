"""Users' own functions on every replica: arrays and sets, `for_all`, `advance`, `neighbor_reduce`."""

import inspect
import threading

import numpy as np

from . import _arrays, _core
from ._errors import InputError

# Types of elements, and what CUDA C++ calls them.
_TYPES = {np.dtype(name): short for name, short in zip(("u1", "u4", "u8", "i4", "f4", "f8"), ("u8", "u32", "u64", "i32", "f32", "f64"))}
_MERGES = {"own": "gather", "min": "min", "max": "max", "or": "or", "sum": "sum"}
# Arcs that the host hands to a function of NumPy at a time.
_BATCH = 1 << 22


class Reads:
    """An array or a set that a function reads: an annotation of its parameter."""


class Writes:
    """An array or a set that a function writes (and may read): an annotation of its parameter."""


# Functions as GPUs have them, by all that they are: the same function, made again, is not compiled again.
_made = {}


def _typed(dtype, what):
    """The type, and its name in CUDA C++."""
    try:
        dtype = np.dtype(dtype)
        return dtype, _TYPES[dtype]
    except (KeyError, TypeError):
        named = ", ".join(name.name for name in _TYPES)
        raise InputError(f"{what} is of type {dtype!s}; elements are of {named}") from None


class Function:
    """A function of an element or of an arc, written for CPUs and for GPUs; see :func:`function`."""

    def __init__(self, host, cuda, functions):
        self.host, self.cuda, self.functions = host, cuda, functions
        self.name = getattr(host, "__name__", "function")
        self.__doc__ = host.__doc__
        self.elements, self.uses, self.defaults = [], {}, {}
        try:
            parameters = inspect.signature(host, eval_str=True).parameters
        except NameError as error:
            raise InputError(f"function {self.name}: an annotation cannot be looked up: {error}") from None
        for name, parameter in parameters.items():
            kind = parameter.annotation
            if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
                raise InputError(f"function {self.name}: parameter {parameter} has no name of its own; arguments are given by names")
            if name in ("u", "v", "e", "w", "i", "g"):
                self.elements.append(name)
            elif kind in (Reads, Writes):
                self.uses[name] = kind
            elif kind is parameter.empty or kind is None:
                raise InputError(
                    f"function {self.name}: what is parameter {name}? Annotate it: hivegraph.Reads or hivegraph.Writes for an array "
                    "or a set, a type of NumPy such as numpy.float32 for a number"
                )
            else:
                self.uses[name] = _typed(kind, f"function {self.name}: parameter {name}")[0]
                if parameter.default is not parameter.empty:
                    self.defaults[name] = parameter.default
        self.arcs = any(name in self.elements for name in ("u", "e", "w"))
        taken = [name for name in ("output", "by", "backward") if self.arcs and name in self.uses]
        taken += [name for name in ("folded",) if name in self.uses]
        if taken:
            raise InputError(f"function {self.name}: {taken[0]} is a name that operators take themselves; choose another")
        if self.arcs and "i" in self.elements:
            raise InputError(f"function {self.name} asks for i, an index, and for u, e or w of an arc; ask for one of the two")

    def __call__(self, *_, **__):
        raise InputError(f"function {self.name} is called by for_all, advance or neighbor_reduce of a graph, for all elements at once")

    def __repr__(self):
        return f"<hivegraph.Function {self.name} of {'arcs' if self.arcs else 'elements'}>"

    def compile(self, arch="sm_90", returns=None, /, **types):
        """Compiles the CUDA text for GPUs of an architecture, without one. Raises :class:`InputError` with line and reason.

        `returns`: `bool` for :meth:`Graph.advance`, a type of NumPy for :meth:`Graph.neighbor_reduce`. Arrays are given by their
        types, sets as `set`: ``tell.compile("sm_90", bool, label=numpy.uint32)``.
        """
        if returns is not None and not self.arcs:
            raise InputError(f"function {self.name} is one of elements, which returns nothing")
        self._fit(types)
        of = {name: "set" if kind is set else _typed(kind, f"argument {name}")[1] for name, kind in types.items()}
        given = {None: "void", bool: "bool"}
        self._lambda(given[returns] if returns in given else _typed(returns, "what it returns")[1], of).compile(arch)

    def _fit(self, given):
        """Refuses arguments that are not those of the function. Numbers are looked at elsewhere."""
        for name in given:
            if name not in self.uses:
                known = ", ".join(self.uses) or "none"
                raise InputError(f"function {self.name} has no argument {name!r}; its arguments are: {known}")
        for name, kind in self.uses.items():
            if name not in given and kind in (Reads, Writes):
                raise InputError(f"function {self.name}: argument {name} is missing")

    def _lambda(self, returns, of):
        """The function as GPUs have it, for arrays of these types."""
        arguments = []
        for name, kind in self.uses.items():
            if kind in (Reads, Writes):
                used = "reads" if kind is Reads else "writes"
                arguments.append((name, used + "_set" if of[name] == "set" else used, "" if of[name] == "set" else of[name]))
            else:
                arguments.append((name, "scalar", _TYPES[kind]))
        key = (self.name, self.cuda, self.functions, self.arcs, returns, *arguments)
        if key not in _made:
            if self.cuda is None:
                raise InputError(
                    f"function {self.name} has no text for GPUs; give one, @hivegraph.function(cuda='...'), or use devices='host'"
                )
            _made[key] = _core.Lambda(self.name, (self.cuda, self.functions), self.arcs, returns, arguments)
        return _made[key]


def function(cuda=None, *, functions=""):
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

    `functions`: functions in CUDA C++ that `cuda` calls.
    """
    if callable(cuda):
        raise InputError("write @hivegraph.function() with brackets")
    return lambda host: Function(host, cuda, functions)


# Arrays that a step writes, or that are read while nobody writes: id -> how many read, or -1.
_busy = {}
_lock = threading.Lock()


class _InUse:
    """Keeps arrays from being used by two steps of which one writes."""

    def __init__(self, reads, writes):
        self._claims = [(one, False) for one in reads] + [(one, True) for one in writes]
        self._held = []

    def __enter__(self):
        with _lock:
            for one, writes in self._claims:
                count = _busy.get(id(one._core), 0)
                if count < 0 or writes and count:
                    self._leave()
                    raise InputError(
                        f"{one!r} is used by another step, which has not ended: one of another thread, or the one whose function this is "
                        "called from"
                    )
                _busy[id(one._core)] = -1 if writes else count + 1
                self._held.append((one, writes))
        return self

    def __exit__(self, *_):
        with _lock:
            self._leave()

    def _leave(self):
        for one, writes in self._held:
            count = _busy.pop(id(one._core))
            if not writes and count > 1:
                _busy[id(one._core)] = count - 1
        self._held = []


class _Held:
    """What arrays and sets have in common."""

    __slots__ = ("_place", "_core", "_torn", "__weakref__")

    def __init__(self, place, core):
        self._place, self._core, self._torn = place, core, False

    def _there(self):
        if not self._core.is_open():
            raise InputError(f"{self!r} is lost: its devices were closed, or a step or run on them has failed; make it again")

    def _whole(self):
        self._there()
        if self._torn:
            raise InputError(f"{self!r} was left half-written by a step that failed; assign it anew, or make another one")
        return self

    def _put(self, values):
        self._there()
        with _InUse((), (self,)):
            self._torn = True
            self._core.assign(values)
            self._torn = False

    def __reduce_ex__(self, _):
        raise TypeError(f"{self!r} cannot be copied or pickled; copy its values: numpy()")


class Array(_Held):
    """An array with a copy on every replica, made by :meth:`Graph.array`.

    `len(x)`, `x.dtype`, `x.merge`; `x.numpy()` has its values, `x.assign(values)` and `x.fill(value)` set them.
    """

    __slots__ = ("dtype", "merge", "_length", "_of")

    def __init__(self, place, core, dtype, merge, length, of):
        super().__init__(place, core)
        self.dtype, self.merge, self._length, self._of = dtype, merge, length, of

    def numpy(self):
        """`[len]` its values, as the last step left them: a copy."""
        with _InUse((self._whole(),), ()):
            return np.asarray(self._core.read())

    def assign(self, values):
        """Sets all values: as many as there are, of a type that fits."""
        array = _arrays.plain(values, "values")
        if len(array) != len(self):
            raise InputError(f"there are {len(array)} values for an array of {len(self)}; give one for each")
        self._put(_fitting(array, self.dtype))

    def fill(self, value):
        """Sets all values to one."""
        value = np.asarray(value)
        if value.ndim:
            raise InputError(f"fill takes one value, and {value.ndim} dimensions are given; use assign")
        self._put(np.full(len(self), _fitting(value, self.dtype)))

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the values of an array of hivegraph are copied")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __len__(self):
        return self._length

    def __repr__(self):
        return f"<hivegraph.Array of {self._length:,} {self.dtype}, merge={self.merge!r}>"


def _fitting(values, dtype):
    """The values in this type, if it holds them; a float is rounded."""
    if values.dtype == dtype:
        return _arrays.row(values)
    if values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            same = values.astype(dtype)
        fits = np.isfinite(same) | ~np.isfinite(values) if dtype.kind == "f" else same == values
        if np.all(fits):
            return same
    raise InputError(f"values of type {values.dtype} do not fit {dtype}")


class NodeSet(_Held):
    """A set of nodes with a copy on every replica, one bit for each node, made by :meth:`Graph.node_set`.

    `len(s)` is how many nodes are in it; `s.numpy()` are those nodes; `s.assign(nodes)`, `s.clear()`.
    """

    __slots__ = ("merge", "_nodes")
    _of = "set"

    def __init__(self, place, core, merge, nodes):
        super().__init__(place, core)
        self.merge, self._nodes = merge, nodes

    def numpy(self):
        """The nodes in it, 0 to n - 1, rising."""
        with _InUse((self._whole(),), ()):
            return np.flatnonzero(_bits(np.asarray(self._core.read()), self._nodes)).astype(np.uint32)

    def assign(self, nodes):
        """Makes these nodes (0 to n - 1) the set; `...`: all of them."""
        bits = np.zeros(self._nodes, dtype=bool)
        if nodes is ...:
            bits[:] = True
        else:
            bits[nodes_below(self._nodes, nodes)] = True
        self._put(_words(bits))

    def clear(self):
        """Takes all nodes out."""
        self._there()
        with _InUse((), (self,)):
            self._torn = True
            self._core.clear()
            self._torn = False

    def __len__(self):
        with _InUse((self._whole(),), ()):
            return self._core.count()

    def __repr__(self):
        return f"<hivegraph.NodeSet among {self._nodes:,} nodes, merge={self.merge!r}>"


def nodes_below(count, given):
    """Nodes below `count`, as whole numbers."""
    nodes = _arrays.plain(np.atleast_1d(given) if np.ndim(given) == 0 else given, "nodes")
    if nodes.dtype.kind == "i" and nodes.size and nodes.min() < 0:
        raise InputError(f"nodes[{int(np.argmin(nodes))}] is {int(nodes.min())}; nodes are 0 to {count - 1}")
    nodes = _arrays.whole_numbers(nodes, "nodes").astype(np.int64)
    if nodes.size and nodes.max() >= count:
        raise InputError(f"nodes[{int(np.argmax(nodes))}] is {int(nodes.max())}; nodes are 0 to {count - 1}")
    return nodes


def _bits(words, nodes):
    return np.unpackbits(words.view(np.uint8), bitorder="little", count=nodes).view(bool)


def _words(bits):
    packed = np.zeros(-(-len(bits) // 64) * 8, dtype=np.uint8)
    some = np.packbits(bits, bitorder="little")
    packed[: len(some)] = some
    return packed.view(np.uint64)


class _Step:
    """One call of an operator."""

    def __init__(self, graph, name, function, given):
        if not isinstance(function, Function):
            raise InputError(f"{name} runs a function that @hivegraph.function made, not {type(function).__name__}")
        function._fit(given)
        self.graph, self.name, self.function = graph, name, function
        self.reads, self.writes, self.numbers = {}, {}, {}
        for parameter, kind in function.uses.items():
            if kind in (Reads, Writes):
                if not isinstance(given[parameter], _Held):
                    raise InputError(
                        f"{self.where}argument {parameter} is {type(given[parameter]).__name__}; give an array or a set of the graph: "
                        "g.array(...), g.node_set(...)"
                    )
                (self.reads if kind is Reads else self.writes)[parameter] = given[parameter]
                continue
            if parameter not in given and parameter not in function.defaults:
                raise InputError(f"{self.where}argument {parameter} is missing")
            number = self.fitting(np.asarray(given.get(parameter, function.defaults.get(parameter))), kind)
            if number.ndim:
                raise InputError(f"{self.where}argument {parameter} is a number, and {number.ndim} dimensions are given")
            self.numbers[parameter] = number[()]
        self.output, self.over, self.fold, self.backward, self.returns = None, "nodes", "sum", False, "void"

    def fitting(self, values, dtype):
        try:
            return _fitting(values, dtype)
        except InputError as error:
            raise InputError(f"{self.where}{error}") from None

    @property
    def where(self):
        return f"{self.name} of {self.function.name}: "

    def run(self):
        read, written = list(self.reads.values()), list(self.writes.values())
        if isinstance(self.over, NodeSet):
            read.append(self.over)
        if self.output is not None:
            written.append(self.output)
        ids = [id(one) for one in written]
        if len(set(ids)) < len(ids) or any(id(one) in ids for one in read):
            raise InputError(f"{self.where}an array or set is written, and is given a second time; what is written is given once")
        read = list({id(one): one for one in read}.values())
        places = {one._place for one in read + written}
        if len(places) != 1:
            what = "arrays are of different graphs, or were made with different devices=" if places else "there is neither an array nor a set"
            raise InputError(f"{self.where}{what}; give those that one graph has made for the same devices")
        (place,) = places
        if place.of is not self.graph._core:
            raise InputError(f"{self.where}its arrays are of another graph")
        for name, one in self.writes.items():
            along = self.function.arcs or self.over == "arcs"
            fits = one._of == self.over if isinstance(one._of, int) or isinstance(self.over, int) else along or one._of != "arcs"
            if one.merge == "own" and not (fits and (one._of == "arcs" or self.over != "arcs")):
                raise InputError(
                    f"{self.where}argument {name} is of merge='own', so that a step writes those of its elements that it runs over; run it over "
                    f"{'as many indices' if isinstance(one._of, int) else one._of}, or give an array that is merged otherwise"
                )
        if self.returns == "bool" and self.output.merge == "own":
            raise InputError(f"{self.where}output is of merge='own', and neighbours are anybody's nodes; give a set of merge='or'")
        with _InUse(read, written):
            for one in read + written:
                one._whole()
            if place.on_gpus:
                self.launch(place, written)
            else:
                self.host(place)

    def launch(self, place, written):
        of = {name: "set" if isinstance(one, NodeSet) else _TYPES[one.dtype] for name, one in (self.reads | self.writes).items()}
        function = self.function._lambda(self.returns, of)
        over = self.over
        given = (over, None, 0) if isinstance(over, str) else ("", None, over) if isinstance(over, int) else ("", over._core, 0)
        core = place.core(self.backward)
        for one in written:
            one._torn = True
        function.launch(
            core,
            given,
            [(name, one._core) for name, one in self.reads.items()],
            [(name, one._core) for name, one in self.writes.items()],
            [(name, _TYPES[number.dtype], number.tobytes()) for name, number in self.numbers.items()],
            None if self.output is None else self.output._core,
            _MERGES[self.fold],
            self.backward,
        )
        for one in written:
            one._torn = False

    def host(self, place):
        core = place.core(self.backward)
        folded = self.returns not in ("void", "bool")
        gathered = self.output if folded else None
        merged = [*self.writes.values(), *([] if folded or self.output is None else [self.output])]
        offsets, chunks = place.rows(False)[0], core.chunks()
        parts = {"nodes": chunks, "set": chunks, "arcs": [int(offsets[node]) for node in chunks]}
        rows = place.rows(self.backward)

        def bounds(of):
            return parts[of] if isinstance(of, str) else core.slices(of)

        over = "set" if isinstance(self.over, NodeSet) else self.over
        written = []
        for rank in range(core.replicas):
            views = _Views(self, rank)
            for elements, segments in self.batches(bounds(over)[rank : rank + 2], rows, rank):
                asked = {name: elements(name) for name in self.function.elements if name != "g"}
                if "g" in self.function.elements:
                    asked["g"] = self.graph
                answer = self.function.host(**asked, **views.given, **self.numbers)
                if folded:
                    nodes, counts = segments
                    views.output[nodes] = self.folds(answer, counts, gathered.dtype)
                elif self.output is not None:
                    views.output[elements("v")[self.answered(answer, elements("v"), bool)]] = True
                elif answer is not None:
                    raise InputError(f"{self.where}the function returns {type(answer).__name__}; it writes arrays, and returns nothing")
            written += views.written(bounds, rank)
        # Until here nothing has changed.
        changed = [*merged, *([] if gathered is None else [gathered])]
        for one in changed:
            one._torn = True
        for memory, values in written:
            memory[:] = values
        core.merge([one._core for one in merged], None if gathered is None else gathered._core)
        for rank in range(core.replicas):
            for one in merged:
                total, added = (None if part is None else np.asarray(part) for part in one._core.host(rank, True))
                if added is not None:
                    with np.errstate(all="ignore"):
                        total += added
                    added[:] = 0
        for one in changed:
            one._torn = False

    def answered(self, answer, like, dtype):
        """What a function has answered for each arc."""
        if answer is None:
            raise InputError(f"{self.where}the function returns nothing; it returns a value for each arc")
        answer = np.asarray(answer)
        if answer.ndim == 0:
            answer = np.broadcast_to(answer, like.shape)
        if answer.shape != like.shape:
            raise InputError(f"{self.where}the function returns an array of shape {answer.shape} for {len(like)} arcs")
        if dtype == bool and answer.dtype != bool:
            raise InputError(f"{self.where}the function returns {answer.dtype}; it says of each arc whether its neighbour joins: bool")
        return answer

    def folds(self, answer, counts, dtype):
        """The fold of the values of each node's arcs."""
        total = int(counts.sum())
        values = self.fitting(self.answered(answer, np.empty(total, dtype=bool), None), dtype)
        least, largest = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.kind in "iu" else (-np.inf, np.inf)
        fold, nothing = {"sum": (np.add, 0), "min": (np.fmin, largest), "max": (np.fmax, least), "or": (np.bitwise_or, 0)}[self.fold]
        begins = np.cumsum(counts) - counts
        out = np.full(len(counts), nothing, dtype=dtype)
        some = np.flatnonzero(counts)
        if len(some):
            with np.errstate(all="ignore"):
                folds = fold.reduceat(values, begins[some], dtype=dtype)
                # A NaN loses to what a fold begins with.
                out[some] = folds if self.fold == "sum" else fold(nothing, folds)
        return out

    def batches(self, own, rows, rank):
        """Elements of a replica, some at a time: by name; and, of arcs, their sources and how many each has."""
        nodes = np.arange(*own)
        if isinstance(self.over, NodeSet):
            words = np.asarray(self.over._core.host(rank, False)[0])
            nodes = nodes[_bits(words, self.graph.nodes)[own[0] : own[1]]]
        if not self.function.arcs:
            if len(nodes):
                yield _asked({"v": lambda: nodes.astype(np.uint32), "i": lambda: nodes}), None
            return
        offsets, columns, weights = rows
        counts = offsets[nodes + 1] - offsets[nodes]
        ends = np.cumsum(counts)
        begin = 0
        while begin < len(nodes):
            done = int(ends[begin - 1]) if begin else 0
            end = max(begin + 1, int(np.searchsorted(ends, done + _BATCH, "right")))
            yield _along(nodes[begin:end], counts[begin:end], offsets, columns, weights)
            begin = end


def _asked(make):
    """Makes arrays of elements when they are asked for; nobody writes to them."""
    made = {}

    def asked(name):
        if name not in made:
            made[name] = make[name]()
            made[name].flags.writeable = False
        return made[name]

    return asked


def _along(nodes, counts, offsets, columns, weights):
    """The arcs out of some nodes."""
    count = int(counts.sum())
    elements = _asked(
        {
            "u": lambda: np.repeat(nodes.astype(np.uint32), counts),
            "v": lambda: columns[elements("e")],
            "e": lambda: np.arange(count) + np.repeat(offsets[nodes] - (np.cumsum(counts) - counts), counts),
            "w": lambda: np.ones(count, dtype=np.float32) if weights is None else weights[elements("e")],
        }
    )
    return elements, (nodes, counts)


class _Views:
    """A host replica's copies of arrays and sets, as a function of NumPy sees them. What it writes are copies of these, which are put
    back when all replicas are done.
    """

    def __init__(self, step, rank):
        self.step, self.given, self.output, self._written = step, {}, None, []
        for name, one in step.reads.items():
            values = np.asarray(one._core.host(rank, False)[0])
            self.given[name] = _bits(values, one._nodes) if isinstance(one, NodeSet) else values
            self.given[name].flags.writeable = False
        for name, one in step.writes.items():
            self.given[name] = self.copied(one, rank)
        if step.output is not None:
            self.output = self.copied(step.output, rank, checks=False)

    def copied(self, one, rank, checks=True):
        values, added = (None if part is None else np.asarray(part) for part in one._core.host(rank, True))
        memory = values if added is None else added
        before = _bits(memory, one._nodes) if isinstance(one, NodeSet) else memory
        seen = before.copy()
        self._written.append((one, memory, seen, before if checks and one.merge != "sum" else None))
        return seen

    def written(self, bounds, rank):
        """Memory, and what goes there. Refuses what a merge would undo."""
        for one, memory, seen, before in self._written:
            if before is not None:
                self.check(one, seen, before, bounds, rank)
            yield memory, _words(seen) if isinstance(one, NodeSet) else seen

    def check(self, one, seen, before, bounds, rank):
        none = seen != seen
        lost = {
            "own": lambda: _elsewhere(seen, before, bounds(one._of)[rank : rank + 2]),
            "min": lambda: (seen > before) | none & (before == before),
            "max": lambda: (seen < before) | none & (before == before),
            "or": lambda: before & ~seen,
        }[one.merge]()
        if not lost.any():
            return
        at = int(np.argmax(lost != 0))
        why = {
            "own": "which is another replica's: a step writes an array of merge='own' at its own elements",
            "min": "which was lower: an array of merge='min' only falls",
            "max": "which was higher: an array of merge='max' only rises",
            "or": "which loses bits: merge='or' keeps them",
        }[one.merge]
        raise InputError(f"{self.step.where}it writes element {at} of {one!r}, {why}")


def _elsewhere(seen, before, own):
    changed = (seen != before) & ~((seen != seen) & (before != before))
    changed[slice(*own)] = False
    return changed


class Place:
    """A graph on devices."""

    def __init__(self, core, options):
        self.of, self._options, self._core, self._rows = core, options, None, {}
        self.on_gpus = self.core(False).on_gpus

    def core(self, backward):
        """The same, with rows backward if these are wanted."""
        if self._core is None or not self._core.is_open() or backward and not self._core.backward:
            self._core = self.of.placed(self._options, backward)
        return self._core

    def release(self):
        """Lets go of what lies on devices but arrays."""
        self._core, self._rows = None, {}

    def rows(self, backward):
        """Offsets, neighbours and weights of rows on the host."""
        if backward not in self._rows:
            offsets, columns, weights = self.core(True).rows_backward() if backward else self.of.csr()
            weights = None if weights is None else np.asarray(weights)
            self._rows[backward] = np.asarray(offsets).view(np.int64), np.asarray(columns), weights
        return self._rows[backward]

    def array(self, like, merge, of):
        if merge not in _MERGES:
            raise InputError(f"merge is {merge!r}; it is one of {', '.join(_MERGES)}")
        values = None
        if isinstance(like, (type, str, np.dtype)):
            dtype, short = _typed(like, "the array")
        else:
            values = _arrays.plain(like, "values")
            dtype, short = _typed(values.dtype, "the array")
        if merge == "or" and dtype.kind != "u":
            raise InputError(f"an array of {dtype} has no merge by 'or', which is of unsigned numbers")
        lengths = {"nodes": self.of.nodes, "arcs": self.of.arcs}
        of = int(of) if isinstance(of, (int, np.integer)) else of
        if not (0 <= of < 2**48 if isinstance(of, int) else isinstance(of, str) and of in lengths):
            raise InputError(f"of is {of!r}; it is 'nodes', 'arcs' or a number of elements")
        length = lengths[of] if isinstance(of, str) else of
        made = Array(self, self.core(False).array(of if isinstance(of, str) else "elements", length, short, _MERGES[merge]), dtype, merge, length, of)
        if values is not None:
            made.assign(values)
        return made

    def node_set(self, nodes, merge):
        if merge not in ("or", "own"):
            raise InputError(f"merge is {merge!r}; that of a set is or, own")
        made = NodeSet(self, self.core(False).array("set", 0, "", _MERGES[merge]), merge, self.of.nodes)
        if nodes is not None:
            made.assign(nodes)
        return made


def for_all(graph, function, over, arguments):
    step = _Step(graph, "for_all", function, arguments)
    step.over = _ranged(step, over)
    step.run()


def advance(graph, function, over, output, arguments):
    step = _Step(graph, "advance", function, arguments)
    step.over, step.returns = _ranged(step, over), "bool"
    if not function.arcs:
        raise InputError(f"{step.where}it is a function of elements; advance runs one of arcs, which asks for u, e or w")
    if output is None:
        held = [*step.reads.values(), *step.writes.values(), *([over] if isinstance(over, NodeSet) else [])]
        place = held[0]._place if held else graph._place(None)
        output = place.node_set(None, "or")
    if not isinstance(output, NodeSet):
        raise InputError(f"{step.where}output is {type(output).__name__}; give a set: g.node_set()")
    step.output = output
    step.run()
    return output


def neighbor_reduce(graph, function, output, over, by, backward, arguments):
    step = _Step(graph, "neighbor_reduce", function, arguments)
    if not function.arcs:
        raise InputError(f"{step.where}it is a function of elements; neighbor_reduce runs one of arcs, which asks for u, e or w")
    if not isinstance(output, Array) or output._of != "nodes" or output.merge == "sum":
        raise InputError(f"{step.where}what it folds goes to an array of nodes, g.array(..., merge='own'); given is {output!r}")
    if by not in ("sum", "min", "max", "or"):
        raise InputError(f"{step.where}by is {by!r}; it is one of sum, min, max, or")
    short = _TYPES[output.dtype]
    if short == "u8" or by == "or" and short[0] != "u":
        raise InputError(f"{step.where}elements of {output.dtype} have no fold by {by!r}")
    step.over, step.returns, step.output = _ranged(step, over), short, output
    step.fold, step.backward = by, bool(backward)
    step.run()


def _ranged(step, over):
    """What a step runs over: "nodes", "arcs", a set, or a number of indices."""
    if isinstance(over, Array):
        over = over._of
    if isinstance(over, (int, np.integer)):
        over = int(over)
        if over < 0:
            raise InputError(f"{step.where}over is {over}; it is a number of indices")
    elif over is None:
        over = "nodes"
    elif not isinstance(over, NodeSet) and not (isinstance(over, str) and over in ("nodes", "arcs")):
        raise InputError(f"{step.where}over is {over!r}; it is None for all nodes, a set, an array, 'arcs', or a number of indices")
    if step.function.arcs:
        if isinstance(over, int):
            raise InputError(f"{step.where}it is a function of arcs; run it over nodes, arcs or a set, not over indices")
        over = "nodes" if over == "arcs" else over
    return over
