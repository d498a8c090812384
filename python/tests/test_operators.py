"""Users' own functions, beside NumPy's whole-graph forms of what they compute."""

import copy
import os
import threading

import numpy as np
import pytest

import hivegraph as hg

# With GPUs: HIVE_DEVICES=cuda:0,cuda:0x4,cuda:0-1 (separated by semicolons).
DEVICES = os.environ.get("HIVE_DEVICES", "host:1;host:3").split(";")


@pytest.fixture(params=DEVICES)
def devices(request):
    return request.param


@pytest.fixture(scope="module")
def road():
    return hg.load("road:8")


@pytest.fixture(scope="module")
def one_way():
    """Directed, with a node to which most others have an arc."""
    rng = np.random.default_rng(8)
    u, v = rng.integers(0, 900, (2, 5_000))
    return hg.Graph.from_arcs(np.concatenate([u, np.arange(5, 900)]), np.concatenate([v, np.full(895, 4)]))


@pytest.fixture(scope="module")
def skewed():
    return hg.load("rmat:9", symmetrize="off")


@hg.function(cuda="y[i] = by * x[i] + y[i];")
def scaled(i, x: hg.Reads, y: hg.Writes, by: np.float32):
    y[i] += by * x[i]


@hg.function(cuda="u32 told = label[u]; return atomic_min(label[v], told) > told;")
def tell(u, v, label: hg.Writes):
    before = label[v]
    np.minimum.at(label, v, label[u])
    return label[v] < before


@hg.function(cuda="return x[v] * w;")
def weighted(v, w, x: hg.Reads):
    return x[v] * w


@hg.function(cuda="return x[v];")
def value(u, v, x: hg.Reads):
    return x[v]


@hg.function(cuda="atomic_add(count[v], 1);")
def counted(u, v, count: hg.Writes):
    np.add.at(count, v, 1)


@hg.function(cuda="place[e] = u;")
def source_of(u, e, place: hg.Writes):
    place[e] = u


@hg.function(cuda="if (g.degree(v) > most) few.erase(v); else few.insert(v);")
def of_few(v, g, few: hg.Writes, most: np.uint32):
    few[v] = g.degree(v) <= most


FUNCTIONS = [
    (scaled, None, {"x": "f4", "y": "f4"}),
    (tell, bool, {"label": "u4"}),
    (weighted, "f4", {"x": "f4"}),
    (value, "u8", {"x": "u8"}),
    (value, "i4", {"x": "i4"}),
    (counted, None, {"count": "u4"}),
    (source_of, None, {"place": "u4"}),
    (of_few, None, {"few": set}),
]


@pytest.mark.parametrize("arch", ["sm_75", "sm_90"])
@pytest.mark.parametrize("function, returns, types", FUNCTIONS)
def test_texts_compile_without_a_gpu(function, returns, types, arch):
    try:
        function.compile(arch, returns, **types)
    except hg.MachineError as error:
        if os.environ.get("HIVE_REQUIRE_NVRTC"):
            raise
        pytest.skip(str(error))


def test_a_text_that_is_wrong_says_where():
    @hg.function(cuda="\n oops = 1;")
    def wrong(v, x: hg.Writes):
        x[v] = 1

    try:
        with pytest.raises(hg.InputError, match='lambda wrong does not compile: line 2: identifier "oops"'):
            wrong.compile("sm_90", x=np.float32)
    except hg.MachineError as error:
        if os.environ.get("HIVE_REQUIRE_NVRTC"):
            raise
        pytest.skip(str(error))


def labels(g, devices):
    label = g.array(np.arange(g.nodes, dtype=np.uint32), merge="min", devices=devices)
    told, rounds = g.node_set(..., devices=devices), 0
    while len(told):
        told, rounds = g.advance(tell, told, label=label), rounds + 1
    return label.numpy(), rounds


def test_labels_spread(road, skewed, devices):
    for g in (road, skewed.loaded(symmetrize="max")):
        ours, rounds = labels(g, devices)
        theirs = hg.cc(g, devices="host:1")
        least = np.full(g.nodes, g.nodes, dtype=np.uint32)
        np.minimum.at(least, theirs.component, np.arange(g.nodes, dtype=np.uint32))
        assert np.array_equal(ours, least[theirs.component]) and rounds > 1


def test_folds_are_those_of_scipy(skewed, devices):
    g = skewed
    x = np.random.default_rng(1).random(g.nodes).astype(np.float32)
    held, out = g.array(x, devices=devices), g.array(np.float32, devices=devices)
    g.neighbor_reduce(weighted, out, x=held)
    assert np.allclose(out.numpy(), g.to_scipy() @ x, rtol=1e-5)
    g.neighbor_reduce(weighted, out, backward=True, x=held)
    assert np.allclose(out.numpy(), g.to_scipy().T @ x, rtol=1e-5)


def test_other_libraries_see_what_lies_on_a_gpu(skewed, devices):
    x = skewed.array(np.arange(skewed.nodes, dtype=np.float32), devices=devices)
    if devices.startswith("host"):
        assert not hasattr(x, "__cuda_array_interface__")
        return
    cupy = pytest.importorskip("cupy")
    view = cupy.asarray(x)
    assert np.array_equal(cupy.asnumpy(view), x.numpy())
    skewed.for_all(scaled, x, x=x, y=(y := skewed.array("f4", devices=devices)), by=2.0)
    assert np.array_equal(cupy.asnumpy(cupy.asarray(y)), 2 * np.arange(skewed.nodes))
    x.fill(7)
    assert (cupy.asnumpy(view) == 7).all()


@hg.function(cuda="return x[u] > x[v];")
def above(u, v, x: hg.Reads):
    return x[u] > x[v]


@pytest.mark.parametrize("backward", [False, True])
def test_advances_along_the_arcs_and_against_them(one_way, devices, backward):
    g = one_way
    x = np.random.default_rng(4).random(g.nodes).astype(np.float32)
    offsets, v, _ = g.to_csr()
    u = np.repeat(np.arange(g.nodes, dtype=np.uint32), np.diff(offsets))
    u, v = (v, u) if backward else (u, v)
    some = np.arange(0, g.nodes, 3)
    arcs = np.isin(u, some) & (x[u] > x[v])
    held, over = g.array(x, devices=devices), g.node_set(some, devices=devices)
    assert np.array_equal(g.advance(above, over, x=held, backward=backward).numpy(), np.unique(v[arcs]))


@pytest.mark.parametrize("by, fold, nothing", [("min", np.minimum, 2**63 + 5), ("max", np.maximum, 0), ("or", np.bitwise_or, 0), ("sum", np.add, 0)])
def test_each_fold(skewed, devices, by, fold, nothing):
    g = skewed
    x = np.random.default_rng(2).integers(0, 2**63, g.nodes).astype(np.uint64)
    out = g.array(np.full(g.nodes, 7, dtype=np.uint64), devices=devices)
    some = g.node_set(np.arange(0, g.nodes, 3), devices=devices)
    g.neighbor_reduce(value, out, some, by=by, x=g.array(x, devices=devices))
    offsets, columns, _ = g.to_csr()
    got = out.numpy()
    for v in range(g.nodes):
        row = x[columns[offsets[v] : offsets[v + 1]]]
        expected = fold.reduce(row) if len(row) else np.uint64(2**64 - 1 if by == "min" else 0)
        assert got[v] == (7 if v % 3 else expected), (v, by)


def test_signed_folds_of_nothing(devices):
    g = hg.Graph.from_arcs([0], [1], nodes=3)
    x, out = g.array(np.array([-5, -6, -7], dtype=np.int32), devices=devices), g.array(np.int32, devices=devices)
    for by, nothing in (("min", 2**31 - 1), ("max", -(2**31)), ("sum", 0)):
        g.neighbor_reduce(value, out, by=by, x=x)
        assert out.numpy().tolist() == [-6, nothing, nothing]


def test_sums_are_added_once_whatever_the_replicas(skewed, devices):
    g = skewed
    count = g.array(np.full(g.nodes, 100, dtype=np.uint32), merge="sum", devices=devices)
    expected = 100 + np.bincount(g.to_csr()[1], minlength=g.nodes)
    g.for_all(counted, count=count)
    assert np.array_equal(count.numpy(), expected)
    g.for_all(counted, count=count)
    assert np.array_equal(count.numpy(), 2 * expected - 100)


def test_steps_over_indices_arcs_and_sets(skewed, devices):
    g = skewed
    x, y = (g.array(np.arange(1000, dtype=np.float32), of=1000, devices=devices) for _ in range(2))
    g.for_all(scaled, x, x=x, y=y, by=0.5)
    assert np.array_equal(y.numpy(), 1.5 * np.arange(1000, dtype=np.float32))
    with refused("run it over as many indices"):
        g.for_all(scaled, 10, x=x, y=y, by=-1)
    with refused("run it over arcs"):
        g.for_all(scaled, x=x, y=g.array("f4", of="arcs", devices=devices), by=-1)
    with refused("run it over nodes"):
        g.for_all(scaled, "arcs", x=x, y=g.array("f4", devices=devices), by=-1)

    place = g.array("u4", of="arcs", devices=devices)
    g.for_all(source_of, place=place)
    offsets, columns, _ = g.to_csr()
    assert np.array_equal(place.numpy(), np.repeat(np.arange(g.nodes), np.diff(offsets)))

    few = g.node_set(..., merge="own", devices=devices)
    g.for_all(of_few, few=few, most=3)
    assert np.array_equal(few.numpy(), np.flatnonzero(g.degree() <= 3)) and len(few) == np.sum(g.degree() <= 3)
    place.fill(7)
    g.for_all(source_of, few, place=place)
    expected = np.where(g.degree()[np.repeat(np.arange(g.nodes), np.diff(offsets))] <= 3, np.repeat(np.arange(g.nodes), np.diff(offsets)), 7)
    assert np.array_equal(place.numpy(), expected)


def test_batches_of_arcs_are_all_arcs(skewed, monkeypatch):
    monkeypatch.setattr(hg._steps, "_BATCH", 10)
    test_folds_are_those_of_scipy(skewed, "host:2")
    test_sums_are_added_once_whatever_the_replicas(skewed, "host:2")


def test_graphs_of_nothing(devices):
    for g in (hg.Graph.from_arcs([], [], nodes=1), hg.Graph.from_arcs([], [], nodes=70)):
        ours, rounds = labels(g, devices)
        assert ours.tolist() == list(range(g.nodes)) and rounds == 1
        count = g.array("u4", merge="sum", devices=devices)
        g.for_all(counted, count=count)
        out = g.array("f4", devices=devices)
        g.neighbor_reduce(weighted, out, x=g.array("f4", devices=devices))
        assert not count.numpy().any() and not out.numpy().any()


def test_arrays_and_workloads_share_a_fleet(road, devices):
    label = road.array(np.arange(road.nodes, dtype=np.uint32), merge="min", devices=devices)
    hg.bfs(road, source=0, devices=devices)
    road.advance(tell, None, label=label)
    assert not np.array_equal(label.numpy(), np.arange(road.nodes))


# What is refused, on the host, where what a merge would undo is seen.


def refused(match):
    return pytest.raises(hg.InputError, match=match)


@pytest.mark.parametrize(
    "merge, of, body, match",
    [
        ("own", "nodes", lambda x, v, g: x.__setitem__((v + 1) % g.nodes, 1), "another replica's"),
        ("min", "nodes", lambda x, v, g: x.__setitem__(v, 9), "only falls"),
        ("max", "nodes", lambda x, v, g: x.__setitem__(v, 1), "only rises"),
        ("or", "nodes", lambda x, v, g: x.__setitem__(v, 8), "loses bits"),
    ],
)
def test_what_a_merge_would_undo(road, merge, of, body, match):
    x = road.array(np.full(road.nodes, 5, dtype=np.uint32), merge=merge, of=of, devices="host:2")

    @hg.function()
    def wrong(v, g, x: hg.Writes):
        body(x, v, g)

    with refused(match):
        road.for_all(wrong, x=x)
    assert (x.numpy() == 5).all(), "what fails changes nothing"


def test_what_a_set_would_lose(road):
    few = road.node_set(..., devices="host:2")
    with refused("loses bits"):
        road.for_all(of_few, few=few, most=0)


def test_declarations():
    with refused("what is parameter x"):
        hg.function()(lambda v, x: None)
    with refused("is a name that operators take"):

        @hg.function()
        def wrong(u, v, output: hg.Reads):
            pass

    with refused("complex128"):

        @hg.function()
        def typed(v, x: np.complex128):
            pass

    with refused("i, an index"):

        @hg.function()
        def both(u, i):
            pass

    for wrong in (lambda v, *x: None, lambda **x: None, lambda v, x=None: None):
        with refused("no name of its own|what is parameter x"):
            hg.function()(wrong)
    with refused("one of elements, which returns nothing"):
        scaled.compile("sm_90", bool, x="f4", y="f4")
    with refused("brackets"):
        hg.function(lambda v: None)
    with refused("is called by for_all"):
        tell(1, 2, 3)


def test_arguments(road):
    x, y = (road.array("f4", devices="host:2") for _ in range(2))
    other = hg.load("road:6")
    of_other = other.array("f4", devices="host:2")
    cases = [
        (dict(x=x, y=y), "argument by is missing"),
        (dict(x=x, by=1), "argument y is missing"),
        (dict(x=x, y=y, by=1, z=1), "no argument 'z'"),
        (dict(x=x, y=x, by=1), "given a second time"),
        (dict(x=x, y=np.zeros(3), by=1), "argument y is ndarray"),
        (dict(x=x, y=y, by="a"), "do not fit"),
        (dict(x=x, y=y, by=[1, 2]), "is a number, and 1 dimensions"),
        (dict(x=x, y=y, by=1e300), "for_all of scaled: values of type float64 do not fit float32"),
        (dict(x=of_other, y=y, by=1), "different graphs"),
        (dict(x=road.array("f4", devices="host:1"), y=y, by=1), "different graphs"),
    ]
    for given, match in cases:
        with refused(match):
            road.for_all(scaled, **given)
    with refused("another graph"):
        other.for_all(scaled, x=x, y=y, by=1)
    with refused("runs a function that"):
        road.for_all(lambda v: None)
    with refused("over is 'edges'"):
        road.for_all(scaled, "edges", x=x, y=y, by=1)
    with refused("not over indices"):
        road.for_all(counted, 5, count=road.array("u4", devices="host:2"))
    with refused("function of elements"):
        road.advance(scaled, x=x, y=y, by=1)
    with refused("merge is 'least'"):
        road.array("f4", merge="least")
    with refused("merge is 'min'; that of a set"):
        road.node_set(merge="min")
    with refused("complex64"):
        road.array("c8")
    with refused("has no merge by 'or'"):
        road.array("f4", merge="or", devices="host:2")
    with refused("3 values for an array of"):
        x.assign([1, 2, 3])
    with refused("do not fit uint32"):
        road.array("u4", devices="host:2").fill(-1)
    with refused(r"nodes\[1\] is 9999999"):
        road.node_set([0, 9999999])
    with refused("array of nodes"):
        road.neighbor_reduce(weighted, road.node_set(devices="host:2"), x=x)
    with refused(r"nodes\[0\] is -1"):
        road.node_set(np.array([-1], dtype=np.int32))
    with refused("output is of merge='own'"):
        road.advance(tell, output=road.node_set(merge="own", devices="host:2"), label=road.array("u4", merge="min", devices="host:2"))
    for of in (2.9, -1, "edges", [3]):
        with refused("of is"):
            road.array("f4", of=of)
    with refused("over is array"):
        road.for_all(scaled, np.array([1, 2]), x=x, y=y, by=1)
    with refused("one value"):
        x.fill([1, 2])
    with pytest.raises(TypeError, match="cannot be copied"):
        copy.copy(x)
    with pytest.raises(ValueError, match="copied"):
        np.asarray(x, copy=False)
    with refused("no fold by 'or'"):
        road.neighbor_reduce(weighted, y, by="or", x=x)
    # None of these has left anything half-written.
    road.for_all(scaled, x=x, y=y, by=1)


def test_answers(road):
    label = road.array("u4", merge="min", devices="host:2")
    for body, match in (
        (lambda v: None, "returns nothing"),
        (lambda v: v, "returns uint32"),
        (lambda v: np.zeros(3, dtype=bool), "shape"),
    ):

        @hg.function()
        def wrong(u, v, x: hg.Reads):
            return body(v)

        with refused(match):
            road.advance(wrong, x=label)

    @hg.function()
    def answers(v, x: hg.Reads):
        return x[v]

    with refused("returns nothing$"):
        road.for_all(answers, x=label)


def test_degrees(road):
    degrees = road.degree()
    for kind in (np.uint8, np.int8, np.int64):
        assert road.degree(np.array([127, 3], dtype=kind)).tolist() == degrees[[127, 3]].tolist()
    assert road.degree(5) == degrees[5] and road.degree([]).tolist() == []
    for nodes in (-1, road.nodes, [0, -3]):
        with refused("nodes are 0 to 255"):
            road.degree(nodes)


def test_a_nan_is_no_minimum(devices):
    g = hg.Graph.from_arcs([0, 0, 1], [1, 2, 2], nodes=3)
    x = g.array(np.array([0, np.nan, np.nan], dtype=np.float32), devices=devices)
    out = g.array("f4", devices=devices)
    for by, nothing in (("min", np.inf), ("max", -np.inf)):
        g.neighbor_reduce(value, out, by=by, x=x)
        assert out.numpy().tolist() == [nothing] * 3
    if devices.startswith("host"):

        @hg.function()
        def none(v, x: hg.Writes):
            x[v] = np.nan

        with refused("only falls"):
            g.for_all(none, x=g.array(np.ones(3, dtype=np.float32), merge="min", devices=devices))


def test_elements_are_read_only(road):
    @hg.function()
    def changes(u, e):
        e %= 2

    with pytest.raises(ValueError, match="read-only"):
        road.advance(changes, road.node_set(..., devices="host:1"))


def test_numbers_have_defaults(road):
    x = road.array("f4", devices="host:2")

    @hg.function()
    def more(v, x: hg.Writes, by: np.float32 = 3):
        x[v] += by

    road.for_all(more, x=x)
    road.for_all(more, x=x, by=1)
    assert (x.numpy() == 4).all()


def test_reads_are_read_only(road):
    x = road.array("f4", devices="host:1")

    @hg.function()
    def writes(v, x: hg.Reads):
        x[v] = 1

    with pytest.raises(ValueError, match="read-only"):
        road.for_all(writes, x=x)
    assert not x.numpy().any()


def test_what_a_function_raises_comes_out(road):
    x, seen = road.array("f4", devices="host:2"), []

    @hg.function()
    def fails(v, x: hg.Writes):
        x[v] = 1
        seen.append(x)
        if len(seen) % 2 == 0:
            raise KeyError("mine")

    for merge in ("own", "sum"):
        x = road.array("f4", merge=merge, devices="host:2")
        with pytest.raises(KeyError, match="mine"):
            road.for_all(fails, x=x)
        seen[-1][:] = 7
        assert not x.numpy().any(), "what fails changes nothing"

        @hg.function()
        def adds(v, x: hg.Writes):
            x[v] += 1

        road.for_all(adds, x=x)
        assert (x.numpy() == 1).all()
    with refused("used by another step"):

        @hg.function()
        def nested(v, y: hg.Writes):
            y[v] = 2
            road.for_all(nested, y=x)

        road.for_all(nested, y=x)


def test_threads_use_arrays_of_their_own(road):
    failures = []

    def work():
        try:
            for _ in range(3):
                assert labels(road, "host:2")[1] > 1
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not failures


def test_places_of_arcs_are_those_forward(one_way, road):
    @hg.function()
    def at(u, e, x: hg.Reads):
        return x[e]

    for g in (one_way, road):
        x = g.array(np.arange(g.arcs, dtype=np.uint64), of="arcs", devices="host:2")
        out = g.array("u8", devices="host:2")
        g.neighbor_reduce(at, out, by="min", x=x)
    g.neighbor_reduce(at, out, by="min", backward=True, x=x)
    out, x = (one_way.array("u8", of=of, devices="host:2") for of in ("nodes", "arcs"))
    with refused("it asks for e, the place of an arc, and goes backward"):
        one_way.neighbor_reduce(at, out, by="min", backward=True, x=x)


def test_arrays_of_a_closed_fleet_are_lost():
    g = hg.load("road:5")
    x, z = (g.array("f4", devices="host:2") for _ in range(2))
    some = g.node_set(devices="host:2")
    hg.close()
    y = g.array("f4", devices="host:2")
    uses = [
        x.numpy,
        lambda: x.fill(1),
        lambda: len(some),
        some.clear,
        lambda: g.for_all(scaled, x=x, y=z, by=1),
        lambda: g.for_all(scaled, x=y, y=z, by=1),
        lambda: g.neighbor_reduce(weighted, x, x=y, backward=True),
    ]
    for use in uses:
        with refused("lost"):
            use()
    assert not y.numpy().any(), "the other fleet is well"
    with pytest.raises(hg.MachineError):
        g.array("f8", of=10**13, devices="host:2")
    assert not y.numpy().any()
    assert not g.array("f4", devices="host:2").numpy().any()


def test_memory_is_given_back(road):
    import resource

    for _ in range(3):
        road.array("f8", of=1 << 20, devices="host:1")
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(100):
        road.array("f8", of=1 << 20, devices="host:1")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin < 100 << 10


@pytest.mark.parametrize("seed", range(20))
def test_random_graphs(seed):
    """Each operator, merge and fold on multigraphs with loops: equal on 1, 2 and 5 replicas, and to NumPy on the whole graph."""
    random = np.random.default_rng(seed)
    n = int(random.choice([1, 2, 63, 64, 65, 129, 400]))
    u, v = random.integers(0, n, (2, int(random.integers(0, 5 * n))))
    g = hg.Graph.from_arcs(u, v, nodes=n)
    x = random.integers(0, 1000, n).astype(np.uint32)
    some = np.flatnonzero(random.random(n) < 0.4)
    merges = {"min": np.minimum, "max": np.maximum, "or": np.bitwise_or}

    @hg.function()
    def takes(u, v, merged: hg.Writes, x: hg.Reads, kind: np.uint8):
        list(merges.values())[kind].at(merged, v, x[u])

    @hg.function()
    def says(u, v, x: hg.Reads):
        return x[u] > x[v]

    arcs = np.isin(u, some)
    expected = []
    for fold in merges.values():
        expected.append(np.full(n, 500, dtype=np.uint32))
        fold.at(expected[-1], v[arcs], x[u[arcs]])
    expected.append(np.bincount(v[arcs], minlength=n))
    expected.append(np.unique(v[arcs][x[u[arcs]] > x[v[arcs]]]))
    back = np.isin(v, some)
    expected.append(np.unique(u[back][x[v[back]] > x[u[back]]]))
    for devices in ("host:1", "host:2", "host:5"):
        held, over, got = g.array(x, devices=devices), g.node_set(some, devices=devices), []
        for kind, merge in enumerate(merges):
            merged = g.array(np.full(n, 500, dtype=np.uint32), merge=merge, devices=devices)
            g.for_all(takes, over, merged=merged, x=held, kind=kind)
            got.append(merged.numpy())
        count = g.array("u4", merge="sum", devices=devices)
        g.for_all(counted, over, count=count)
        got += [count.numpy(), g.advance(says, over, x=held).numpy(), g.advance(says, over, x=held, backward=True).numpy()]
        assert all(np.array_equal(ours, theirs) for ours, theirs in zip(got, expected, strict=True)), (n, devices)


def test_the_same_on_any_number_of_replicas(skewed):
    undirected = skewed.loaded(symmetrize="max")
    first = labels(undirected, "host:1")[0]
    for devices in ("host:2", "host:5"):
        assert np.array_equal(first, labels(undirected, devices)[0])
    x = np.random.default_rng(3).random(skewed.nodes).astype(np.float32)
    sums = []
    for devices in ("host:1", "host:2", "host:5"):
        out = skewed.array("f4", devices=devices)
        skewed.neighbor_reduce(weighted, out, x=skewed.array(x, devices=devices))
        sums.append(out.numpy())
    assert np.array_equal(sums[0], sums[1]) and np.array_equal(sums[0], sums[2])
