"""Every workload as a function: right answers, the engine's own check, results and exceptions."""

import inspect
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse.csgraph as cs

import hivegraph as hg

WORKLOADS = list(hg.workloads())
DEVICES = ["host:1", "host:3"]


@pytest.fixture(scope="module")
def rmat():
    return hg.load("rmat:9", symmetrize="max")


def asked(name):
    """What a workload needs besides a graph."""
    return {"vn": {"seeds": [1, 5]}, "geo": {"locate": "0.5:1"}, "filter": {"elements": 1000}, "project": {"side": [0, 2, 4, 6, 8]}}.get(name, {})


@pytest.mark.parametrize("devices", DEVICES)
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_is_right(rmat, name, devices):
    function = getattr(hg, name)
    graphs = {"filter": [], "project": [hg.load("chain:9")]}.get(name, [rmat])
    found = function(*graphs, **asked(name), devices=devices, verify=True)
    assert found.verified.startswith(("yes", "partly"))
    assert found.workload == name and found.columns and len(found.ms) == 1
    column = found[found.columns[0]]
    assert not column.flags.writeable and not column.flags.owndata
    if graphs:
        rows = len(column) if found.ids is None else graphs[0].nodes
        assert len(column) == rows and len(found.to_pandas()) == rows
    assert found.record["primitive"] and found.record["fleet"]["world"] == int(devices[-1])
    json.dumps(found.record)
    assert found.columns[0] in repr(found)


def test_answers_are_scipys(rmat):
    matrix = rmat.to_scipy()
    assert np.array_equal(hg.sssp(rmat, 3).distance, cs.dijkstra(matrix, indices=3).astype(np.float32))
    levels = cs.dijkstra(matrix, indices=3, unweighted=True)
    assert np.array_equal(hg.bfs(rmat, 3).level, np.where(np.isinf(levels), -1, levels))
    count, _ = cs.connected_components(matrix)
    assert len(np.unique(hg.cc(rmat).component)) == count
    assert matrix.data.min() > 0
    forest, right = hg.mst(rmat), cs.minimum_spanning_tree(matrix)
    assert forest.record["total-weight"] == right.sum() and forest.record["edges"] == right.nnz
    assert forest.record["trees"] == count


def test_the_same_question_again_costs_the_run_alone(rmat):
    hg.pagerank(rmat)
    again = hg.pagerank(rmat)
    assert again.stages_ms["compile"] == 0
    rmat.release()
    assert np.array_equal(hg.pagerank(rmat).rank, again.rank)


def test_results_outlive_graphs():
    ranks = hg.pagerank(hg.load("rmat:7")).rank
    other = hg.pagerank(hg.load("rmat:8")).rank
    assert abs(ranks.sum() - 1) < 1e-5 and abs(other.sum() - 1) < 1e-5


def named():
    names = ["alice", "bob", "carol", "dave", "erin"]
    return hg.Graph.from_arcs(["alice", "bob", "carol", "dave"], ["bob", "carol", "dave", "erin"], [1, 2, 3, 4]), names


def test_nodes_are_called_what_the_input_calls_them():
    graph, names = named()
    found = hg.sssp(graph, "bob", target="erin,alice", predecessors=True)
    assert found.paths == {"erin": ["bob", "carol", "dave", "erin"]}
    assert found.to_dict() == dict(zip(names, [np.inf, 0, 2, 5, 9]))
    assert found.named("predecessor").tolist() == [None, "bob", "bob", "carol", "dave"]
    assert found.predecessor.tolist() == [-1, 1, 1, 2, 3]
    assert list(found.to_pandas().loc["dave"]) == [5, "carol"]
    assert hg.vn(graph, ["bob", "dave"]).distance.tolist() == [np.inf, 0, 2, 0, 4]
    assert hg.vn(graph, "bob,dave").to_dict()["erin"] == 4
    assert hg.vn(graph, "first:2").distance.tolist() == [0, 0, 2, 5, 9]
    assert hg.bc(graph, sources="all").top(2) == [("carol", 4.0), ("bob", 3.0)]


def test_names_that_read_like_choices_are_names(tmp_path):
    table = tmp_path / "arcs.csv"
    table.write_text('all,x\nx,"first:1"\n"first:1",q\n"a,b",q\n')
    graph = hg.load(table)
    assert set(graph.ids) == {"all", "x", "first:1", "q", "a,b"}
    for seed in graph.ids:
        for given in (seed, [seed]):
            assert hg.vn(graph, given).to_dict()[seed] == 0 and hg.vn(graph, given).distance.tolist().count(0) == 1
    assert hg.vn(graph, "first:2").distance.tolist().count(0) == 2
    sets = hg.Graph.from_arcs([frozenset([1]), frozenset([2])], [frozenset([2]), frozenset([3])])
    assert hg.vn(sets, frozenset([2])).distance.tolist() == [np.inf, 0, 1]


def test_a_question_without_an_answer_is_no_end():
    with pytest.raises(hg.InputError, match="grow"):
        hg.katz(hg.load("rmat:6"), alpha=10.0, iterations=1000)
    assert hg.bfs(hg.load("chain:9"), 0).level[8] == 8


def test_a_walk_restarts_where_a_dict_says():
    graph, _ = named()
    found = hg.pagerank(graph, personalize={"bob": 1, "erin": 3.0}, verify=True)
    assert found.verified == "yes" and found.rank[0] == 0 and found.rank[4] > found.rank[1] > 0
    alike = hg.pagerank(graph, personalize={"bob": 1, "erin": 1}).rank
    assert np.array_equal(hg.pagerank(graph, personalize=["bob", "erin"]).rank, alike)
    assert np.array_equal(hg.pagerank(graph, personalize=pd.Series({"bob": 1.0, "erin": 1.0})).rank, alike)
    with pytest.raises(hg.InputError, match="no node 'zed'"):
        hg.pagerank(graph, personalize={"zed": 1})
    with pytest.raises(hg.InputError, match="^personalize:2: .*-1"):
        hg.pagerank(graph, personalize={"bob": -1})


def test_walks_have_a_row_each():
    g = hg.graph(pd.DataFrame({"source": ["ann", "bob", "cid"], "target": ["bob", "cid", "ann"]}))
    found = hg.walk(g, walks=2, length=4, keep="paths", devices="host:2", verify=True)
    table = found.to_pandas()
    assert found.ids is None and table.shape == (6, 5) and found.verified == "yes"
    assert table.iloc[2].tolist() == ["bob", "cid", "ann", "bob", "cid"]
    visits = hg.walk(g, walks=2, length=4, devices="host:2").to_dict()
    assert visits == {"ann": 10, "bob": 10, "cid": 10}


def test_samples_are_arrays_a_hop(rmat):
    found = hg.sample(rmat, [9, 3, 5], fanouts=[4, 2], devices="host:2", verify=True)
    assert found.verified == "yes" and found.columns == ["source", "hop1", "hop2"]
    assert found.source.tolist() == [3, 5, 9] and found.hop1.shape == (3, 4) and found.hop2.shape == (3, 8)
    rows = rmat.to_scipy().tolil().rows
    for source, near, far in zip(found.source, found.hop1, found.hop2.reshape(3, 4, 2)):
        assert set(near) - {-1} <= set(rows[source])
        for node, places in zip(near, far):
            assert (places == -1).all() if node < 0 else set(places) - {-1} <= set(rows[node])
    table = found.to_pandas()
    named_ones = [None if node < 0 else node for node in found.hop2[:, 7].tolist()]
    assert table.shape == (3, 13) and table["hop2.7"].tolist() == named_ones
    assert np.array_equal(hg.sample(rmat, [9, 3, 5], fanouts="4,2").hop2, found.hop2)
    names, _ = named()
    with pytest.raises(hg.InputError, match="--fanouts 4,0"):
        hg.sample(names, fanouts=(4, 0))


def test_matrices_have_a_row_a_source_and_a_column_a_target(rmat):
    sources, targets = [3, 5], [1, 2, 9, 3]
    right = cs.dijkstra(rmat.to_scipy(), indices=sources)[:, sorted(targets)]
    found = hg.distances(rmat, sources, targets=targets, devices="host:2", verify=True)
    assert found.verified == "yes" and found.distance.dtype == np.float32
    assert np.array_equal(found.distance, right.astype(np.float32))
    assert found.source.tolist() == sources and found.target.tolist() == sorted(targets)
    table = found.to_pandas()
    assert table.shape == (2, 4) and table.loc[5, 9] == found.to_dict()[5][9] == found.distance[1, 3]
    hops = hg.hops(rmat, sources, targets=targets, dtype="u8", devices="host:2", verify=True)
    arcs = cs.dijkstra(rmat.to_scipy(), indices=sources, unweighted=True)[:, sorted(targets)]
    assert hops.distance.dtype == np.uint8
    assert np.array_equal(hops.distance, np.where(np.isinf(arcs), 255, arcs))
    with pytest.raises(ValueError, match="a matrix has no ranking"):
        hops.top()


def test_a_matrix_may_go_to_a_file(rmat, tmp_path):
    path = tmp_path / "hops.npy"
    found = hg.hops(rmat, into=path, devices="host:2")
    assert np.array_equal(np.load(path), found.distance) and found.distance.shape == (rmat.nodes, rmat.nodes)
    with pytest.raises(hg.InputError, match="end its name in .npy"):
        hg.hops(rmat, into=tmp_path / "hops.csv")


def test_pairs_may_be_a_list(tmp_path):
    path = tmp_path / "named.csv"
    path.write_text('source,target\n"a b",c\nc,"a b"\n"d,e",c\nc,"d,e"\n')
    native, named = hg.load(path), hg.Graph.from_arcs(["a b", "c", "d,e", "c"], ["c", "a b", "c", "d,e"])
    for graph in (native, named):
        found = hg.similar(graph, pairs=[("a b", "d,e"), ("c", "a b")])
        assert found.named("node").tolist() == ["a b", "c"] and found.value.tolist() == [1, 0]
    counted = hg.Graph.from_arcs([0, 1, 2, 1], [1, 0, 1, 2])
    assert hg.similar(counted, pairs=np.array([[0, 2], [1, 0]])).value.tolist() == [1, 0]
    for pairs, words in (([0, 2], "pairs is no file"), (["ab"], "pairs is no file"), ([], "names no pair"), ([(0, 9)], "9")):
        with pytest.raises(hg.InputError, match=words):
            hg.similar(counted, pairs=pairs)


def test_places_may_be_a_dict():
    graph = hg.Graph.from_arcs(["a", "b", "c"], ["b", "c", "d"], directed=False)
    found = hg.geo(graph, labels={"a": (48.0, 2.0), "c": (48.0, 2.0)}, verify=True)
    assert found.to_pandas().loc["b", "lat"] == pytest.approx(48) and found.verified.startswith(("yes", "partly"))
    with pytest.raises(hg.InputError, match="lat"):
        hg.geo(graph, labels={"a": (480.0, 2.0)})


def test_the_top_of_a_column():
    graph, names = named()
    found = hg.bfs(graph, "alice")
    assert found.top(2) == [("erin", 4), ("dave", 3)]
    assert found.top(2, smallest=True) == [("alice", 0), ("bob", 1)]
    assert found.top(0) == [] and len(found.top(99)) == 5
    star = hg.load("star:6")
    assert [node for node, _ in hg.bfs(star, 0).top(3)] == [1, 2, 3], "equal ones go by node"


def test_numbers_of_files_are_their_own(tmp_path):
    table = tmp_path / "arcs.csv"
    table.write_text("100,200\n200,300\n")
    graph = hg.load(table)
    assert graph.ids.tolist() == [100, 200, 300]
    assert hg.bfs(graph, 100, target=300).paths == {300: [100, 200, 300]}
    with pytest.raises(hg.InputError, match="no node 0"):
        hg.bfs(graph, 0)


WRONG = [
    (lambda g: hg.sssp(g, "zed"), hg.InputError, "there is no node 'zed'"),
    (lambda g: hg.vn(g, []), hg.InputError, "seeds is empty"),
    (lambda g: hg.vn(g), hg.InputError, "seeds"),
    (lambda g: hg.pagerank(g, damping=3), hg.InputError, "damping 3"),
    (lambda g: hg.pagerank(g, dampin=0.5), TypeError, "did you mean damping"),
    (lambda g: hg.pagerank(g, damping="much"), hg.InputError, "damping"),
    (lambda g: hg.pagerank(g, devices="cuda:99"), hg.MachineError, "cuda:99"),
    (lambda g: hg.pagerank(g, devices="tpu"), hg.InputError, "tpu"),
    (lambda g: hg.pagerank(g, personalize="/no/such/file"), hg.InputError, "/no/such/file"),
    (lambda g: hg.bfs(g, 2**70), hg.InputError, "no node"),
    (lambda g: hg.bfs(g, [1]), hg.InputError, "no node"),
    (lambda g: hg.bfs(g, np.inf), hg.InputError, "no node"),
    (lambda g: hg.pagerank(g, damping=np.nan), hg.InputError, "damping is not a number"),
    (lambda g: hg.filter(elements=0), hg.InputError, "elements"),
    (lambda g: hg.pagerank(), TypeError, "graph"),
    (lambda g: hg.pagerank(7), hg.InputError, "int is nothing"),
    (lambda g: hg.nothing, AttributeError, "the workloads are vn, sssp"),
    (lambda g: hg.bfs(g).rank, AttributeError, "it has level"),
    (lambda g: hg.bfs(g)["rank"], KeyError, "there are level"),
]


@pytest.mark.parametrize("call, kind, words", WRONG, ids=[words for _, _, words in WRONG])
def test_misuse_is_one_exception(rmat, call, kind, words):
    with pytest.raises(kind, match=words) as told:
        call(rmat)
    assert "\n" not in str(told.value)


def test_help_is_enough():
    for name in WORKLOADS:
        function = getattr(hg, name)
        text = inspect.getdoc(function)
        for parameter in inspect.signature(function).parameters:
            assert f"{parameter} :" in text, (name, parameter)
        assert "--" not in text.replace("---", ""), name
    for public in (hg.Graph, hg.Result):
        for name, member in vars(public).items():
            assert name.startswith("_") or inspect.getdoc(member), (public, name)


def test_stubs_say_what_there_is():
    """`hivegraph/__init__.pyi` is written by `python -m hivegraph._stubs`."""
    from hivegraph import _stubs

    path = Path(hg.__file__).with_name("__init__.pyi")
    assert path.read_text() == _stubs.text(), "run python -m hivegraph._stubs"


def test_the_doctor_looks(capsys):
    hg.doctor()
    assert "host" in capsys.readouterr().out
