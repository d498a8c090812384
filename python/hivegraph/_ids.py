"""What the input calls its nodes, and which node is which."""

import numpy as np

from ._arrays import objects, plain
from ._errors import InputError


def listed(array):
    """As a list of Python's objects; times as NumPy's, of which Python's have not all digits."""
    return list(array) if array.dtype.kind in "mM" else array.tolist()


def named(ids, count):
    """The names `ids` of `count` nodes."""
    if ids is None:
        return Ids(count)
    names = plain(ids, "ids")
    if len(names) != count:
        raise InputError(f"there are {count} nodes and {len(names)} ids; give one for each node")
    if names.dtype.kind in "iu":
        wide = names.dtype == np.uint64 and bool(np.any(names >= 2**63))
        names = objects(names.tolist()) if wide else names.astype(np.int64)
    if names.dtype.kind == "i":
        if count and names[0] >= 0 and bool(np.all(names[1:] - names[:-1] == 1)):
            return Ids(count, int(names[0]))
        distinct = len(np.unique(names)) == count
    else:
        all_names = listed(names)
        _refuse_missing(next((i for i, name in enumerate(all_names) if _is_missing(name)), None), [count], "ids[{}] is no name")
        try:
            distinct = len(set(all_names)) == count
        except TypeError as error:
            raise InputError(f"a node has a name that cannot be one: {error}; names are hashable") from None
    if not distinct:
        raise InputError("two nodes have the same id; give each its own")
    return Ids(count, 0, names)


class Ids:
    """Names of the nodes 0 to n - 1: whole numbers that rise by one, or an array of anything."""

    def __init__(self, count, first=0, names=None):
        self.count, self.first, self.names = count, first, names
        self._index = None
        self._rising = names is not None and names.dtype.kind in "iu" and bool(np.all(names[1:] > names[:-1]))

    @property
    def array(self):
        """`[n]`, by node."""
        if self.names is None:
            return np.arange(self.first, self.first + self.count)
        return self.names

    def name(self, node):
        """What one node is called."""
        return self.first + node if self.names is None else self.names[node]

    def find(self, name):
        """The node of this name."""
        node = self._look(name)
        if node is None:
            raise InputError(f"there is no node {name!r} in the graph{self._range()}")
        return node

    def _look(self, name):
        if self.names is None or self._rising:
            try:
                number = int(name)
                if number != name:
                    return None
            except (TypeError, ValueError, OverflowError):
                return None
            if self.names is None:
                node = number - self.first
                return node if 0 <= node < self.count else None
            if not int(self.names[0]) <= number <= int(self.names[-1]):
                return None
            node = int(np.searchsorted(self.names, number))
            return node if self.names[node] == number else None
        if self._index is None:
            self._index = {name: node for node, name in enumerate(listed(self.names))}
        if self.names.dtype.kind in "mM":
            try:
                name = np.asarray(name).astype(self.names.dtype)[()]
            except (TypeError, ValueError):
                return None
        try:
            return self._index.get(name)
        except TypeError:
            return None

    def _range(self):
        if self.names is None:
            return f", whose nodes are {self.first} to {self.first + self.count - 1}"
        return f", which has {self.count} nodes, {self.names[0]!r} to {self.names[-1]!r}"

    def of(self, nodes):
        """Names of an array of nodes; None where a node is -1."""
        nodes = np.asarray(nodes)
        missing = nodes < 0
        if self.names is None and not missing.any():
            return nodes.astype(np.int64) + self.first
        array = self.array
        if not missing.any():
            return array[nodes]
        named = array.astype(object)[np.where(missing, 0, nodes)]
        named[missing] = None
        return named


def _joined(columns):
    """All names in one array, of which none has become another on the way."""
    kinds = {column.dtype.kind for column in columns if len(column)}
    if kinds <= set("iu"):
        wide = any(column.dtype == np.uint64 and column.size and column.max() >= 2**63 for column in columns)
        if not wide:
            return np.concatenate([column.astype(np.int64) for column in columns])
    elif len(kinds) == 1 and kinds != {"O"}:
        return np.concatenate([column for column in columns if len(column)])
    if kinds & set("mM"):
        raise InputError("sources and targets are times and something else; give both the same type")
    return np.concatenate([objects(column.tolist()) for column in columns])


def _is_missing(name):
    """Whether a name is none: None, not a number, pandas' NA."""
    if name is None:
        return True
    try:
        return bool(name != name)
    except (TypeError, ValueError):
        return True


def _refuse_missing(at, lengths, words="row {} names no node; leave it out"):
    if at is not None:
        raise InputError(words.format(at % lengths[0]))


def numbered(columns):
    """Nodes for the names in some columns of equal length: (columns of nodes, names by node, which rise if they can)."""
    lengths = [len(column) for column in columns]
    joined = _joined(columns)
    if joined.dtype.kind in "iu" and joined.size:
        low, high = int(joined.min()), int(joined.max())
        if low >= 0 and high < 4 * joined.size + 1024:
            # Few names are left out: marks are cheaper than a sort.
            there = np.zeros(high + 1, dtype=bool)
            there[joined] = True
            names = np.flatnonzero(there)
            if len(names) == high + 1:
                nodes = joined
            else:
                nodes = (np.cumsum(there, dtype=np.int64) - 1)[joined]
            return np.split(nodes, np.cumsum(lengths)[:-1]), names
    if joined.dtype.kind == "O":
        names_of = joined.tolist()
        _refuse_missing(next((i for i, name in enumerate(names_of) if _is_missing(name)), None), lengths)
        try:
            distinct = list(dict.fromkeys(names_of))
        except TypeError as error:
            raise InputError(f"a node has a name that cannot be one: {error}; names are hashable") from None
        try:
            distinct.sort()
        except TypeError:
            # Of kinds that do not compare: in the order in which they come.
            pass
        names = objects(distinct)
        index = {name: node for node, name in enumerate(names.tolist())}
        nodes = np.fromiter((index[name] for name in names_of), dtype=np.int64, count=len(names_of))
    else:
        missing = joined != joined
        _refuse_missing(int(np.argmax(missing)) if missing.any() else None, lengths)
        names, nodes = np.unique(joined, return_inverse=True)
    return np.split(nodes, np.cumsum(lengths)[:-1]), names
