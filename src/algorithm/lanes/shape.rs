//! How many sources are searched from together.

use super::arrays;
use crate::algorithm::batches::most_of_batch;
use crate::choice::Choice;
use crate::fleet::Fleet;
use crate::graph::Graph;
use crate::layout::memory::{self, DeviceArray, GraphShape, total};

/// Most sources of a batch: their bits are 128 bytes a node, which a GPU reads at once.
pub(in crate::algorithm) const MOST: usize = 1024;
/// Sources of the narrowest batch, bits of a word.
const LEAST: usize = 64;

/// The sources of a batch, and the words of a node that hold a bit for each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::algorithm) struct LaneShape {
    /// Sources of a batch.
    pub lanes: usize,
    /// log2 of the number of words.
    pub shift: u32,
}

impl LaneShape {
    /// For so many sources of each of `parts` replicas, in batches of the same length; at most `asked`, and as many as there is memory for
    /// with other arrays, `beside`, of so many lanes.
    pub fn new(
        (fleet, graph): (&Fleet, &Graph),
        (sources, parts, asked): (usize, usize, Choice<u32>),
        beside: impl Fn(usize) -> Vec<DeviceArray>,
    ) -> LaneShape {
        let most = most_of_batch(asked, MOST);
        let (nodes, arcs) = (graph.nodes() as u64, graph.arcs());
        let shape = GraphShape::at_most(nodes, arcs, graph.is_symmetric(), None);
        let room = memory::half_left(fleet.info(), total(&memory::general(&shape)));
        let fits = |lanes: &LaneShape| {
            total(&arrays(&shape, sources, *lanes, 1)) + total(&beside(lanes.lanes)) <= room
        };
        let own = sources.div_ceil(parts).max(1);
        let lanes = own.div_ceil(own.div_ceil(most));
        let narrower = |lanes: &usize| (*lanes > LEAST).then(|| lanes.div_ceil(2));
        let all = std::iter::successors(Some(lanes), narrower).map(LaneShape::of);
        all.into_iter().find(fits).unwrap_or(LaneShape::of(lanes.min(LEAST)))
    }

    fn of(lanes: usize) -> LaneShape {
        let words = lanes.div_ceil(LEAST).next_power_of_two();
        LaneShape { lanes, shift: words.trailing_zeros() }
    }

    /// The narrowest for so many sources, which an estimate has: with less memory there are fewer lanes.
    pub fn least(sources: usize) -> LaneShape {
        LaneShape::of(sources.clamp(1, LEAST))
    }

    /// As many at a time, where others search: without their bits.
    pub fn without_bits(self) -> LaneShape {
        LaneShape { shift: 0, ..self }
    }

    /// Words of a node.
    pub fn words(self) -> usize {
        1 << self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::FleetConfig;
    use crate::generate;

    #[test]
    fn batches_are_alike_and_fit() {
        let devices = "host:2".parse().unwrap();
        let fleet = Fleet::open(FleetConfig { devices, ..FleetConfig::default() }).unwrap();
        let graph = generate::generate("grid:9x9").unwrap();
        let shape = |sources, parts, asked: &str| {
            let asked = asked.parse().unwrap();
            let found = LaneShape::new((&fleet, &graph), (sources, parts, asked), |_| Vec::new());
            (found.lanes, found.words())
        };
        assert_eq!(shape(0, 2, "auto"), (1, 1));
        assert_eq!(shape(64, 1, "auto"), (64, 1));
        assert_eq!(shape(65, 1, "auto"), (65, 2));
        assert_eq!(shape(1024, 1, "auto"), (1024, 16));
        assert_eq!(shape(1024, 2, "auto"), (512, 8));
        assert_eq!(shape(1026, 1, "auto"), (513, 16));
        assert_eq!(shape(100, 1, "7"), (7, 1));
        assert_eq!(shape(4000, 1, "4000"), (1000, 16));
        let large = |lanes: usize| vec![DeviceArray::new::<u8>("rows", lanes << 50)];
        let narrow = LaneShape::new((&fleet, &graph), (1024, 1, Choice::Auto), large);
        assert_eq!((narrow.lanes, narrow.words()), (64, 1));
    }
}
