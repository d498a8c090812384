"""The backend of NetworkX: `nx.pagerank(G, backend="hivegraph")`, or NETWORKX_BACKEND_PRIORITY=hivegraph for all that it serves.

Functions return what those of NetworkX return, with the same errors. `hivegraph.nx.functions()` lists them with their limits.
`nx.config.backends.hivegraph.devices` says where they run, as `devices=` does elsewhere.
"""

from ._convert import Graph, convert
from ._served import SERVED, limits


class _Backend:
    """What NetworkX asks for."""

    def __getattr__(self, name):
        if name not in SERVED:
            raise AttributeError(name)
        return SERVED[name].function

    def __dir__(self):
        return [*SERVED, "can_run", "convert_from_nx", "convert_to_nx", "should_run"]

    @staticmethod
    def convert_from_nx(
        graph,
        edge_attrs=None,
        node_attrs=None,
        preserve_edge_attrs=False,
        preserve_node_attrs=False,
        preserve_graph_attrs=False,
        preserve_all_attrs=False,
        name=None,
        graph_name=None,
    ):
        """A graph of this backend. NotImplementedError where weights would be rounded: NetworkX does the work then."""
        weight, missing = next(iter((edge_attrs or {}).items()), (None, 1))
        if hasattr(graph, "_graph"):
            # A view changes with what it is a view of, and nobody tells: its conversion is not kept.
            graph.__networkx_cache__ = None
        return Graph.of(graph, weight, missing)

    @staticmethod
    def convert_to_nx(result, *, name=None):
        """Graphs of this backend as those of NetworkX; everything else as it is."""
        return result.to_networkx() if isinstance(result, Graph) else result

    @staticmethod
    def can_run(name, args, kwargs):
        """True, or why not."""
        return SERVED[name].runs(args, kwargs) if name in SERVED else f"{name} is not served"

    @staticmethod
    def should_run(name, args, kwargs):
        """True, or why it would not pay: converting a small graph takes longer than NetworkX does."""
        graph = args[0] if args else kwargs.get("G")
        if isinstance(graph, Graph) or _kept(graph):
            return True
        small = hasattr(graph, "number_of_edges") and len(graph) + graph.number_of_edges() < 2_000
        return "the graph is small" if small else True


def _kept(graph):
    """Whether a conversion is kept with a graph."""
    return bool((getattr(graph, "__networkx_cache__", None) or {}).get("backends", {}).get("hivegraph"))


backend = _Backend()


def functions():
    """Names of the functions that are served, and their limits."""
    return limits()


__all__ = ["Graph", "backend", "convert", "functions"]
