"""Graphs from what people have: the same graph whatever it came from, and one exception for what makes none."""

import gc

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import hivegraph as hg

NAMES = ["alice", "bob", "carol", "dave"]
ARCS = [("alice", "bob", 1.0), ("bob", "carol", 2.0), ("carol", "alice", 3.0), ("dave", "alice", 4.0)]


def frame():
    return pd.DataFrame(ARCS, columns=["from", "to", "weight"])


def matrix():
    dense = np.zeros((4, 4))
    for u, v, weight in ARCS:
        dense[NAMES.index(u), NAMES.index(v)] = weight
    return sp.csr_array(dense)


def same(graph):
    offsets, columns, weights = graph.to_csr()
    assert offsets.tolist() == [0, 1, 2, 3, 4]
    assert columns.tolist() == [1, 2, 0, 0]
    assert weights.tolist() == [1, 2, 3, 4]


def test_every_source_makes_the_same_graph(tmp_path):
    names = np.array(NAMES)
    columns = [np.array(column) for column in zip(*ARCS)]
    table = tmp_path / "arcs.csv"
    frame().to_csv(table, index=False)
    named = [
        hg.graph(frame()),
        hg.graph(frame(), source="from", target="to", weight="weight"),
        hg.graph(pa.Table.from_pandas(frame())),
        hg.graph(tuple(columns)),
        hg.graph(nx.from_pandas_edgelist(frame(), "from", "to", "weight", create_using=nx.DiGraph)),
        hg.Graph.from_scipy(matrix(), ids=names),
        hg.load(table),
    ]
    for graph in named:
        same(graph)
        assert graph.ids.tolist() == NAMES
        assert graph.node("carol") == 2 and "erin" not in graph
    for form in ("csr", "csc", "coo", "lil", "dok"):
        graph = hg.graph(matrix().asformat(form))
        same(graph)
        assert graph.ids.tolist() == [0, 1, 2, 3]
    assert (named[0].to_scipy() != matrix()).nnz == 0


def test_ids_of_any_kind():
    for ids in ([7, 3, 10**15], ["b", "a", "c"], [2.5, 1.5, 9.0], [("x", 1), ("x", 2), ("y", 1)], [-5, 0, 5]):
        sources, targets = np.empty(3, dtype=object), np.empty(3, dtype=object)
        sources[:], targets[:] = ids, ids[1:] + ids[:1]
        graph = hg.Graph.from_arcs(sources, targets)
        assert graph.nodes == 3 and graph.ids.tolist() == sorted(ids)
        assert [graph.ids[graph.node(name)] for name in ids] == ids
        found = hg.bfs(graph, ids[0])
        assert found.to_dict() == dict(zip(ids, [0, 1, 2]))
        assert list(found.to_pandas().loc[ids[1]]) == [1] if not isinstance(ids[0], tuple) else True
    mixed = hg.Graph.from_arcs(["a", 1], [1, ("b", 2)])
    assert mixed.ids.tolist() == ["a", 1, ("b", 2)]


def test_names_do_not_become_others():
    ids = hg.Graph.from_arcs(np.array([1, 2]), np.array(["1", "b"])).ids.tolist()
    assert sorted(map(repr, ids)) == ["'1'", "'b'", "1", "2"]
    large = 2**53 + 1
    assert large in hg.Graph.from_arcs(np.array([large]), np.array([1], np.uint64)).ids.tolist()
    assert large in hg.Graph.from_arcs(np.array([large]), np.array([0.5])).ids.tolist()
    assert hg.Graph.from_arcs(np.array([1]), np.array([2**64 - 1], np.uint64)).ids.tolist() == [1, 2**64 - 1]
    assert hg.Graph.from_arcs(np.array([1, 2]), np.array([1.0, 3.5])).nodes == 3
    frame = pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": pd.array([2, None], "Int64")})
    with pytest.raises(hg.InputError, match="row 1 names no node"):
        hg.graph(frame)
    days = pd.date_range("2026-01-01", periods=3).to_numpy()
    assert hg.Graph.from_arcs(days[:2], days[1:]).nodes == 3
    with pytest.raises(hg.InputError, match="row 1 names no node"):
        hg.Graph.from_arcs(days[:2], np.array([days[0], np.datetime64("NaT")]))
    kinds = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": pd.array(["y", "z"], "string")})
    assert hg.graph(kinds).ids.tolist() == ["x", "y", "z"]
    with pytest.raises(hg.InputError, match="hashable"):
        hg.Graph.from_arcs([[1], "a"], ["a", "b"])


def test_whole_numbers_with_gaps_are_names():
    graph = hg.Graph.from_arcs([10, 30], [30, 50])
    assert graph.ids.tolist() == [10, 30, 50]
    assert hg.Graph.from_arcs([10, 30], [30, 50], nodes=51).nodes == 51
    for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64):
        graph = hg.Graph.from_arcs(np.array([1, 2], kind), np.array([2, 3], kind))
        assert graph.ids.tolist() == [1, 2, 3], kind


def test_weights_of_any_type():
    ends = (np.array([0, 1]), np.array([1, 0]))
    for kind in (np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64, np.float16, np.float32, np.float64):
        assert hg.Graph.from_arcs(*ends, np.array([2, 3], kind)).to_csr()[2].tolist() == [2, 3], kind
        assert hg.Graph.from_csr([0, 1, 2], [1, 0], np.array([2, 3], kind)).to_csr()[2].tolist() == [2, 3], kind
    assert not hg.Graph.from_arcs(*ends, np.array([True, True])).weighted
    assert hg.Graph.from_arcs(*ends, np.array([2, 3], ">f8")).to_csr()[2].tolist() == [2, 3]
    # Not contiguous, not aligned.
    wide = np.arange(8, dtype=np.float64)[::4]
    assert hg.Graph.from_arcs(*ends, wide).to_csr()[2].tolist() == [0, 4]
    odd = np.frombuffer(b"x" + np.array([2.0, 3.0]).tobytes(), dtype=np.uint8)[1:].view(np.float64)
    assert hg.Graph.from_csr([0, 1, 2], [1, 0], odd).to_csr()[2].tolist() == [2, 3]


def test_undirected_edges_stand_for_both_arcs_and_loops_for_one():
    graph = hg.Graph.from_arcs([0, 1, 1], [1, 2, 1], [5, 6, 7], directed=False)
    offsets, columns, weights = graph.to_csr()
    assert offsets.tolist() == [0, 1, 4, 5] and columns.tolist() == [1, 0, 1, 2, 1]
    assert weights.tolist() == [5, 5, 7, 6, 6] and graph.is_undirected()


def test_a_sorted_csr_is_not_copied_and_cannot_be_written_to():
    csr = sp.random_array((500, 500), density=0.05, format="csr", rng=np.random.default_rng(1), dtype=np.float32)
    csr.sort_indices()
    csr.indices, csr.indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
    graph = hg.graph(csr)
    offsets, columns = graph.to_csr()[:2]
    assert np.shares_memory(columns, csr.indices) and np.shares_memory(offsets, csr.indptr)
    for array in (csr.indices, csr.data, csr.indptr):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    other = hg.graph(csr)
    del graph, offsets, columns
    gc.collect()
    with pytest.raises(ValueError, match="read-only"):
        csr.data[0] = 1
    del other
    gc.collect()
    csr.data[0] = 1
    graph = hg.Graph.from_scipy(csr, copy=True)
    before = hg.sssp(graph, 0).distance.copy()
    csr.data[:] = 9
    assert np.array_equal(hg.sssp(graph, 0).distance, before)
    # Who may not write to the matrix himself may use it.
    csr.data.flags.writeable = False
    del graph
    hg.graph(csr)
    gc.collect()
    assert not csr.data.flags.writeable


def test_rows_in_any_order_are_sorted():
    csr = sp.csr_array((np.array([3.0, 1.0, 2.0]), np.array([2, 0, 1]), np.array([0, 2, 3, 3])), shape=(3, 3))
    _, columns, weights = hg.graph(csr).to_csr()
    assert columns.tolist() == [0, 2, 1] and weights.tolist() == [1, 3, 2]


WRONG = [
    (lambda: hg.graph(np.zeros((3, 3))), "nothing that a graph is made of"),
    (lambda: hg.Graph.from_csr([0, 1], [5]), "arc 0 has column 5"),
    (lambda: hg.Graph.from_csr([0, 2], [0]), "row offsets end at 2"),
    (lambda: hg.Graph.from_csr([0, 2, 1], [0]), "row offsets fall"),
    (lambda: hg.Graph.from_csr([0, 1], [0], [1.0, 2.0]), "1 indices and 2 data"),
    (lambda: hg.Graph.from_csr([[0, 1]], [0]), "2 dimensions"),
    (lambda: hg.Graph.from_csr([0, 1], [0.5]), "whole numbers"),
    (lambda: hg.Graph.from_csr([0, 1], ["a"]), "whole numbers"),
    (lambda: hg.Graph.from_csr([], []), "no nodes"),
    (lambda: hg.Graph.from_csr([0, 1], [0], ids=[1, 2]), "1 nodes and 2 ids"),
    (lambda: hg.Graph.from_csr([0, 1, 1], [0], ids=["a", "a"]), "same id"),
    (lambda: hg.Graph.from_arcs([0, 1], [1]), "2 sources and 1 targets"),
    (lambda: hg.Graph.from_arcs([0], [1], [1, 2]), "1 arcs and 2 weights"),
    (lambda: hg.Graph.from_arcs([0], [-1], nodes=3), r"targets\[0\] is -1"),
    (lambda: hg.Graph.from_arcs([0], [7], nodes=3), "7 and the graph has 3 nodes"),
    (lambda: hg.Graph.from_arcs([0], [1], nodes=-1), "nodes is -1"),
    (lambda: hg.Graph.from_arcs([0], [1], nodes=3.7), "nodes is 3.7"),
    (lambda: hg.Graph.from_csr([0, 1, 1], np.array([-1], np.int32)), r"indices\[0\] is -1"),
    (lambda: hg.graph(pd.Series([1, 2])), "nothing that a graph is made of"),
    (lambda: hg.graph(pa.array([1, 2])), "nothing that a graph is made of"),
    (lambda: hg.Graph.from_arcs([0], [1], [-1.0]), "weight -1"),
    (lambda: hg.Graph.from_arcs([0], [1], [np.nan]), "weight NaN"),
    (lambda: hg.Graph.from_arcs([0], [1], ["heavy"]), "weights are numbers"),
    (lambda: hg.Graph.from_arcs([0], [1], [False]), "is False"),
    (lambda: hg.Graph.from_arcs(["a", None], ["b", "c"]), "row 1 names no node"),
    (lambda: hg.Graph.from_arcs([1.0, np.nan], [2.0, 3.0]), "row 1 names no node"),
    (lambda: hg.Graph.from_arcs([], []), "no nodes"),
    (lambda: hg.Graph.from_scipy(sp.csr_array((2, 3))), "2 rows and 3 columns"),
    (lambda: hg.graph(frame(), source="nobody"), "no column 'nobody'"),
    (lambda: hg.graph(frame()[["from"]]), "fewer than two columns"),
    (lambda: hg.load("/no/such/file.csv"), "/no/such/file.csv"),
    (lambda: hg.load("rmat:4", weihgts="unit"), "weihgts"),
    (lambda: hg.graph(nx.Graph()), "no nodes"),
]


@pytest.mark.parametrize("made, words", WRONG, ids=[words for _, words in WRONG])
def test_what_makes_no_graph(made, words):
    with pytest.raises(hg.InputError, match=words):
        made()


def test_wrong_weights_of_arrays_that_stay_where_they_are():
    graph = hg.Graph.from_csr([0, 1, 1], np.array([1], dtype=np.int32), np.array([-2.0]))
    assert hg.bfs(graph, 0).level.tolist() == [0, 1]
    with pytest.raises(hg.InputError, match="arc 0 has weight -2"):
        hg.sssp(graph, 0)


def test_a_graph_is_not_made_by_its_class():
    with pytest.raises(TypeError, match="from_"):
        hg.Graph()


def test_what_is_of_a_device_is_copied():
    class OnDevice:
        __cuda_array_interface__ = {}

        def __init__(self, values):
            self.values = values

        def get(self):
            return np.array(self.values)

    graph = hg.Graph.from_arcs(OnDevice([0, 1]), OnDevice([1, 2]))
    assert graph.arcs == 2


def test_a_graph_is_saved_and_loaded(tmp_path):
    path = tmp_path / "g.mtx"
    hg.load("rmat:6").save(path)
    again = hg.load(path)
    assert again.nodes == 64 and again.arcs == hg.load("rmat:6").arcs
    graph = hg.Graph.from_arcs([0, 1, 2, 2], [1, 2, 0, 2], [1, 2, 3, 4])
    assert graph.loaded(symmetrize="max").is_undirected() and graph.loaded(symmetrize="max").arcs == 7
    assert graph.loaded(self_loops="drop").arcs == 3 and not graph.loaded(weights="unit").weighted
    assert hg.Graph.from_arcs([0, 0], [1, 1]).loaded(duplicates="min").arcs == 1


def test_names_stay_with_their_nodes_when_nodes_go():
    arcs = ["z", "z", "z", "y", "x", "q", "r"], ["a", "b", "c", "z", "y", "r", "q"]
    graph = hg.Graph.from_arcs(*arcs)

    def named(graph):
        offsets, columns, _ = graph.to_csr()
        sources = np.repeat(np.arange(graph.nodes), np.diff(offsets))
        return sorted(zip(graph.ids[sources].tolist(), graph.ids[columns].tolist()))

    whole = sorted(zip(*arcs))
    assert named(graph.loaded(relabel="degree")) == whole
    assert named(graph.loaded(largest_component=True)) == [arc for arc in whole if "q" not in arc]
    assert named(graph.loaded(self_loops="drop")) == whole


def test_ids_of_narrow_types_do_not_wrap():
    for ids in (np.array([254, 255, 0], np.uint8), np.array([127, -128, -127], np.int8), [1, "x", 2], [1, "1", 2], [b"x", "x", "y"]):
        graph = hg.Graph.from_arcs([0, 1], [1, 2], ids=ids)
        assert graph.ids.tolist() == list(ids) and [graph.node(name) for name in list(ids)] == [0, 1, 2]
    wide = np.array([2**63, 2**63 + 1, 2**63 + 2], np.uint64)
    assert hg.Graph.from_arcs([0, 1], [1, 2], ids=wide).ids.tolist() == wide.tolist()
    assert hg.Graph.from_arcs([0, 1], [1, 2], ids=(name for name in "abc")).ids.tolist() == list("abc")
    for ids, words in (([np.nan, np.nan, 2], "is no name"), ([[1], [2], [3, 4]], "hashable"), (7, "ids is int")):
        with pytest.raises(hg.InputError, match=words):
            hg.Graph.from_arcs([0, 1], [1, 2], ids=ids)


def test_times_are_names():
    days = pd.date_range("2026-01-01", periods=3)
    graph = hg.Graph.from_arcs(days[:2].to_numpy(), days[1:].to_numpy())
    assert [graph.node(day) for day in graph.ids] == [graph.node(day) for day in days] == [0, 1, 2]
    assert hg.bfs(graph, days[0]).to_dict()[graph.ids[2]] == 2
    with pytest.raises(hg.InputError, match="same type"):
        hg.Graph.from_arcs(days[:2].to_numpy(), np.array(list(days[1:]), dtype=object))


def test_what_is_masked_is_refused():
    masked = np.ma.array([0, 1, 2], mask=[0, 1, 0])
    with pytest.raises(hg.InputError, match="masked at 1"):
        hg.Graph.from_arcs(masked, [1, 2, 0])
    assert hg.Graph.from_arcs(np.ma.array([0, 1]), [1, 0]).arcs == 2


def test_columns_are_guessed_where_they_are_not_named():
    table = pd.DataFrame({"weight": [2.5], "a": ["x"], "b": ["y"], "w": [-1]})
    with pytest.raises(hg.InputError, match="which columns are nodes"):
        hg.graph(table)
    left = table.drop(columns="w")
    assert hg.graph(left).to_csr()[2].tolist() == [2.5] and hg.graph(left).ids.tolist() == ["x", "y"]
    assert not hg.graph(table, "a", "b", None).weighted
    assert hg.graph(table, "a", "b").to_csr()[2].tolist() == [2.5]


def test_padding_of_blocks_is_no_arc():
    dense = np.zeros((4, 4))
    dense[0, 1], dense[2, 3] = 2, 3
    assert hg.graph(sp.bsr_array(dense, blocksize=(2, 2))).arcs == 2


def test_weights_of_networkx_are_numbers():
    graph = nx.path_graph(2)
    for weight in ("2.5", b"3", "heavy", 1j, 10**400):
        nx.set_edge_attributes(graph, weight, "weight")
        with pytest.raises(hg.InputError, match="attribute 'weight'"):
            hg.graph(graph)
    with pytest.raises(hg.InputError, match="no edge has the attribute 'wieght'"):
        hg.graph(graph, weight="wieght")
    assert not hg.graph(graph, weight=None).weighted


def test_names_are_not_lost_in_a_file(tmp_path):
    with pytest.raises(hg.InputError, match="would lose"):
        hg.Graph.from_arcs(["a", "b"], ["b", "c"]).save(tmp_path / "g.hive")


def test_whatever_the_arrays_are_views_of_is_kept():
    whole = np.zeros(100, np.int32)
    columns, offsets = whole[:10], np.arange(200)[:11]
    graph = hg.Graph.from_csr(offsets, columns)
    for array in (whole, columns, offsets, offsets.base):
        assert not array.flags.writeable
    view = graph.to_csr()[1]
    other = graph.loaded()
    del graph
    gc.collect()
    assert not whole.flags.writeable, "a view of the graph lives"
    del view, other
    gc.collect()
    hg.cc(hg.load("chain:3"))
    assert whole.flags.writeable and columns.flags.writeable
    # Memory that is no array's can be written to by others: it is copied.
    memory = bytearray(np.zeros(10, np.int32).tobytes())
    graph = hg.Graph.from_csr(np.arange(11), np.frombuffer(memory, np.int32))
    memory[0:4] = b"\xff\xff\xff\x7f"
    assert graph.to_csr()[1][0] == 0


def test_graphs_in_circles_are_given_back():
    offsets, columns = np.arange(11), np.zeros(10, np.int32)
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        for _ in range(200):
            circle = [hg.Graph.from_csr(offsets.copy(), columns)]
            circle.append(circle)
    finally:
        gc.set_threshold(*before)
    del circle
    gc.collect()
    hg.cc(hg.load("chain:3"))
    assert columns.flags.writeable
