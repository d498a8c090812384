"""Steps: a function on all replicas, each on its part, and the merge of what it wrote."""

import numpy as np

from . import _arrays
from ._errors import InputError
from ._functions import Function, Reads, Writes
from ._replicated import MERGES, Array, Held, InUse, NodeSet, packed, unpacked

# Arcs that the host hands to a function of NumPy at a time.
_BATCH = 1 << 22


class Step:
    """One call of an operator."""

    def __init__(self, graph, name, function, given):
        if not isinstance(function, Function):
            raise InputError(f"{name} runs a function that @hivegraph.function made, not {type(function).__name__}")
        function._fit(given)
        self.graph, self.name, self.function = graph, name, function
        self.reads, self.writes, self.numbers = {}, {}, {}
        for parameter, kind in function.uses.items():
            if kind in (Reads, Writes):
                if not isinstance(given[parameter], Held):
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
            return _arrays.fitting(values, dtype)
        except InputError as error:
            raise InputError(f"{self.where}{error}") from None

    @property
    def where(self):
        return f"{self.name} of {self.function.name}: "

    def run(self):
        self.refuse_places()
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
            if one.merge == "own" and one._of not in self.owned():
                raise InputError(
                    f"{self.where}argument {name} is of merge='own', so that a step writes those of its elements that it runs over; run it over "
                    f"{'as many indices' if isinstance(one._of, int) else 'arcs' if one._of == 'arcs' else 'nodes'}, or give an array that is merged otherwise"
                )
        if self.returns == "bool" and self.output.merge == "own":
            raise InputError(f"{self.where}output is of merge='own', and neighbours are anybody's nodes; give a set of merge='or'")
        with InUse(read, written):
            for one in read + written:
                one._whole()
            if place.on_gpus:
                self.launch(place, written)
            else:
                self.host(place)

    def refuse_places(self):
        """Refuses a function that asks for the place of an arc along rows that are not those of the arrays of arcs."""
        if self.backward and "e" in self.function.elements and not self.graph.is_undirected():
            raise InputError(
                f"{self.where}it asks for e, the place of an arc, and goes backward, where arcs of a directed graph have other places; go "
                "forward, or do without e"
            )

    def owned(self):
        """What arrays have elements that a replica's part of this step owns."""
        if isinstance(self.over, int) or self.over == "arcs":
            return (self.over,)
        return ("nodes", "set", "arcs") if self.function.arcs else ("nodes", "set")

    def launch(self, place, written):
        of = {name: "set" if isinstance(one, NodeSet) else _arrays.TYPES[one.dtype] for name, one in (self.reads | self.writes).items()}
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
            [(name, _arrays.TYPES[number.dtype], number.tobytes()) for name, number in self.numbers.items()],
            None if self.output is None else self.output._core,
            MERGES[self.fold],
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
            nodes = nodes[unpacked(words, self.graph.nodes)[own[0] : own[1]]]
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
            self.given[name] = unpacked(values, one._nodes) if isinstance(one, NodeSet) else values
            self.given[name].flags.writeable = False
        for name, one in step.writes.items():
            self.given[name] = self.copied(one, rank)
        if step.output is not None:
            self.output = self.copied(step.output, rank, checks=False)

    def copied(self, one, rank, checks=True):
        values, added = (None if part is None else np.asarray(part) for part in one._core.host(rank, True))
        memory = values if added is None else added
        before = unpacked(memory, one._nodes) if isinstance(one, NodeSet) else memory
        seen = before.copy()
        self._written.append((one, memory, seen, before if checks and one.merge != "sum" else None))
        return seen

    def written(self, bounds, rank):
        """Memory, and what goes there. Refuses what a merge would undo."""
        for one, memory, seen, before in self._written:
            if before is not None:
                self.check(one, seen, before, bounds, rank)
            yield memory, packed(seen) if isinstance(one, NodeSet) else seen

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


def for_all(graph, function, over, arguments):
    step = Step(graph, "for_all", function, arguments)
    step.over = _ranged(step, over)
    step.run()


def advance(graph, function, over, output, backward, arguments):
    step = Step(graph, "advance", function, arguments)
    step.over, step.returns = _ranged(step, over), "bool"
    if not function.arcs:
        raise InputError(f"{step.where}it is a function of elements; advance runs one of arcs, which asks for u, e or w")
    if output is None:
        held = [*step.reads.values(), *step.writes.values(), *([over] if isinstance(over, NodeSet) else [])]
        place = held[0]._place if held else graph._place(None)
        output = place.node_set(None, "or")
    if not isinstance(output, NodeSet):
        raise InputError(f"{step.where}output is {type(output).__name__}; give a set: g.node_set()")
    step.output, step.backward = output, bool(backward)
    step.run()
    return output


def neighbor_reduce(graph, function, output, over, by, backward, arguments):
    step = Step(graph, "neighbor_reduce", function, arguments)
    if not function.arcs:
        raise InputError(f"{step.where}it is a function of elements; neighbor_reduce runs one of arcs, which asks for u, e or w")
    if not isinstance(output, Array) or output._of != "nodes" or output.merge == "sum":
        raise InputError(f"{step.where}what it folds goes to an array of nodes, g.array(..., merge='own'); given is {output!r}")
    if by not in ("sum", "min", "max", "or"):
        raise InputError(f"{step.where}by is {by!r}; it is one of sum, min, max, or")
    short = _arrays.TYPES[output.dtype]
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
