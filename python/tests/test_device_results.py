"""Results left on the device: the values of those on the host, handed on by DLPack, owned by whoever takes them."""

import ctypes
import gc
import os
import sys

import numpy as np
import pytest

import hivegraph as hg

# With GPUs: HIVE_DEVICES=cuda:0,cuda:0-1 (separated by semicolons). Those of PyTorch and CuPy then run, too.
DEVICES = [devices for devices in os.environ.get("HIVE_DEVICES", "").split(";") if devices] or ["host:1", "host:3"]
ON_GPUS = DEVICES[0].startswith("cuda")
gpus = pytest.mark.skipif(not ON_GPUS, reason="no GPU: set HIVE_DEVICES=cuda:0")

# What is asked of `rmat`, by name; and of a graph whose layout has no order of its own.
QUESTIONS = {
    "sssp": lambda g, **run: hg.sssp(g, 3, **run),
    "sssp in f64": lambda g, **run: hg.sssp(g, 3, precision="f64", **run),
    "sssp in windows": lambda g, **run: hg.sssp(g, 3, delta=2.0, **run),
    "bfs": lambda g, **run: hg.bfs(g, 3, **run),
    "bfs from several": lambda g, **run: hg.bfs(g, sources=[3, 5, 9], **run),
    "pagerank": lambda g, **run: hg.pagerank(g, **run),
    "pagerank by weights": lambda g, **run: hg.pagerank(g, weighted=True, strategy="pull", **run),
    "pagerank of some": lambda g, **run: hg.pagerank(g, personalize={3: 1.0, 500: 2.0}, strategy="pull", **run),
    "walk": lambda g, **run: hg.walk(g, length=5, **run),
    "walk, all paths": lambda g, **run: hg.walk(g, sources=[3, 5, 9], walks=70, length=6, keep="paths", **run),
    "sample": lambda g, **run: hg.sample(g, sources=[3, 5, 9], fanouts=[4, 3], **run),
}
GRAPHS = {"rmat": ("rmat:9", {"symmetrize": "max"}), "directed": ("rmat:9", {}), "grid": ("grid:23x29", {}), "road": ("road:9", {})}


@pytest.fixture(scope="module", params=list(GRAPHS))
def graph(request):
    spec, load = GRAPHS[request.param]
    return hg.load(spec, **load)


@pytest.fixture(scope="module")
def rmat():
    return hg.load("rmat:9", symmetrize="max")


def taken(x):
    """A column in NumPy by way of DLPack, which needs a copy where it is on a GPU."""
    return np.from_dlpack(x) if x.device == "host" else np.from_dlpack(x, device="cpu")


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("question", list(QUESTIONS))
def test_columns_are_those_on_the_host(graph, question, devices):
    here = QUESTIONS[question](graph, devices=devices)
    there = QUESTIONS[question](graph, devices=devices, results="device")
    assert there.columns == here.columns
    for name in here.columns:
        x, wanted = there[name], here[name]
        assert isinstance(x, hg.DeviceArray) and x.shape == wanted.shape and len(x) == len(wanted) and x.dtype == wanted.dtype
        assert x.device == ("host" if devices.startswith("host") else x.device)
        assert x.__dlpack_device__() == ((1, 0) if x.device == "host" else (2, int(x.device[5:])))
        got = taken(x)
        assert got.dtype == wanted.dtype and got.shape == wanted.shape
        if "pagerank" in question and ON_GPUS:
            # Runs on GPUs may add in another order.
            assert np.allclose(got, wanted, rtol=2e-5)
        else:
            assert np.array_equal(got, wanted)
        assert np.array_equal(got, x.numpy()) and np.array_equal(got, np.asarray(x))
    assert there.record["fleet"] == here.record["fleet"] and there.ms
    assert repr(there) and repr(there[there.columns[0]])


@pytest.mark.parametrize("devices", DEVICES)
def test_tables_bring_values_to_the_host(rmat, devices):
    names = [f"node {node}" for node in range(rmat.nodes)]
    named = hg.graph(rmat.to_scipy(), ids=names)
    here = hg.bfs(named, "node 3", devices=devices)
    there = hg.bfs(named, "node 3", devices=devices, results="device")
    assert there.to_pandas().equals(here.to_pandas())
    assert there.to_dict() == here.to_dict() and there.top(5) == here.top(5)
    assert there.ids[3] == "node 3" and there.paths is None
    here, there = (hg.sample(named, sources=["node 3"], fanouts=[4], devices=devices, results=where) for where in ("host", "device"))
    assert there.named("source").tolist() == ["node 3"] and there.to_pandas().equals(here.to_pandas())


@pytest.mark.parametrize("devices", DEVICES)
def test_values_stay_when_all_else_goes(devices):
    graph = hg.load("rmat:9", symmetrize="max")
    wanted = {question: ask(graph, devices=devices) for question, ask in QUESTIONS.items() if "pagerank" not in question}
    wanted = {question: {name: found[name].copy() for name in found.columns} for question, found in wanted.items()}
    held = {}
    for question in wanted:
        found = QUESTIONS[question](graph, devices=devices, results="device")
        held[question] = {name: found[name] for name in found.columns}
    seen = {question: {name: taken(x) for name, x in columns.items()} for question, columns in held.items()}
    for source in range(20):
        hg.sssp(graph, source, devices=devices, results="device")
        hg.bfs(graph, source, devices=devices, results="device")
    del graph, found
    hg.close()
    gc.collect()
    hg.sssp(hg.load("rmat:9,seed=7"), 1, devices=devices)
    for question, columns in wanted.items():
        for name, values in columns.items():
            assert np.array_equal(seen[question][name], values) and np.array_equal(held[question][name].numpy(), values)
            assert np.array_equal(taken(held[question][name]), values)


def test_a_question_makes_no_list_of_all_nodes(rmat, monkeypatch):
    def listed(_):
        raise AssertionError("all ids were listed")

    monkeypatch.setattr(type(rmat._ids), "array", property(listed))
    run = {"devices": DEVICES[0], "results": "device"}
    hg.sssp(rmat, 3, **run)
    hg.bfs(rmat, 3, **run)
    hg.sample(rmat, sources=[3, 5, 9], **run)
    hg.walk(rmat, sources=[3, 5, 9], **run)


def test_the_host_hands_on_what_it_has_read_only(rmat):
    found = hg.sssp(rmat, 3, devices="host:1", results="device")
    x = found.distance
    one, other = np.from_dlpack(x), np.from_dlpack(found.distance)
    assert one.__array_interface__["data"][0] == other.__array_interface__["data"][0]
    if tuple(map(int, np.__version__.split(".")[:2])) >= (2, 1):
        assert not one.flags.writeable
        copy = np.from_dlpack(x, copy=True)
        assert copy.flags.writeable
        copy[:] = 7
    assert x.numpy()[3] == 0 and not hasattr(x, "__cuda_array_interface__")
    # One who cannot be told that it is read-only gets a copy.
    name = ctypes.pythonapi.PyCapsule_GetName
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    assert name(x.__dlpack__()) == b"dltensor" and name(x.__dlpack__(max_version=(0, 8))) == b"dltensor"
    assert name(x.__dlpack__(max_version=(1, 3), dl_device=(1, 0))) == b"dltensor_versioned"
    with pytest.raises(BufferError, match="read-only"):
        x.__dlpack__(copy=False)


def test_wrong_requests(rmat):
    x = hg.bfs(rmat, 3, devices="host:1", results="device").level
    for wrong, error, words in [
        ({"stream": 1}, BufferError, "no streams"),
        ({"stream": "1"}, TypeError, "a number or None"),
        ({"dl_device": (2, 0), "copy": False}, BufferError, "on host"),
        ({"dl_device": (2, 0)}, BufferError, "on host"),
    ]:
        with pytest.raises(error, match=words):
            x.__dlpack__(max_version=(1, 0), **wrong)
    with pytest.raises(TypeError):
        x.__dlpack__(1)
    with pytest.raises(TypeError, match="pickled"):
        x.__reduce_ex__(2)
    run = {"devices": DEVICES[0], "results": "device"}
    for ask, words in [
        (lambda: hg.bfs(rmat, 3, results="gpu"), "'host' or 'device'"),
        (lambda: hg.sssp(rmat, 3, target=5, **run), "target is found on the host"),
        (lambda: hg.sssp(rmat, 3, predecessors=True, **run), "predecessors is found on the host"),
        (lambda: hg.bfs(rmat, 3, predecessors=True, **run), "predecessors is found on the host"),
        (lambda: hg.pagerank(rmat, verify=True, **run), "verify checks is found on the host"),
    ]:
        with pytest.raises(hg.InputError, match=words):
            ask()
    with pytest.raises(TypeError, match="results"):
        hg.cc(rmat, **run)
    assert "results : host | device" in hg.sssp.__doc__ and "results" not in hg.cc.__doc__


class _Versioned(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Versioned))
_Versioned._fields_ = [("version", ctypes.c_uint32 * 2), ("context", ctypes.c_void_p), ("deleter", _DELETER), ("flags", ctypes.c_uint64)]


def test_who_takes_a_capsule_ends_it_once(rmat):
    api = ctypes.pythonapi
    api.PyCapsule_GetPointer.restype, api.PyCapsule_GetPointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
    x = hg.bfs(rmat, 3, devices=DEVICES[0], results="device").level
    used = b"used_dltensor_versioned"
    for _ in range(1000):
        capsule = x.__dlpack__(max_version=(1, 0))
        handed = ctypes.cast(api.PyCapsule_GetPointer(capsule, b"dltensor_versioned"), ctypes.POINTER(_Versioned))
        assert handed.contents.version[0] == 1 and handed.contents.flags == (0 if ON_GPUS else 1)
        api.PyCapsule_SetName(capsule, used)
        # The capsule goes first, then the memory; or the other way round.
        if _ % 2:
            del capsule
            handed.contents.deleter(handed)
        else:
            handed.contents.deleter(handed)
            del capsule


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no /proc")
@pytest.mark.parametrize("take", [
    lambda x: x.__dlpack__(max_version=(1, 0), copy=True),
    lambda x: np.from_dlpack(x, device="cpu", copy=True),
    lambda x: x.__dlpack__(),
    lambda x: taken(x),
])
def test_a_thousand_arrays_leave_no_memory_behind(take):
    # An array is 128 KiB, and a thousand would be 128 MiB.
    graph = hg.load("rmat:15")
    x = hg.bfs(graph, 3, devices=DEVICES[0], results="device").level
    for round in range(2):
        before = resident()
        for _ in range(1000):
            take(x)
    assert resident() - before < 32 << 20


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="no /proc")
def test_a_thousand_results_leave_no_memory_behind():
    graph = hg.load("rmat:12", symmetrize="max")
    for round in range(2):
        before = resident()
        for source in range(1000):
            taken(hg.bfs(graph, source % 64, devices=DEVICES[0], results="device").level)
    assert resident() - before < 8 << 20


@gpus
def test_pytorch_takes_them_without_a_copy(rmat):
    torch = pytest.importorskip("torch")
    run = {"devices": DEVICES[0], "results": "device"}
    x = hg.sssp(rmat, 3, **run).distance
    wanted = hg.sssp(rmat, 3, devices=DEVICES[0]).distance
    one = torch.from_dlpack(x)
    assert one.is_cuda and one.data_ptr() == x.__cuda_array_interface__["data"][0]
    assert np.array_equal(one.cpu().numpy(), wanted)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        other = torch.from_dlpack(x)
        other.add_(1.0)
    side.synchronize()
    assert torch.equal(one, other)
    del x, other
    for source in range(30):
        hg.sssp(rmat, source, **run)
    assert np.array_equal(one.cpu().numpy(), wanted + 1)
    hops = hg.sample(rmat, sources=[3, 5], fanouts=[4, 3], **run)
    assert torch.from_dlpack(hops.hop2).shape == (2, 12) and torch.from_dlpack(hops.hop1).dtype == torch.int32


@gpus
def test_cupy_takes_them_without_a_copy(rmat):
    cupy = pytest.importorskip("cupy")
    run = {"devices": DEVICES[0], "results": "device"}
    x = hg.bfs(rmat, 3, **run).level
    wanted = hg.bfs(rmat, 3, devices=DEVICES[0]).level
    for take in (cupy.from_dlpack, cupy.asarray):
        seen = take(x)
        assert seen.data.ptr == x.__cuda_array_interface__["data"][0] and np.array_equal(cupy.asnumpy(seen), wanted)


@gpus
def test_wrong_requests_on_gpus(rmat):
    x = hg.bfs(rmat, 3, devices=DEVICES[0], results="device").level
    gpu = x.__dlpack_device__()
    for stream in (None, -1, 1, 2, 12345):
        x.__dlpack__(stream=stream, max_version=(1, 0), dl_device=gpu, copy=False)
    for wrong, error, words in [
        ({"stream": 0}, BufferError, "stream is 0"),
        ({"stream": -2}, BufferError, "stream is -2"),
        ({"stream": "1"}, TypeError, "a number or None"),
        ({"dl_device": (1, 0), "copy": False}, BufferError, "forbids"),
        ({"dl_device": (2, gpu[1] + 1)}, BufferError, "can be had there"),
    ]:
        with pytest.raises(error, match=words):
            x.__dlpack__(max_version=(1, 0), **wrong)
    with pytest.raises(ValueError, match="needs a copy"):
        np.asarray(x, copy=False)


@gpus
def test_a_second_source_downloads_nothing():
    """Prints the times of a second question, whose distances stay on the GPU: `pytest -s`, with HIVE_SCALE=24 for R-MAT 24."""
    import time

    scale = int(os.environ.get("HIVE_SCALE", "18"))
    graph = hg.load(f"rmat:{scale}", symmetrize="max")
    run = {"devices": DEVICES[0], "results": "device"}
    hg.sssp(graph, 1, **run)
    for ask in (hg.sssp, hg.bfs):
        ask(graph, 1, **run)
        times = []
        for source in range(2, 12):
            begin = time.perf_counter()
            found = ask(graph, source, **run)
            times.append((time.perf_counter() - begin) * 1e3)
        print(f"{ask.__name__} of rmat:{scale}: {np.median(times):.2f} ms a question, {found.ms[-1]:.2f} ms of them the run")
