//! What a replica brings of its distances: values on the host, or an array that stays on its GPU.

use super::plan::Question;
use crate::algorithm::frame::values;
use crate::algorithm::left::{LeftArray, Reach, Rest};
use crate::collective::{Element, Replicated};
use crate::error::Result;
use crate::fleet::Replica;

/// 2^24: f32 holds every whole number up to here, and not the next one.
pub(crate) const WHOLE: f32 = 16_777_216.0;

/// Distances that stay on a GPU, by node, and what is known of them.
pub(super) type LeftDistances = (LeftArray, Reach);

/// Distances of the replica that leads: its values by label, or, where they are to stay on its GPU, an array by node.
pub(super) fn brought<T: Element>(
    r: &mut Replica,
    question: &Question,
    distances: &Replicated<T>,
) -> Result<(Vec<T>, Option<LeftDistances>)> {
    let graph = &question.graph;
    if !question.config.run.leave || distances.device_address().is_none() {
        return Ok((values(r, distances)?, None));
    }
    if !r.leads() {
        return Ok((Vec::new(), None));
    }
    let reach = Reach::of(r, distances, graph.on_device(r.rank())?, WHOLE.into())?;
    let left = graph.order().leave(r, distances, Rest::Word(0))?;
    Ok((Vec::new(), Some((left, reach))))
}
