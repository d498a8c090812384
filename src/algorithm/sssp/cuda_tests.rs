//! What shortest paths take on a GPU.

use super::arrays;
use crate::layout::memory::{GraphShape, placed, total, weighted};
use crate::layout::{Layout, Placement};

#[test]
fn what_a_specification_promises_is_never_less_than_what_its_graph_needs() {
    for spec in ["rmat:11", "uniform:3000", "torus:20x30", "star:3000", "road:12", "geo:3000"] {
        let size = crate::generate::size(spec).unwrap();
        let weights = Some(size.weights.unwrap_or((1, 1)));
        let most = GraphShape::at_most(size.nodes, size.arcs, true, weights);
        let graph = crate::generate::generate(spec).unwrap();
        let real = GraphShape::of_weighted(&graph, Layout::Auto);
        for world in [1, 4] {
            let (most, real) = (arrays(&most, world), arrays(&real, world));
            assert!(total(&most) >= total(&real), "{spec}");
        }
    }
}

#[test]
fn sharded_arcs_are_held_once_and_the_rest_by_every_replica() {
    let shape = GraphShape::at_most(1 << 20, 1 << 26, true, Some((1, 64)));
    let whole = arrays(&shape, 4);
    let arcs = weighted(&shape)[1].bytes + weighted(&shape)[2].bytes;
    let part = total(&placed(whole.clone(), Placement::Sharded, 4));
    assert_eq!(total(&placed(whole.clone(), Placement::Replicated, 4)), total(&whole));
    let saved = total(&whole) - part;
    assert!((arcs / 4 * 3 - (8 << 20)..arcs / 4 * 3).contains(&saved), "{saved} of {arcs}");
}

#[test]
fn directed_graphs_hold_rows_both_ways_and_more_replicas_hold_lists() {
    let shape = GraphShape::at_most(1 << 20, 1 << 24, true, Some((1, 64)));
    let both = GraphShape { symmetric: false, ..shape };
    let bytes = |shape: &GraphShape, world| total(&arrays(shape, world));
    assert_eq!(bytes(&both, 1) - bytes(&shape, 1), total(&weighted(&shape)));
    assert!(bytes(&shape, 4) - bytes(&shape, 1) >= (2 << 20) + (1 << 17));
    // 64 MiB of arcs, 16 of records, 4 of offsets and distances, 16 of workspace: all in 2 MiB grains.
    assert!((104 << 20..120 << 20).contains(&bytes(&shape, 1)), "{}", bytes(&shape, 1));
}
