"""hivegraph: graph analytics on GPUs and CPUs.

>>> import hivegraph as hg
>>> g = hg.graph(frame, source="from", target="to")     # pandas, Arrow, SciPy, NumPy, NetworkX, a file, a generator
>>> hg.pagerank(g).top(10)
>>> hg.sssp(g, "alice", target="bob").paths["bob"]

`hg.workloads()` lists what there is; `help(hg.sssp)` has the options of one. Nodes are called what the input calls them.
Computation runs on all GPUs of the machine, or on the CPU where there is none; `devices="cuda:0-1"` or `devices="host:2"` says
where. `hg.doctor()` says what this machine has.
"""

from . import _core, _workloads
from ._core import __version__, close
from ._errors import FaultError, HivegraphError, InputError, MachineError, VerificationError
from ._functions import Function, Reads, Writes, function
from ._graph import Graph, graph, load
from ._replicated import Array, NodeSet
from ._result import DeviceArray, Result

__all__ = [
    "Array",
    "DeviceArray",
    "FaultError",
    "Function",
    "Graph",
    "HivegraphError",
    "InputError",
    "MachineError",
    "NodeSet",
    "Reads",
    "Result",
    "VerificationError",
    "Writes",
    "__version__",
    "close",
    "doctor",
    "function",
    "graph",
    "load",
    "workloads",
]


def workloads():
    """Names of all workloads, and what each computes."""
    return {name: entry["about"] for name, entry in _workloads.table().items() if name == entry["name"]}


def doctor():
    """Prints what this machine has for computing: GPUs, driver, NVRTC, NCCL; and what is missing and how to get it."""
    print(_core.doctor(), end="")


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    entry = _workloads.table().get(name)
    if entry is None:
        known = ", ".join(workloads())
        raise AttributeError(f"hivegraph has no {name!r}; the workloads are {known}")
    made = globals()[name] = _workloads.named(name)
    return made


def __dir__():
    return [*__all__, *_workloads.table()]
