//! Arrays of answers that stay on the GPU of the first replica, for other libraries to go on with: [`RunOptions::leave`].
//!
//! Values lie there in the order of the graph's nodes, as those of answers on the host. Whoever holds an array owns it: no later
//! run writes it, and its memory stays as long as somebody holds it, whatever becomes of the fleet. On the host answers are as
//! always.
//!
//! [`RunOptions::leave`]: super::RunOptions::leave

use crate::collective::{Dtype, Element, Replicated};
use crate::device::kernels::left::{OrderArgs, ReachArgs, THREADS};
use crate::device::{DeviceBuffer, Launch, source};
use crate::error::{Error, Result};
use crate::fleet::Replica;
use crate::layout::{DeviceWeighted, ToNodes};
use std::ops::Range;
use std::sync::Arc;

/// An array on a GPU, which nothing writes any more. A clone is the same array; its memory is given back with the last of them.
#[derive(Debug, Clone)]
pub struct LeftArray {
    words: Arc<Words>,
    dtype: Dtype,
    range: Range<usize>,
    gpu: u32,
}

/// Words of four bytes or of eight.
#[derive(Debug)]
enum Words {
    Four(DeviceBuffer<u32>),
    Eight(DeviceBuffer<u64>),
}

/// A copy of a [`LeftArray`] in host memory, as the words that its elements are.
#[derive(Debug, Clone)]
pub enum HostWords {
    /// Of four bytes.
    Four(Vec<u32>),
    /// Of eight bytes.
    Eight(Vec<u64>),
}

/// A column of an answer that was left on a GPU.
#[derive(Debug, Clone)]
pub struct LeftColumn {
    /// As the column of an answer on the host.
    pub name: String,
    /// What its values mean.
    pub means: LeftMeaning,
    /// Elements of a row, where it has rows.
    pub width: Option<usize>,
    /// The values.
    pub array: LeftArray,
}

/// What values mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftMeaning {
    /// Numbers.
    Number,
    /// Counts, of which `u32::MAX` is none.
    Count,
    /// Nodes, of which `u32::MAX` is none.
    Node,
}

impl LeftColumn {
    /// A column of one value a row.
    pub(crate) fn new(name: impl Into<String>, means: LeftMeaning, array: LeftArray) -> LeftColumn {
        LeftColumn { name: name.into(), means, width: None, array }
    }
}

impl LeftArray {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// The type of its elements.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The number of its GPU, as the driver counts those that this process sees.
    pub fn gpu(&self) -> u32 {
        self.gpu
    }

    /// The device address of its first element.
    pub fn address(&self) -> u64 {
        let first = match &*self.words {
            Words::Four(buffer) => buffer.pointer(),
            Words::Eight(buffer) => buffer.pointer(),
        };
        first + (self.range.start * self.dtype.size()) as u64
    }

    /// A copy of its own on the same GPU.
    ///
    /// # Errors
    /// [`Error::Machine`] where there is no room for it.
    pub fn copied(&self) -> Result<LeftArray> {
        let (range, words) = (self.range.clone(), &*self.words);
        let words = match words {
            Words::Four(buffer) => Words::Four(buffer.copy_of_finished(range)?),
            Words::Eight(buffer) => Words::Eight(buffer.copy_of_finished(range)?),
        };
        Ok(LeftArray { words: Arc::new(words), range: 0..self.len(), ..*self })
    }

    /// A copy in host memory.
    ///
    /// # Errors
    /// [`Error::Machine`] where there is no room for it, [`Error::Device`] where the GPU has failed since.
    pub fn to_host(&self) -> Result<HostWords> {
        let range = self.range.clone();
        Ok(match &*self.words {
            Words::Four(buffer) => HostWords::Four(buffer.part_of_finished(range)?),
            Words::Eight(buffer) => HostWords::Eight(buffer.part_of_finished(range)?),
        })
    }

    /// The same where it is wanted.
    pub(crate) fn to_host_where(&self, wanted: bool) -> Result<Option<HostWords>> {
        wanted.then(|| self.to_host()).transpose()
    }

    /// The array of this replica, which is on a GPU. Waits for what writes it.
    pub(crate) fn of<T: Element>(r: &Replica, array: Replicated<T>) -> Result<LeftArray> {
        let device = r.device()?;
        device.wait()?;
        let length = array.len();
        let elsewhere = || Error::machine("an array of a host is left on a GPU; this is a bug");
        let buffer = array.into_buffer().ok_or_else(elsewhere)?;
        let words = match buffer.into_words() {
            Ok(eight) => Words::Eight(eight),
            Err(four) => Words::Four(four),
        };
        let (words, dtype, gpu) = (Arc::new(words), T::DTYPE, device.ordinal);
        Ok(LeftArray { words, dtype, range: 0..length, gpu })
    }

    /// These of its elements.
    pub(crate) fn part(&self, range: Range<usize>) -> LeftArray {
        let first = self.range.start;
        LeftArray { range: first + range.start..first + range.end, ..self.clone() }
    }
}

/// What labels have whose values are not in an array by label.
pub(crate) enum Rest {
    /// All of them this word.
    Word(u32),
    /// Each its own.
    Words(Vec<u32>),
}

impl ToNodes<'_> {
    /// An array by label of this replica, which is on a GPU, by node; labels behind its end have the `rest`, which is for arrays of
    /// four bytes an element. Waits.
    pub fn leave<T: Element>(
        &self,
        r: &mut Replica,
        by_label: &Replicated<T>,
        rest: Rest,
    ) -> Result<LeftArray> {
        let (nodes, dtype) = (self.nodes, T::DTYPE);
        let (eight, known) = (dtype.size() == 8, by_label.len().min(nodes));
        let device = r.device_mut()?;
        let kernel = if eight { "left_order_8" } else { "left_order_4" };
        let order = device.function(source("left.cu"), &wide(false), kernel)?;
        let labels = self.on_device.address(device, self.label_of)?;
        let words = match eight {
            true => Words::Eight(device.alloc("values left on the GPU", nodes)?),
            false => Words::Four(device.alloc("values left on the GPU", nodes)?),
        };
        let left =
            LeftArray { words: Arc::new(words), dtype, range: 0..nodes, gpu: device.ordinal };
        let (each, other) = match rest {
            Rest::Word(word) => (None, word),
            Rest::Words(words) => {
                let each = device.alloc::<u32>("values of other labels", words.len())?;
                each.upload(&words)?;
                (Some(each), 0)
            }
        };
        let args = OrderArgs {
            label_of: labels,
            values: by_label.on_device()?,
            rest: each.as_ref().map_or(0, DeviceBuffer::pointer),
            to: left.address(),
            nodes: nodes as u64,
            known: known as u64,
            other,
            unused: 0,
        };
        device.launch(order, per_item(nodes), &args)?;
        device.wait()?;
        Ok(left)
    }
}

/// What is known of distances that stay on a GPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reach {
    pub nodes: u64,
    /// Out of these, as they are laid out: without those from a node to itself.
    pub arcs: u64,
    /// The largest of a node that is reached.
    pub furthest: f64,
    /// Nodes at 2^24 or further.
    pub beyond: u64,
}

impl Reach {
    /// Of distances by label in f32 or f64 on this replica's GPU. Waits.
    pub fn of<T: Element>(
        r: &mut Replica,
        distances: &Replicated<T>,
        graph: &DeviceWeighted,
        whole: f64,
    ) -> Result<Reach> {
        let (nodes, device, eight) = (distances.len(), r.device_mut()?, T::DTYPE.size() == 8);
        let kernel = if eight { "left_reach_8" } else { "left_reach_4" };
        let reach = device.function(source("left.cu"), &wide(graph.wide), kernel)?;
        let found = device.alloc::<u64>("counts of distances", 4)?;
        let args = ReachArgs {
            distances: distances.on_device()?,
            offsets: graph.out.offsets.pointer(),
            found: found.pointer(),
            nodes: nodes as u64,
            active: graph.active.into(),
            whole,
        };
        let blocks = per_item(nodes).blocks.min(device.filling());
        device.launch(reach, Launch::of(blocks, THREADS), &args)?;
        device.wait()?;
        let found = found.to_vec()?;
        let furthest = match eight {
            true => f64::from_bits(found[2]),
            false => f32::from_bits(found[2] as u32).into(),
        };
        Ok(Reach { nodes: found[0], arcs: found[1], furthest, beyond: found[3] })
    }
}

/// What kernels over offsets of 32 bits or 64 are compiled with.
fn wide(wide: bool) -> [String; 1] {
    [format!("-DHIVE_WIDE={}", u32::from(wide))]
}

/// A thread an item.
fn per_item(items: usize) -> Launch {
    Launch::of(items.div_ceil(THREADS as usize).clamp(1, 1 << 16) as u32, THREADS)
}
