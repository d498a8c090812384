"""What a run has answered."""

import json

import numpy as np

from ._ids import listed

# DLPack's numbers of memory of the host and of a GPU, and its flags of version 1.
_CPU, _CUDA = 1, 2
_READ_ONLY, _COPIED = 1, 2


def _seen(means, column):
    """The values as NumPy shows them; of counts and nodes -1 is what there is none of."""
    values = np.asarray(column)
    if means == "number":
        return values.view(np.int64) if values.dtype == np.uint64 else values
    return values.view(np.int32) if len(values) < 2**31 else np.where(values == 2**32 - 1, -1, values.astype(np.int64))


class DeviceArray:
    """A column of a result that was left where it was computed, with ``results="device"``: on the first GPU, or on the host.

    `torch.from_dlpack(x)`, `cupy.from_dlpack(x)` and `cupy.asarray(x)` take it as it lies there. It is finished, so no stream needs
    to wait. The memory belongs to whoever holds it: it stays as it is when other questions are asked, and when result, graph and
    fleet are gone. On a GPU who takes it may write to it, which others who took the same column see; on the host it is read-only.

    Of counts and nodes -1 is what there is none of. They have 32 bits; from 2^31 rows on without a sign, where none is 2^32 - 1.
    """

    __slots__ = ("_core", "_means", "shape", "dtype", "__weakref__")

    def __init__(self, means, core):
        self._core, self._means, self.shape, self.dtype = core, means, core.shape, np.dtype(core.kind)
        signed = means == "number" or len(self) < 2**31
        if self.dtype.kind == "u" and self.dtype.itemsize >= 4 and signed:
            self.dtype = np.dtype(f"i{self.dtype.itemsize}")

    @property
    def device(self):
        """`cuda:0`, or `host`."""
        return "host" if self._core.gpu is None else f"cuda:{self._core.gpu}"

    def numpy(self):
        """The values on the host, as a result without ``results="device"`` has them: from a GPU they are copied."""
        return _seen(self._means, self._core.on_host())

    def __dlpack_device__(self):
        return (_CPU, 0) if self._core.gpu is None else (_CUDA, self._core.gpu)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        """A capsule of DLPack, as the array API standard says."""
        own, core, copied = self.__dlpack_device__(), self._core, False
        wanted = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        self._check(stream)
        if wanted != own:
            if wanted != (_CPU, 0):
                raise BufferError(f"the array is on {self.device}; it can be had there or, as a copy, on the host: dl_device=(1, 0)")
            if copy is False:
                raise BufferError(f"the array is on {self.device}, and copy=False forbids to bring it to the host")
            core, copied = core.on_host(), True
        elif copy:
            core, copied = core.copied(), True
        kind = self.dtype.str
        versioned = max_version is not None and max_version[0] >= 1
        read_only = core.gpu is None and not copied
        if read_only and not versioned:
            if copy is False:
                raise BufferError("the array is read-only, which DLPack says from version 1 on: give max_version=(1, 0)")
            core, read_only = core.copied(), False
        return core.dlpack(kind, (_COPIED * copied) | (_READ_ONLY * read_only) if versioned else None)

    def _check(self, stream):
        """The values are finished, so that no stream needs to wait for them; it has to be one, though."""
        if stream is None:
            return
        if not isinstance(stream, (int, np.integer)):
            raise TypeError(f"stream is {stream!r}; it is a number or None")
        if self._core.gpu is None:
            raise BufferError("the array is on the host, where there are no streams: stream=None")
        if stream == 0 or stream < -1:
            raise BufferError(f"stream is {stream}; 1 is CUDA's default stream, 2 that of the thread, -1 none, a larger number a handle")

    @property
    def __cuda_array_interface__(self):
        if self._core.gpu is None:
            raise AttributeError("the array is on the host; use numpy()")
        data = (self._core.address if 0 not in self.shape else 0, False)
        return {"shape": self.shape, "typestr": self.dtype.str, "data": data, "strides": None, "stream": None, "version": 3}

    def __array__(self, dtype=None, copy=None):
        if copy is False and self._core.gpu is not None:
            raise ValueError(f"the array is on {self.device}: NumPy needs a copy")
        values = self.numpy()
        values = values if dtype is None else values.astype(dtype, copy=False)
        return values.copy() if copy else values

    def __len__(self):
        return self.shape[0]

    def __repr__(self):
        return f"<hivegraph.DeviceArray of shape {self.shape}, {self.dtype}, on {self.device}>"

    def __reduce_ex__(self, _):
        raise TypeError(f"{self!r} cannot be copied or pickled; copy its values: numpy()")


class Result:
    """The answer of a workload: columns of `[n]` values, one a node, in the order of :attr:`ids`.

    A column is an attribute (``result.rank``) and an item (``result['rank']``), a NumPy array that is read-only and not copied.
    Columns of nodes hold 0 to n - 1, -1 for none; :meth:`to_pandas` has their names. A hop of samples is a column `[source, place]`.
    Counts are -1 where there is none, as the level of a node that is not reached; distances are inf there. A matrix is the column ``distance``, `[source, target]`, whose rows
    and columns are the nodes of ``source`` and ``target``; numbers of arcs are the largest of their type where there is no path.

    With ``results="device"`` columns are :class:`DeviceArray`. What needs values on the host brings them there: :meth:`named`,
    :meth:`to_dict`, :meth:`to_pandas`, :meth:`top`.
    """

    __slots__ = ("_answer", "_graph", "_columns", "_of_nodes", "_record", "_left", "__weakref__")

    def __init__(self, answer, graph, left=False):
        self._answer, self._graph, self._record, self._left = answer, graph, None, left
        self._columns = {name.replace("-", "_"): (means, column) for name, means, column in answer.columns()}
        self._of_nodes = graph is not None and answer.is_of_nodes()

    @property
    def _is_matrix(self):
        return "distance" in self._columns and "target" in self._columns and not self._of_nodes

    @property
    def workload(self):
        """The name of what ran."""
        return self._answer.workload()

    @property
    def columns(self):
        """Names of the columns."""
        return list(self._columns)

    @property
    def ids(self):
        """`[n]` what each node is called. None where values are not those of nodes: walks, edges, elements of an array."""
        return self._graph.ids if self._of_nodes else None

    def __getitem__(self, name):
        if name not in self._columns:
            raise KeyError(f"{name!r}; there are {', '.join(self._columns)}")
        return DeviceArray(*self._columns[name]) if self._left else _seen(*self._columns[name])

    def _values(self, name):
        """A column on the host."""
        values = self[name]
        return values.numpy() if self._left else values

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"the answer of {self.workload} has no {name!r}; it has {', '.join(self._columns)}")
        return self[name]

    def __dir__(self):
        return [*super().__dir__(), *self._columns]

    def named(self, name):
        """A column with nodes as they are called; None where there is none."""
        means = self._columns[name][0] if name in self._columns else None
        values = self._values(name)
        return self._graph._ids.of(values) if means == "node" and self._graph is not None else values

    def to_dict(self, name=None):
        """One column, the first if none is named, as ``{id: value}``; a matrix as ``{source: {target: value}}``."""
        if self._is_matrix and name in (None, "distance"):
            rows, columns = listed(self.named("source")), listed(self.named("target"))
            return {row: dict(zip(columns, values)) for row, values in zip(rows, self["distance"].tolist())}
        values = self.named(name or self.columns[0]).tolist()
        ids = listed(self.ids) if self._of_nodes else range(len(values))
        return dict(zip(ids, values))

    def to_pandas(self):
        """All columns as a table, its rows by id where they are nodes; a matrix as one, with the ids of sources and targets."""
        import pandas

        if self._is_matrix:
            rows, columns = (pandas.Index(self.named(end), name=end) for end in ("source", "target"))
            return pandas.DataFrame(self["distance"], index=rows, columns=columns)

        columns = {}
        for name in self._columns:
            values = self.named(name)
            columns |= {name: values} if values.ndim == 1 else {f"{name}.{k}": column for k, column in enumerate(values.T)}
        return pandas.DataFrame(columns, index=pandas.Index(self.ids, name="node") if self._of_nodes else None)

    def top(self, k=10, name=None, *, smallest=False):
        """The `k` nodes of the largest values of a column, the first if none is named: `[(id, value)]`, equal ones by node."""
        if self._is_matrix:
            raise ValueError("a matrix has no ranking; look at result.distance")
        values = self._values(name or self.columns[0])
        keys = values if smallest else -values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
        k = min(k, len(values))
        nodes = np.argpartition(keys, k - 1)[:k] if 0 < k < len(values) else np.arange(len(values))[: max(k, 0)]
        if 0 < k < len(values):
            # All that equal the last, so that ties go by node.
            nodes = np.flatnonzero(keys <= keys[nodes].max())
        nodes = nodes[np.lexsort((nodes, keys[nodes]))][:k]
        ids = self._graph._ids.of(nodes) if self._of_nodes else nodes
        return list(zip(listed(ids), values[nodes].tolist()))

    @property
    def paths(self):
        """The paths to the targets that were asked for, as ``{target: [ids]}``, without those that cannot be reached. None without targets."""
        columns = {name: _seen(means, column) for name, means, column in self._answer.paths()}
        if not columns:
            return None
        ids, found = self._graph._ids, {}
        targets, nodes = listed(ids.of(columns["target"])), listed(ids.of(columns["node"]))
        for target, node in zip(targets, nodes):
            found.setdefault(target, [])
            if node is not None:
                found[target].append(node)
        return found

    @property
    def record(self):
        """The record of the run: options, devices, times, counts, as ``hive run --json`` writes it."""
        if self._record is None:
            self._record = json.loads(self._answer.record())
        return self._record

    @property
    def ms(self):
        """Milliseconds of each run, without loading and laying out."""
        return self._answer.runs_ms()

    @property
    def stages_ms(self):
        """Milliseconds of each stage: load, build, prepare, compile, run, download. What was there before took none."""
        return self._answer.stages_ms()

    @property
    def verified(self):
        """'yes', or what was not checked, where ``verify=True`` was given; else None."""
        checked = self._answer.verified()
        return None if checked is None else checked[0] if checked[1] is None else f"{checked[0]}: {checked[1]}"

    def __repr__(self):
        return f"<hivegraph.Result of {self.workload}: {self._answer.summary()}; columns {', '.join(self._columns)}>"
