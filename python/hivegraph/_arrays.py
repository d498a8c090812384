"""Arrays as the engine takes them, and arrays that nobody is to change while it looks at them."""

import threading
import weakref

import numpy as np

from ._errors import InputError


def plain(values, what):
    """A NumPy array `[k]` of native numbers or other objects, from anything that is one; of a device, copied."""
    if hasattr(values, "__cuda_array_interface__") or type(values).__module__.split(".")[0] in ("cupy", "torch"):
        values = _from_device(values, what)
    array = values if isinstance(values, np.ndarray) else _listed(values)
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions, and one is wanted; give {what}.ravel() if that is meant")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _listed(values):
    """Of a list or whatever NumPy makes an array of. Numbers beside texts stay numbers."""
    try:
        array = np.asarray(values)
    except ValueError:
        return objects(list(values))
    if array.dtype.kind in "US" and not all(isinstance(value, (str, bytes)) for value in values):
        return objects(list(values))
    return array


def objects(listed):
    """`[k]` of any objects, tuples included."""
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _from_device(values, what):
    for method in ("get", "numpy"):
        if hasattr(values, method):
            values = values.detach().cpu() if hasattr(values, "detach") else values
            return getattr(values, method)()
    raise InputError(f"{what} is of a device, and of {type(values).__name__}; copy it to the host, as CuPy's get() does")


def row(array):
    """The array as one contiguous, aligned row."""
    return np.require(array, requirements=["C", "A"])


def whole_numbers(values, what):
    """`[k]` whole numbers of 32 bits (seen without a sign) or 64."""
    array = plain(values, what)
    kind = array.dtype
    if kind.kind not in "iu" or kind == np.uint64:
        whole = kind.kind in "fu" and bool(np.all((array >= 0) & (array < 2**63) & (array == np.floor(array))))
        if not whole and array.size:
            raise InputError(f"{what} has type {kind}; ids of nodes are whole numbers from 0")
        array = array.astype(np.int64)
    if array.itemsize < 4:
        array = array.astype(np.int64)
    array = row(array)
    return array.view(np.uint32) if array.itemsize == 4 else array


def numbers(values, what):
    """`[k]` weights as float32, float64, int32 or int64; None where all arcs weigh 1: truth values, all of them true."""
    array = plain(values, what)
    if array.dtype == np.bool_:
        if not array.all():
            raise InputError(f"{what}[{int(np.argmin(array))}] is False; leave out arcs that are not there")
        return None
    if array.dtype.kind == "f":
        array = array if array.itemsize in (4, 8) else array.astype(np.float32 if array.itemsize < 4 else np.float64)
    elif array.dtype.kind in "iu":
        array = array if array.dtype in (np.int32, np.int64) else array.astype(np.int64 if array.itemsize < 8 else np.float64)
    else:
        raise InputError(f"{what} has type {array.dtype}; weights are numbers")
    return row(array)


# Arrays that graphs look at: how many do, and whether they could be written to before.
_locked = {}
_lock = threading.Lock()


def _chain(array):
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def keep_unchanged(owner, arrays):
    """Makes arrays read-only, and those that they are views of, until `owner` is gone."""
    held = [one for array in arrays for one in _chain(array)]
    with _lock:
        for array in held:
            count, was, _ = _locked.get(id(array), (0, array.flags.writeable, array))
            _locked[id(array)] = (count + 1, was, array)
            array.flags.writeable = False
    weakref.finalize(owner, _release, held)


def _release(held):
    with _lock:
        for array in reversed(held):
            count, was, _ = _locked.pop(id(array))
            if count > 1:
                _locked[id(array)] = (count - 1, was, array)
            elif was:
                try:
                    array.flags.writeable = True
                except ValueError:
                    # What it is a view of is still looked at by another graph.
                    pass
