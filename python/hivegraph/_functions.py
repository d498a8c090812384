"""Users' own functions: of NumPy for CPUs, with a body in CUDA C++ for GPUs."""

import inspect

from . import _arrays, _core
from ._errors import InputError


class Reads:
    """An array or a set that a function reads: an annotation of its parameter."""


class Writes:
    """An array or a set that a function writes (and may read): an annotation of its parameter."""


# Functions as GPUs have them, by all that they are: the same function, made again, is not compiled again.
_made = {}


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
                self.uses[name] = _arrays.typed(kind, f"function {self.name}: parameter {name}")[0]
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
        of = {name: "set" if kind is set else _arrays.typed(kind, f"argument {name}")[1] for name, kind in types.items()}
        given = {None: "void", bool: "bool"}
        self._lambda(given[returns] if returns in given else _arrays.typed(returns, "what it returns")[1], of).compile(arch)

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
                arguments.append((name, "scalar", _arrays.TYPES[kind]))
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
