"""What a run has answered."""

import json

import numpy as np

from ._ids import listed


def _seen(means, column):
    """The values as NumPy shows them; of counts and nodes -1 is what there is none of."""
    values = np.asarray(column)
    if means == "number":
        return values.view(np.int64) if values.dtype == np.uint64 else values
    return values.view(np.int32) if len(values) < 2**31 else np.where(values == 2**32 - 1, -1, values.astype(np.int64))


class Result:
    """The answer of a workload: columns of `[n]` values, one a node, in the order of :attr:`ids`.

    A column is an attribute (``result.rank``) and an item (``result['rank']``), a NumPy array that is read-only and not copied.
    Columns of nodes hold 0 to n - 1, -1 for none; :meth:`to_pandas` has their names. A hop of samples is a column `[source, place]`.
    Counts are -1 where there is none, as the level of a node that is not reached; distances are inf there. A matrix is the column ``distance``, `[source, target]`, whose rows
    and columns are the nodes of ``source`` and ``target``; numbers of arcs are the largest of their type where there is no path.
    """

    __slots__ = ("_answer", "_graph", "_columns", "_of_nodes", "_record", "__weakref__")

    def __init__(self, answer, graph):
        self._answer, self._graph, self._record = answer, graph, None
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
        return _seen(*self._columns[name])

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._columns:
            raise AttributeError(f"the answer of {self.workload} has no {name!r}; it has {', '.join(self._columns)}")
        return self[name]

    def __dir__(self):
        return [*super().__dir__(), *self._columns]

    def named(self, name):
        """A column with nodes as they are called; None where there is none."""
        means = self._columns[name][0] if name in self._columns else None
        values = self[name]
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
        values = self[name or self.columns[0]]
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
