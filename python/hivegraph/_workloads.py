"""The workloads as functions, made of what the engine says of them."""

import contextlib
import csv
import difflib
import functools
import inspect
import json
import math
import os
import re
import tempfile
import textwrap

import numpy as np

from . import _core
from ._errors import InputError
from ._graph import Graph, graph as made
from ._result import Result

# Kinds of values that are nodes: one, or several.
_ONE, _SEVERAL = {"ID"}, {"SEEDS", "SOURCES", "TARGETS"}
# Several numbers.
_NUMBERS = {"N,N"}
# Options of the program that a function has no use for: its arguments and its result have their place.
_ELSEWHERE = {"graph", "load", "config", "json", "output", "output-format", "top", "ranks", "rendezvous", "on-failure"}
_RESULTS = (
    "Where the columns of the result are: host, as arrays of NumPy; device, as hivegraph.DeviceArray on the first GPU, which DLPack hands to "
    "PyTorch and CuPy without a copy [default: host]."
)
_CHOICES = re.compile(r"all|(first|random|connected|file):.+")


def _find():
    table = {}
    for entry in _core.workloads():
        for name in (entry["name"], *entry["aliases"]):
            table[name] = entry
    return table


_table = None


def table():
    """Name and aliases of each workload, and what the engine says of it."""
    global _table
    if _table is None:
        _table = _find()
    return _table


def takes(entry):
    """Its options: those of its own first, then those of every run. Those of loading are a graph's."""
    for name, value, what, group in entry["options"]:
        if name not in _ELSEWHERE and group not in ("Graph", "Loading", "Configuration"):
            yield name, value, what, group


def _word(graph, kind, option, value, files):
    """The value of an option as the engine reads it."""
    if value is None or isinstance(value, (bool, np.bool_)):
        return None if value is None else bool(value)
    if isinstance(value, float) and not math.isfinite(value):
        if math.isnan(value):
            raise InputError(f"{option} is not a number")
        value = str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if kind in _NUMBERS and hasattr(value, "__iter__") and not isinstance(value, str):
        return ",".join(map(str, value))
    if graph is None or kind not in _ONE | _SEVERAL:
        return value.item() if hasattr(value, "item") else value
    several = kind in _SEVERAL and not isinstance(value, (str, bytes)) and hasattr(value, "__iter__") and value not in graph
    if isinstance(value, str) and value not in graph and kind in _SEVERAL:
        if _CHOICES.fullmatch(value):
            return value
        if all(part in graph for part in _parts(graph, value)):
            value, several = _parts(graph, value), True
    values = list(value) if several else [value]
    if not values:
        raise InputError(f"{option} is empty; give at least one node")
    words = [_called(graph, one) for one in values]
    if kind in _ONE:
        return words[0]
    if any("," in word or _CHOICES.fullmatch(word) for word in words):
        # Names that would be read as something else.
        return "file:" + files.enter_context(_lines([word] for word in words))
    return ",".join(words)


@contextlib.contextmanager
def _lines(rows):
    """A file of names, a row a line."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "nodes.txt")
        with open(path, "w", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
        yield path


@contextlib.contextmanager
def _file(graph, values):
    """A file of what a dict says of nodes, as the engine reads it: weights, or places in degrees."""
    placed = any(isinstance(value, (tuple, list)) for value in values.values())
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "nodes.csv")
        with open(path, "w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["node", "lat", "lon"] if placed else ["node", "weight"])
            for name, value in values.items():
                rows.writerow([_called(graph, name), *(repr(float(part)) for part in (value if placed else [value]))])
        yield path


def _pairs(graph, pairs):
    """A file of pairs of nodes, two a line."""
    pairs = pairs.tolist() if isinstance(pairs, np.ndarray) else list(pairs)
    if not all(hasattr(pair, "__len__") and not isinstance(pair, str) and len(pair) == 2 for pair in pairs):
        raise InputError("pairs is no file of pairs and no [k, 2] nodes; give [(u, v), ...]")
    return _lines([_called(graph, node) for node in pair] for pair in pairs)


def _called(graph, name):
    """What the engine calls a node."""
    node = graph.node(name)
    return str(graph._ids.name(node)) if graph._native else str(node)


def _parts(graph, text):
    parts = [part.strip() for part in text.split(",")]
    return [int(part) if part not in graph and part.isdecimal() else part for part in parts]


@functools.cache
def named(name):
    """The function of the workload of this name."""
    return function(table()[name])


def function(entry):
    """The function that an entry describes."""
    options = {name.replace("-", "_"): (name, value) for name, value, _, _ in takes(entry)}
    first = next(iter(options), None)
    # A start may be given without its name.
    leading = first if first and options[first][1] in _ONE | _SEVERAL else None
    name, of_graph = entry["name"], entry["of_graph"]

    def run(*args, **given):
        left = entry["leaves"] and _left(given.pop("results", None))
        try:
            arguments = signature.bind(*args, **given).arguments
        except TypeError as error:
            near = [word for key in given for word in difflib.get_close_matches(key, signature.parameters, 1) if word != key]
            hint = f"; did you mean {near[0]}?" if near else f"; see help(hivegraph.{name})"
            raise TypeError(f"{name}() {error}{hint}") from None
        graph = made(arguments.pop("graph")) if of_graph else None
        asked, made_of = {}, {}
        with contextlib.ExitStack() as files:
            for key, value in arguments.items():
                option, kind = options[key]
                if kind == "FILE" and not isinstance(value, (str, bytes, os.PathLike)):
                    # Of a table of pandas, too; a list of nodes gives each as much.
                    value = dict(value.items()) if hasattr(value, "items") else dict.fromkeys(value, 1)
                    value = files.enter_context(_file(graph, value))
                    made_of[value] = key
                elif key == "pairs" and not isinstance(value, (str, bytes, os.PathLike)):
                    value = files.enter_context(_pairs(graph, value))
                    made_of[value] = key
                word = _word(graph, kind, key, value, files)
                if word is not None:
                    asked[option] = word
            text = json.dumps(asked)
            try:
                answer = graph._core.run(name, text, left) if of_graph else _core.run_on_array(name, text)
            except InputError as error:
                words = str(error)
                for path, key in made_of.items():
                    words = words.replace(path, key)
                raise InputError(words) from None
        return Result(answer, graph, left)

    kinds = inspect.Parameter
    parameters = [kinds("graph", kinds.POSITIONAL_OR_KEYWORD)] if of_graph else []
    for key in options:
        kind = kinds.POSITIONAL_OR_KEYWORD if key == leading else kinds.KEYWORD_ONLY
        parameters.append(kinds(key, kind, default=None))
    signature = inspect.Signature(parameters)
    results = [kinds("results", kinds.KEYWORD_ONLY, default=None)] if entry["leaves"] else []
    run.__signature__ = signature.replace(parameters=[*parameters, *results])
    run.__name__ = run.__qualname__ = name
    run.__module__ = "hivegraph"
    run.__doc__ = _doc(entry)
    return run


def _left(results):
    """Whether results stay on the device."""
    if results not in (None, "host", "device"):
        raise InputError(f"results is {results!r}; it is 'host' or 'device'")
    return results == "device"


def _doc(entry):
    lines = [entry["about"] + ".", ""]
    if entry["of_graph"]:
        lines += ["Parameters", "----------", "graph : Graph, or anything that hivegraph.graph() takes"]
    group_before = None
    for name, value, what, group in takes(entry):
        if group != group_before and group:
            lines += ["", group, "-" * len(group)]
        group_before = group
        kind = f"{value}, or a dict by node" if value == "FILE" else value or "BOOL"
        kind = f"{value}, or [k, 2] nodes" if name == "pairs" else kind
        lines.append(f"{name.replace('-', '_')} : {kind}")
        lines += textwrap.wrap(_pythonic(what), 100, initial_indent="    ", subsequent_indent="    ")
    if entry["leaves"]:
        lines += ["results : host | device", *textwrap.wrap(_RESULTS, 100, initial_indent="    ", subsequent_indent="    ")]
    lines += ["", "Returns", "-------", "Result: columns of [n] values, times and the record of the run; see help(hivegraph.Result)."]
    lines += ["", "Raises", "------", "InputError, MachineError, FaultError; VerificationError with verify=True."]
    lines += ["", f"Definition, complexity and source: docs/workloads.md, {entry['name']}."]
    return "\n".join(lines)


def _pythonic(text):
    """Flags of the program as keyword arguments."""
    text = re.sub(r" With --output its rows are [^.]*\.?", "", text)
    return re.sub(r"--([a-z][a-z0-9-]*)", lambda flag: flag[1].replace("-", "_"), text)


__all__ = ["named", "table"]
