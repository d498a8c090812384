"""Arrays as the engine takes them, and arrays that nobody is to change while it looks at them."""

import collections
import threading

import numpy as np

from ._errors import InputError


def plain(values, what):
    """A NumPy array `[k]` of native numbers or other objects, from anything that is one; of a device, copied."""
    if hasattr(values, "__cuda_array_interface__") or type(values).__module__.split(".")[0] in ("cupy", "torch"):
        values = _from_device(values, what)
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.is_masked(values):
            raise InputError(f"{what} is masked at {int(np.argmax(np.ma.getmaskarray(values)))}; leave out what is masked")
        values = values.data
    array = values if isinstance(values, np.ndarray) else _listed(values, what)
    if array.ndim != 1:
        raise InputError(f"{what} has {array.ndim} dimensions, and one is wanted; give {what}.ravel() if that is meant")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return array


def _listed(values, what):
    """Of a list or whatever NumPy makes an array of. Numbers beside texts stay numbers."""
    if not hasattr(values, "__array__") and not hasattr(values, "__len__"):
        try:
            values = list(values)
        except TypeError:
            raise InputError(f"{what} is {type(values).__name__}; give one value for each") from None
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError):
        return objects(list(values))
    if array.dtype.kind in "US" and len(set(map(type, values))) > 1:
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


# Types of elements of arrays on replicas, and what CUDA C++ calls them.
TYPES = {np.dtype(name): short for name, short in zip(("u1", "u4", "u8", "i4", "f4", "f8"), ("u8", "u32", "u64", "i32", "f32", "f64"))}


def typed(dtype, what):
    """The type, and its name in CUDA C++."""
    try:
        dtype = np.dtype(dtype)
        return dtype, TYPES[dtype]
    except (KeyError, TypeError):
        named = ", ".join(name.name for name in TYPES)
        raise InputError(f"{what} is of type {dtype!s}; elements are of {named}") from None


def fitting(values, dtype):
    """The values in this type, if it holds them; a float is rounded."""
    if values.dtype == dtype:
        return row(values)
    if values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):
            same = values.astype(dtype)
        fits = np.isfinite(same) | ~np.isfinite(values) if dtype.kind == "f" else same == values
        if np.all(fits):
            return same
    raise InputError(f"values of type {values.dtype} do not fit {dtype}")


# Arrays that graphs look at: how many do, and whether they could be written to before; and those that are not looked at any more.
_locked = {}
_lock = threading.Lock()
_given_back = collections.deque()
_waiting = []


def _chain(array):
    while isinstance(array, np.ndarray):
        yield array
        array = array.base


def safe(array):
    """The array, copied where nobody can keep others from writing to it: its memory is no array's of NumPy."""
    *_, root = _chain(array)
    return array.copy() if root.base is not None and root.flags.writeable else array


class Unchanged:
    """Keeps arrays, and those that they are views of, from being written to, until it is gone."""

    def __init__(self, arrays):
        held = {id(one): one for array in arrays for one in _chain(array)}
        self._held = list(held.values())
        with _lock:
            for array in self._held:
                waits = any(array is other for other in _waiting)
                count, was, _ = _locked.get(id(array), (0, array.flags.writeable or waits, array))
                if waits:
                    _waiting[:] = [other for other in _waiting if other is not array]
                _locked[id(array)] = (count + 1, was, array)
                array.flags.writeable = False
        _give_back()

    def __del__(self):
        # Perhaps while the lock is held, by this very thread: whoever holds it gives the arrays back.
        _given_back.append(self._held)
        _give_back()


def _give_back():
    while _given_back:
        if not _lock.acquire(blocking=False):
            return
        try:
            while _given_back:
                _release(_given_back.popleft())
        finally:
            _lock.release()


def _release(held):
    for array in held:
        count, was, _ = _locked.pop(id(array), (0, False, None))
        if count > 1:
            _locked[id(array)] = (count - 1, was, array)
        elif was:
            _waiting.append(array)
    # What others are views of comes first. What is a view of an array that another graph looks at waits for that one.
    _waiting.sort(key=lambda array: sum(1 for _ in _chain(array)))
    still = []
    for array in _waiting:
        if id(array) in _locked:
            continue
        try:
            array.flags.writeable = True
        except ValueError:
            still.append(array)
    _waiting[:] = still
