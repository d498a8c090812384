"""A graph on devices, where arrays and sets are made."""

import numpy as np

from . import _arrays
from ._errors import InputError
from ._replicated import MERGES, Array, NodeSet


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
        if merge not in MERGES:
            raise InputError(f"merge is {merge!r}; it is one of {', '.join(MERGES)}")
        values = None
        if isinstance(like, (type, str, np.dtype)):
            dtype, short = _arrays.typed(like, "the array")
        else:
            values = _arrays.plain(like, "values")
            dtype, short = _arrays.typed(values.dtype, "the array")
        if merge == "or" and dtype.kind != "u":
            raise InputError(f"an array of {dtype} has no merge by 'or', which is of unsigned numbers")
        lengths = {"nodes": self.of.nodes, "arcs": self.of.arcs}
        of = int(of) if isinstance(of, (int, np.integer)) else of
        if not (0 <= of < 2**48 if isinstance(of, int) else isinstance(of, str) and of in lengths):
            raise InputError(f"of is {of!r}; it is 'nodes', 'arcs' or a number of elements")
        length = lengths[of] if isinstance(of, str) else of
        made = Array(self, self.core(False).array(of if isinstance(of, str) else "elements", length, short, MERGES[merge]), dtype, merge, length, of)
        if values is not None:
            made.assign(values)
        return made

    def node_set(self, nodes, merge):
        if merge not in ("or", "own"):
            raise InputError(f"merge is {merge!r}; that of a set is or, own")
        made = NodeSet(self, self.core(False).array("set", 0, "", MERGES[merge]), merge, self.of.nodes)
        if nodes is not None:
            made.assign(nodes)
        return made
