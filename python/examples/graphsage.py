"""GraphSAGE with mean aggregation (Hamilton, Ying, Leskovec, NIPS 2017), trained on neighbour samples of hivegraph.

A graph of two communities is drawn, and each node has features that say little of its own. Two layers learn to tell the communities
apart, since the means over neighbours say more. Samples stay on the device: PyTorch takes them by DLPack, on a GPU without a copy.
Without PyTorch, or with --numpy, the same model is trained in NumPy.

    python graphsage.py [--devices cuda:0] [--steps 60] [--numpy]
"""

import argparse

import numpy as np

import hivegraph as hg

try:
    import torch
except ImportError:
    torch = None

FANOUTS = [8, 4]


def two_communities(nodes=600, degree=12, features=8, seed=1):
    """A graph, `[n, features]` features, `[n]` communities. Most arcs stay in their community."""
    rng = np.random.default_rng(seed)
    community = rng.integers(0, 2, nodes)
    u, v = rng.integers(0, nodes, (2, 4 * nodes * degree))
    kept = rng.random(len(u)) < np.where(community[u] == community[v], 0.2, 0.05)
    graph = hg.Graph.from_arcs(u[kept], v[kept], nodes=nodes, directed=False)
    x = rng.normal(size=(nodes, features)).astype(np.float32)
    x[:, 0] += community - 0.5
    return graph, x, community


def weights(features, hidden=16, classes=2, seed=1):
    """Of each layer: what the node itself and what the mean of its neighbours is multiplied by."""
    rng = np.random.default_rng(seed)
    shapes = [(features, hidden), (features, hidden), (hidden, classes), (hidden, classes)]
    return [(rng.normal(size=shape) / np.sqrt(shape[0])).astype(np.float32) for shape in shapes]


def mean(values, there):
    """`[.., f]` the means of `[.., k, f]` values, over the places in which a neighbour is."""
    return (values * there[..., None]).sum(-2) / there.sum(-1).clip(1)[..., None]


def forward(w, x, source, hop1, hop2):
    """`[sources, classes]` scores, and what the way back needs. Of arrays of NumPy, or of PyTorch."""
    many, first = hop1.shape
    hop2 = hop2.reshape(many, first, -1)
    # Empty places hold -1: they read node 0 and count nothing.
    there1, there2 = hop1 >= 0, hop2 >= 0
    x0, x1, x2 = x[source], x[hop1 * there1], x[hop2 * there2]
    mean0, mean1 = mean(x1, there1), mean(x2, there2)
    z0, z1 = x0 @ w[0] + mean0 @ w[1], x1 @ w[0] + mean1 @ w[1]
    h0, h1 = z0 * (z0 > 0), z1 * (z1 > 0)
    means = mean(h1, there1)
    return h0 @ w[2] + means @ w[3], (there1, x0, x1, mean0, mean1, z0, z1, h0, means)


def gradients(w, scores, known, wanted):
    """The gradients of the cross entropy by all weights, in NumPy."""
    there1, x0, x1, mean0, mean1, z0, z1, h0, means = known
    likely = np.exp(scores - scores.max(1, keepdims=True))
    likely /= likely.sum(1, keepdims=True)
    likely[np.arange(len(wanted)), wanted] -= 1
    out = likely / len(wanted)
    back0 = (out @ w[2].T) * (z0 > 0)
    share = there1 / there1.sum(1).clip(1)[:, None]
    back1 = (out @ w[3].T)[:, None, :] * share[..., None] * (z1 > 0)
    own = x0.T @ back0 + np.einsum("bkf,bkh->fh", x1, back1)
    others = mean0.T @ back0 + np.einsum("bkf,bkh->fh", mean1, back1)
    return [own, others, h0.T @ out, means.T @ out]


def train(graph, x, community, devices=None, steps=60, batch=128, rate=0.5, use_torch=torch is not None):
    """The share of nodes whose community the trained model says."""
    rng = np.random.default_rng(3)
    train_on = rng.permutation(graph.nodes)[: graph.nodes // 2]
    w = weights(x.shape[1])

    def samples(nodes, seed):
        found = hg.sample(graph, sources=nodes.tolist(), fanouts=FANOUTS, seed=seed, devices=devices, results="device")
        columns = [found[name] for name in ("source", "hop1", "hop2")]
        return [torch.from_dlpack(one).long() for one in columns] if use_torch else [np.from_dlpack(one) for one in columns]

    if not use_torch:
        for step in range(steps):
            blocks = samples(rng.choice(train_on, batch, replace=False), step)
            scores, known = forward(w, x, *blocks)
            for one, by in zip(w, gradients(w, scores, known, community[blocks[0]])):
                one -= rate * by
        blocks = samples(np.arange(graph.nodes), steps)
        return float((forward(w, x, *blocks)[0].argmax(1) == community[blocks[0]]).mean())

    place = samples(train_on[:1], 0)[0].device
    x, community = torch.as_tensor(x, device=place), torch.as_tensor(community, device=place)
    w = [torch.tensor(one, device=place, requires_grad=True) for one in w]
    steepest = torch.optim.SGD(w, lr=rate)
    for step in range(steps):
        blocks = samples(rng.choice(train_on, batch, replace=False), step)
        loss = torch.nn.functional.cross_entropy(forward(w, x, *blocks)[0], community[blocks[0]])
        steepest.zero_grad()
        loss.backward()
        steepest.step()
    blocks = samples(np.arange(graph.nodes), steps)
    return float((forward(w, x, *blocks)[0].argmax(1) == community[blocks[0]]).float().mean())


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--devices", help="where hivegraph runs, as in cuda:0 [default: all GPUs, or else the CPU]")
    options.add_argument("--steps", type=int, default=60)
    options.add_argument("--numpy", action="store_true", help="train in NumPy although PyTorch is there; on the CPU")
    given = options.parse_args()
    use_torch = torch is not None and not given.numpy
    devices = given.devices or (None if use_torch else "host")
    right = train(*two_communities(), devices=devices, steps=given.steps, use_torch=use_torch)
    print(f"{'PyTorch' if use_torch else 'NumPy'}: {100 * right:.1f} % of the nodes are put into their community")
