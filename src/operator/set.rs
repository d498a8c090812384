//! Small things that programs do with whole arrays: filling them, counting a set.

use super::args::Args;
use super::lambda::Lambda;
use super::over::Over;
use crate::collective::{Dtype, Element, Frontier, MergeOp, Replicated};
use crate::error::Result;
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use std::sync::LazyLock;

/// Lambdas that fill elements of one, four and eight bytes.
static FILLS: LazyLock<[Lambda<()>; 3]> = LazyLock::new(|| {
    let text = "x[i] = value;";
    [
        Lambda::new("fill").writes::<u8>("x").scalar::<u8>("value").cuda(text),
        Lambda::new("fill").writes::<u32>("x").scalar::<u32>("value").cuda(text),
        Lambda::new("fill").writes::<u64>("x").scalar::<u64>("value").cuda(text),
    ]
});

pub(super) static COUNT: LazyLock<Lambda<u64>> = LazyLock::new(|| {
    let lambda = Lambda::new("count").reads::<u64>("words").cuda("return __popcll(words[i]);");
    lambda.host(|a| {
        let words = a.reads::<u64>("words");
        Box::new(move |i| u64::from(words.at(i).count_ones()))
    })
});

impl Replica {
    /// A new array of zeros with an element a node of `graph`, whose owners are the graph's chunks: what operators
    /// over nodes write is what a Gather merge moves.
    pub fn node_array<T: Element>(
        &mut self,
        label: &'static str,
        graph: &Resident,
        op: MergeOp,
    ) -> Result<Replicated<T>> {
        let array = self.replicated(label, graph.graph().nodes(), op)?;
        Ok(array.owned_by(graph.chunks()))
    }

    /// A new array of zeros with an element an arc of `graph`, in the order of the rows, whose owners are those of the arcs'
    /// sources: what a lambda of arcs writes at `e` is what a Gather merge moves.
    pub fn arc_array<T: Element>(
        &mut self,
        label: &'static str,
        graph: &Resident,
        op: MergeOp,
    ) -> Result<Replicated<T>> {
        let array = self.replicated(label, graph.graph().arcs() as usize, op)?;
        Ok(array.owned_by(&graph.arc_chunks()))
    }

    /// Sets every element of the replica's copy to `value`.
    pub fn fill<T: Element>(
        &mut self,
        label: &'static str,
        array: &mut Replicated<T>,
        value: T,
    ) -> Result<()> {
        let length = array.len();
        self.owner().check(array.label(), array.owner())?;
        if let Backend::Host(_) = &self.backend {
            array.host_mut().unwrap_or_default().fill(value);
            return Ok(());
        }
        let (at, dtype) = match size_of::<T>() {
            1 => (0, Dtype::U8),
            4 => (1, Dtype::U32),
            _ => (2, Dtype::U64),
        };
        let args = Args::new().bits("x", array, dtype).scalar_bits("value", value, dtype);
        self.for_all(label, Over::elements(length).whole(), &FILLS[at], args)
    }

    /// Empties the replica's copy of a set.
    pub fn clear(&mut self, label: &'static str, set: &mut Frontier) -> Result<()> {
        self.fill(label, set.words_mut(), 0)
    }

    /// The number of nodes in the replica's copy of a set. It waits.
    pub fn count(&mut self, label: &'static str, set: &Frontier) -> Result<u64> {
        let words = Over::elements(set.words().len()).whole();
        self.reduce(label, words, &COUNT, Args::new().reads("words", set.words()), MergeOp::Sum)
    }
}
