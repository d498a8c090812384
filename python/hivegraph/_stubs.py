"""Writes `__init__.pyi`, which tells editors what `hivegraph` has: `python -m hivegraph._stubs`."""

import inspect
import pathlib
import textwrap

import hivegraph

_HEAD = '''"""Written by `python -m hivegraph._stubs`: what editors are told."""

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, TypedDict, Unpack

import numpy as np

_Id = Any
_Nodes = _Id | Iterable[_Id] | str

__version__: str
'''

_TYPES = {
    "BOOL": "bool | None",
    "BOOL|host": "bool | str | None",
    "ID": "_Id | None",
    "SEEDS": "_Nodes | None",
    "SOURCES": "_Nodes | None",
    "TARGETS": "_Nodes | None",
    "N": "int | str | None",
    "N,N": "Iterable[int] | int | str | None",
    "BYTES": "int | str | None",
    "FILE": "str | os.PathLike[str] | dict[_Id, Any] | None",
    "PATH": "str | os.PathLike[str] | None",
}


# Parameters that the program has not.
_PYTHONS = {"graph": "Any", "results": 'Literal["host", "device"] | None'}


# Groups of the options that every run has.
_SHARED = ("Devices and merges", "Measuring", "Results")


def _kind(value):
    return _TYPES.get(value or "BOOL", "float | str | None")


def _of_class(cls):
    bases = [base.__name__ for base in cls.__bases__ if base.__name__ in hivegraph.__all__ or issubclass(base, Exception)]
    bases = f"({', '.join(bases)})" if bases else ""
    lines = [f"class {cls.__name__}{bases}:"]
    lines.append(textwrap.indent(f'"""{inspect.getdoc(cls)}"""', "    "))
    for name, member in vars(cls).items():
        if name.startswith("_") and name not in ("__getitem__", "__len__", "__contains__", "__dlpack__", "__dlpack_device__"):
            continue
        if isinstance(member, property):
            lines += ["    @property", f"    def {name}(self) -> Any:", _doc(member, 8)]
        elif isinstance(member, classmethod):
            lines += ["    @classmethod", f"    def {name}{_signature(member.__func__)} -> {cls.__name__}:", _doc(member.__func__, 8)]
        elif inspect.isfunction(member):
            lines += [f"    def {name}{_signature(member)} -> Any:", _doc(member, 8)]
    if cls is hivegraph.Result:
        lines.append("    def __getattr__(self, name: str) -> np.ndarray: ...")
    return "\n".join(lines)


def _signature(function):
    return str(inspect.signature(function))


def _doc(member, indent):
    text = inspect.getdoc(member)
    return textwrap.indent(f'"""{text}"""' if text else "...", " " * indent)


def text():
    """The stubs."""
    from hivegraph import _workloads

    parts = [_HEAD]
    for name in ("HivegraphError", "InputError", "MachineError", "FaultError", "VerificationError", "Result", "DeviceArray", "Array", "NodeSet", "Reads", "Writes", "Function", "Graph"):
        parts.append(_of_class(getattr(hivegraph, name)))
    for name in ("graph", "load"):
        function = getattr(hivegraph, name)
        parts.append(f"def {name}{_signature(function)} -> Graph:\n{_doc(function, 4)}")
    parts.append(f"def function{_signature(hivegraph.function)} -> Callable[[Callable[..., Any]], Function]:\n{_doc(hivegraph.function, 4)}")
    for name in ("workloads", "doctor", "close"):
        function = getattr(hivegraph, name)
        parts.append(f"def {name}() -> Any:\n{_doc(function, 4)}")
    entries = _workloads.table()
    shared = {option.replace("-", "_"): kind for entry in entries.values() for option, kind, _, group in _workloads.takes(entry) if group in _SHARED}
    fields = "\n".join(f"    {name}: {_kind(kind)}" for name, kind in shared.items())
    parts.append(f'class _Run(TypedDict, total=False):\n    """Options of every run; a workload refuses those that it has no use for."""\n\n{fields}')
    for name, entry in entries.items():
        kinds = {option.replace("-", "_"): kind for option, kind, _, _ in _workloads.takes(entry)}
        arguments, keywords = [], False
        for parameter in inspect.signature(getattr(hivegraph, name)).parameters.values():
            if parameter.name in shared:
                continue
            if parameter.kind is parameter.KEYWORD_ONLY and not keywords:
                arguments.append("*")
                keywords = True
            given = "" if parameter.default is parameter.empty else " = None"
            kind = _PYTHONS[parameter.name] if parameter.name in _PYTHONS else _kind(kinds[parameter.name])
            arguments.append(f"{parameter.name}: {kind}{given}")
        lines = ",\n    ".join([*arguments, "**run: Unpack[_Run]"])
        parts.append(f'def {name}(\n    {lines},\n) -> Result:\n    """{entry["about"]}. See help(hivegraph.{name})."""')
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    pathlib.Path(hivegraph.__file__).with_name("__init__.pyi").write_text(text())
