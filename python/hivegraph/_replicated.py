"""Arrays and sets with a copy on every replica."""

import threading

import numpy as np

from . import _arrays
from ._errors import InputError

# What makes copies equal after a step, and what the engine calls it.
MERGES = {"own": "gather", "min": "min", "max": "max", "or": "or", "sum": "sum"}

# Arrays that a step writes, or that are read while nobody writes: id -> how many read, or -1.
_busy = {}
_lock = threading.Lock()


class InUse:
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


class Held:
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
        with InUse((), (self,)):
            self._torn = True
            self._core.assign(values.view(np.uint8))
            self._torn = False

    def __reduce_ex__(self, _):
        raise TypeError(f"{self!r} cannot be copied or pickled; copy its values: numpy()")


class Array(Held):
    """An array with a copy on every replica, made by :meth:`Graph.array`.

    `len(x)`, `x.dtype`, `x.merge`; `x.numpy()` has its values, `x.assign(values)` and `x.fill(value)` set them. CuPy and PyTorch take
    it as it lies on a GPU.
    """

    __slots__ = ("dtype", "merge", "_length", "_of")

    def __init__(self, place, core, dtype, merge, length, of):
        super().__init__(place, core)
        self.dtype, self.merge, self._length, self._of = dtype, merge, length, of

    def numpy(self):
        """`[len]` its values, as the last step left them: a copy."""
        with InUse((self._whole(),), ()):
            return np.asarray(self._core.read())

    def assign(self, values):
        """Sets all values: as many as there are, of a type that fits."""
        array = _arrays.plain(values, "values")
        if len(array) != len(self):
            raise InputError(f"there are {len(array)} values for an array of {len(self)}; give one for each")
        self._put(_arrays.fitting(array, self.dtype))

    def fill(self, value):
        """Sets all values to one."""
        value = np.asarray(value)
        if value.ndim:
            raise InputError(f"fill takes one value, and {value.ndim} dimensions are given; use assign")
        self._put(np.full(len(self), _arrays.fitting(value, self.dtype)))

    @property
    def __cuda_array_interface__(self):
        """The copy of the first GPU, for `cupy.asarray` and, on torch's current GPU, `torch.as_tensor(x, device="cuda")`: a view, which
        changes as steps change it. Steps do not wait for other libraries: before the next step, and before the array goes, wait until
        these have done with it (`cupy.cuda.Device().synchronize()`, `torch.cuda.synchronize()`). What is written there other GPUs do
        not see, so write with one GPU alone. On the CPU there is none.
        """
        if not self._place.on_gpus:
            raise AttributeError("the array is on the CPU; use numpy()")
        with InUse((self._whole(),), ()):
            address = self._core.address()
        return {"shape": (len(self),), "typestr": self.dtype.str, "data": (address, False), "strides": None, "stream": None, "version": 3}

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("the values of an array of hivegraph are copied")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __len__(self):
        return self._length

    def __repr__(self):
        return f"<hivegraph.Array of {self._length:,} {self.dtype}, merge={self.merge!r}>"


class NodeSet(Held):
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
        with InUse((self._whole(),), ()):
            return np.flatnonzero(unpacked(np.asarray(self._core.read()), self._nodes)).astype(np.uint32)

    def assign(self, nodes):
        """Makes these nodes (0 to n - 1) the set; `...`: all of them."""
        bits = np.zeros(self._nodes, dtype=bool)
        if nodes is ...:
            bits[:] = True
        else:
            bits[nodes_below(self._nodes, nodes)] = True
        self._put(packed(bits))

    def clear(self):
        """Takes all nodes out."""
        self._there()
        with InUse((), (self,)):
            self._torn = True
            self._core.clear()
            self._torn = False

    def __len__(self):
        with InUse((self._whole(),), ()):
            return self._core.count()

    def __repr__(self):
        return f"<hivegraph.NodeSet among {self._nodes:,} nodes, merge={self.merge!r}>"


def nodes_below(count, given):
    """Nodes below `count`, as whole numbers."""
    nodes = _arrays.plain(np.atleast_1d(given) if np.ndim(given) == 0 else given, "nodes")
    # Signs are lost to `whole_numbers`.
    bad = (nodes < 0) | (nodes >= count) if nodes.dtype.kind in "iuf" else np.zeros(0, dtype=bool)
    if bad.any():
        at = int(np.argmax(bad))
        raise InputError(f"nodes[{at}] is {nodes[at]}; nodes are 0 to {count - 1}")
    return _arrays.whole_numbers(nodes, "nodes").astype(np.int64)


def unpacked(words, nodes):
    """`[nodes]` truth values of the words of a set."""
    return np.unpackbits(words.view(np.uint8), bitorder="little", count=nodes).view(bool)


def packed(bits):
    """The words of a set of which these are the truth values."""
    whole = np.zeros(-(-len(bits) // 64) * 8, dtype=np.uint8)
    some = np.packbits(bits, bitorder="little")
    whole[: len(some)] = some
    return whole.view(np.uint64)
