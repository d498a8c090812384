"""What NetworkX asks of the backend before it imports it."""

_FUNCTION = "`weight` names an attribute"
_TIES = f"{_FUNCTION}; of several shortest paths it may return another than NetworkX"
_ABOVE = f"{_FUNCTION}, above 0 on every edge"
_UNSORTED = "without `sort_neighbors`"
_FOREST = "`algorithm` is kruskal; the edges are those of NetworkX"
_NO_LOOPS = "graphs without loops"
_NO_E = f"without `e` and `usebounds`; {_FUNCTION}"

# The functions that are served, and their limits. Weights are always such that float32 holds them exactly, finite and 0 or more; where
# they are not, NetworkX does the work.
FUNCTIONS = {
    "single_source_shortest_path_length": "",
    "single_target_shortest_path_length": "",
    "all_pairs_shortest_path_length": "",
    "single_source_shortest_path": "",
    "single_target_shortest_path": "",
    "all_pairs_shortest_path": "",
    "bidirectional_shortest_path": "of several shortest paths it may return another than NetworkX",
    "has_path": "",
    "bfs_edges": _UNSORTED,
    "bfs_tree": _UNSORTED,
    "bfs_predecessors": _UNSORTED,
    "bfs_successors": _UNSORTED,
    "bfs_layers": "",
    "descendants_at_distance": "",
    "descendants": "",
    "ancestors": "",
    "multi_source_dijkstra": _TIES,
    "multi_source_dijkstra_path": _TIES,
    "multi_source_dijkstra_path_length": _FUNCTION,
    "single_source_dijkstra": _TIES,
    "single_source_dijkstra_path": _TIES,
    "single_source_dijkstra_path_length": _FUNCTION,
    "dijkstra_path": _TIES,
    "dijkstra_path_length": _FUNCTION,
    "bidirectional_dijkstra": _FUNCTION,
    "single_source_bellman_ford": _TIES,
    "single_source_bellman_ford_path": _TIES,
    "single_source_bellman_ford_path_length": _FUNCTION,
    "bellman_ford_path": _TIES,
    "bellman_ford_path_length": _FUNCTION,
    "all_pairs_dijkstra": _TIES,
    "all_pairs_dijkstra_path": _TIES,
    "all_pairs_dijkstra_path_length": _FUNCTION,
    "all_pairs_bellman_ford_path": _TIES,
    "all_pairs_bellman_ford_path_length": _FUNCTION,
    "connected_components": "",
    "number_connected_components": "",
    "is_connected": "",
    "node_connected_component": "",
    "weakly_connected_components": "",
    "number_weakly_connected_components": "",
    "is_weakly_connected": "",
    "strongly_connected_components": "",
    "number_strongly_connected_components": "",
    "is_strongly_connected": "",
    "pagerank": "ranks are float32: `tol` times the number of nodes is at least 1e-6; `alpha` from 0 to 1; no `nstart`, no `dangling`",
    "betweenness_centrality": _ABOVE,
    "betweenness_centrality_subset": f"{_ABOVE}; lists of nodes of the graph, no source twice",
    "closeness_centrality": "`distance` names an attribute",
    "harmonic_centrality": "`distance` names an attribute",
    "eccentricity": f"without `sp`; {_FUNCTION}",
    "diameter": _NO_E,
    "radius": _NO_E,
    "periphery": f"{_NO_E} of whole numbers",
    "center": f"{_NO_E} of whole numbers; NetworkX does trees",
    "katz_centrality": "`beta` is a number, `alpha` above 0; no `nstart`, no `weight`; `tol` is a share of each value, `max_iter` at least 100",
    "degree_centrality": "",
    "in_degree_centrality": "",
    "out_degree_centrality": "",
    "minimum_spanning_edges": f"{_FOREST}, in its order; weights may be any float64 where `data` is True",
    "minimum_spanning_tree": f"{_FOREST}; weights may be any float64",
    "core_number": "",
    "k_core": "",
    "k_shell": "",
    "k_crust": "",
    "k_corona": "",
    "triangles": "",
    "clustering": "undirected, without `weight`",
    "average_clustering": "undirected, without `weight`",
    "transitivity": "undirected graphs",
    "jaccard_coefficient": _NO_LOOPS,
    "adamic_adar_index": _NO_LOOPS,
}


def info():
    """The entry of NetworkX's table of backends."""
    return {
        "backend_name": "hivegraph",
        "project": "hivegraph",
        "package": "hivegraph.nx",
        "short_summary": "Graph analytics on GPUs and CPUs",
        "default_config": {"devices": "auto"},
        "functions": {name: {"additional_docs": limit} if limit else {} for name, limit in FUNCTIONS.items()},
    }
