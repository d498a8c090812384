//! Small things that programs do with whole arrays: filling them, counting a set.

use super::args::{Args, written_by};
use super::code::THREADS;
use super::lambda::Lambda;
use super::launch::{Operators, blocks, launch_shape};
use super::over::Over;
use crate::collective::{Dtype, Element, Frontier, Marked, MergeOp, Replicated, ZEROS};
use crate::device::kernels::lambda::{BLOCK, LINE};
use crate::device::kernels::sets::{SetArgs, ZeroArgs};
use crate::device::{CudaDevice, DeviceBuffer, Function, KERNELS, LANES};
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use crate::layout::Resident;
use rayon::prelude::*;
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

    /// A new, empty set of nodes below `nodes`.
    ///
    /// # Errors
    /// As [`Replica::replicated`].
    pub fn frontier(&mut self, label: &'static str, nodes: usize, op: MergeOp) -> Result<Frontier> {
        if let Backend::Cuda(_) = &self.backend
            && self.operators().sets.is_none()
        {
            // As a lambda's first use: all replicas make the same sets.
            self.all_quiet(label)?;
            let sets = Sets::load(self.device_mut()?)?;
            self.operators().sets = Some(sets);
            self.all_quiet(label)?;
        }
        self.new_set(label, nodes, op)
    }

    /// Sets every element of the replica's copy to `value`. On a device, zeros in an array that is merged by Sum are written only where
    /// the array may hold something else, as far as that is known.
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
            array.comes_from(filled(value));
            return Ok(());
        }
        let (at, dtype) = match size_of::<T>() {
            1 => (0, Dtype::U8),
            4 => (1, Dtype::U32),
            _ => (2, Dtype::U64),
        };
        let zero = bytemuck::bytes_of(&value).iter().all(|byte| *byte == 0);
        if zero && array.marks().is_some_and(|marks| marks.of() == Marked::Terms) {
            self.zero_terms(label, array)?;
            array.comes_from(filled(value));
            return Ok(());
        }
        let args = Args::new().bits("x", array, dtype).scalar_bits("value", value, dtype);
        self.for_all(label, Over::elements(length).whole(), &FILLS[at], args)?;
        array.comes_from(filled(value));
        Ok(())
    }

    /// Zeroes an array that is summed, or what of it may not be zeros. It is no meeting: what is known of it may differ.
    fn zero_terms<T: Element>(&mut self, label: &'static str, array: &Replicated<T>) -> Result<()> {
        let sets = self.attached::<Operators>().and_then(|held| held.sets.as_ref());
        let (zero, chance) = (sets.map(|sets| sets.zero), self.chance());
        let (Some(marks), Some(buffer)) = (array.marks(), array.device()) else { return Ok(()) };
        self.traced(label, ("fill", ""), array.len() as u64, |r| {
            let device = r.device()?;
            let Some(zero) = zero.filter(|_| marks.are_exact()) else {
                device.zero_first(buffer, usize::MAX)?;
                device.zero_first(marks.bits(), usize::MAX)?;
                let lambdas = &device.lambdas;
                marks.set_exact(lambdas.lane() == 0 && !lambdas.forked());
                return Ok(());
            };
            let (size, words) = (size_of::<T>(), array.address());
            let length = (array.len() * size).div_ceil(8) as u64;
            let block = (BLOCK as usize * size / 8) as u64;
            let args = ZeroArgs { words, marks: marks.pointer(), length, block };
            let most = device.info.multiprocessors * 8;
            let blocks = blocks(marks.words(), u64::from(THREADS / 32), chance).min(most);
            let args: [u64; size_of::<ZeroArgs>() / 8] = bytemuck::cast(args);
            device.launch_lambda(zero, launch_shape(blocks), &[&args])
        })
    }

    /// Empties the replica's copy of a set.
    pub fn clear(&mut self, label: &'static str, set: &mut Frontier) -> Result<()> {
        self.owner().check(set.words().label(), set.words().owner())?;
        if let Some(words) = set.words_mut().host_mut() {
            words.fill(0);
        } else {
            self.traced(label, ("clear", ""), set.nodes() as u64, |r| {
                r.find_marks(label, set)?;
                r.launch_on_set(set, |sets| sets.clear, 0, None)
            })?;
        }
        set.words().comes_from(ZEROS);
        Ok(())
    }

    /// The number of nodes in the replica's copy of a set. It waits.
    pub fn count(&mut self, label: &'static str, set: &Frontier) -> Result<u64> {
        self.owner().check(set.words().label(), set.words().owner())?;
        if let Some(words) = set.words().host() {
            return Ok(words.par_iter().map(|word| u64::from(word.count_ones())).sum());
        }
        let (lane, result) = (self.device()?.lambdas.lane(), &self.device()?.lambdas.result);
        let to = result.pointer() + 8 * lane as u64;
        self.count_to(label, set, to, None)?;
        self.settle()?;
        Ok(self.device()?.lambdas.result.get(lane))
    }

    /// Queues writing the number of nodes in a set on a device to the word at `to`, and that of the arcs out of them, if there are
    /// `rows`, to the next.
    pub(super) fn count_to(
        &mut self,
        label: &'static str,
        set: &Frontier,
        to: u64,
        rows: Option<(&Resident, bool)>,
    ) -> Result<()> {
        let kernel = match rows {
            Some(_) => |sets: &Sets| sets.arcs,
            None => |sets: &Sets| sets.count,
        };
        self.traced(label, ("count", ""), set.nodes() as u64, |r| {
            r.find_marks(label, set)?;
            r.launch_on_set(set, kernel, to, rows)
        })
    }

    /// Refuses a set on a device whose words a program has exchanged for another array.
    pub(super) fn check_marks(&self, label: &'static str, set: &Frontier) -> Result<()> {
        let words = set.words();
        if words.device().is_none()
            || words.marks().is_some_and(|marks| marks.of() == Marked::Lines)
        {
            return Ok(());
        }
        let (name, nodes) = (words.label(), set.nodes());
        let what = format!(
            "set {name}: its words are another array's; make it with r.frontier({name:?}, {nodes}, ..)"
        );
        Err(self.owner().refuses(label, what))
    }

    /// Sees to it that the marks of a set on a device tell where it may hold nodes.
    pub(super) fn find_marks(&mut self, label: &'static str, set: &Frontier) -> Result<()> {
        self.check_marks(label, set)?;
        let Some(marks) = set.words().marks().filter(|marks| !marks.are_exact()) else {
            return Ok(());
        };
        self.launch_on_set(set, |sets| sets.marks, 0, None)?;
        // Streams that do not wait for this one look for themselves.
        let lambdas = &self.device()?.lambdas;
        marks.set_exact(lambdas.lane() == 0 && !lambdas.forked());
        Ok(())
    }

    fn launch_on_set(
        &mut self,
        set: &Frontier,
        kernel: fn(&Sets) -> Function,
        to: u64,
        rows: Option<(&Resident, bool)>,
    ) -> Result<()> {
        let (words, chance, rank) = (set.words(), self.chance(), self.rank());
        // A line a lane, or, where rows are looked at, a warp.
        let per_block = if rows.is_some() { THREADS / 32 } else { THREADS };
        let wide = rows.is_some_and(|(graph, _)| graph.wide());
        let rows =
            rows.and_then(|(graph, backward)| graph.device_rows(rank)[usize::from(backward)]);
        let offsets = rows.map_or(0, |rows| rows.offsets.pointer());
        let sets = self.attached::<Operators>().and_then(|held| held.sets.as_ref());
        let (Some(sets), Some(marks)) = (sets, words.marks()) else {
            return Err(Error::machine("a set without marks; this is a bug"));
        };
        let device = self.device()?;
        let control = sets.control.pointer() + 32 * device.lambdas.lane() as u64;
        let (address, length) = (words.address(), words.len() as u64);
        let (marks, wide, nodes) = (marks.pointer(), wide.into(), set.nodes() as u64);
        let args = SetArgs { words: address, marks, length, control, to, offsets, nodes, wide };
        let most = device.info.multiprocessors * 8;
        let blocks = blocks(length, u64::from(LINE / 64 * per_block), chance).min(most);
        let args: [u64; size_of::<SetArgs>() / 8] = bytemuck::cast(args);
        device.launch_lambda(kernel(sets), launch_shape(blocks), &[&args])
    }
}

/// What an array has come from that is full of `value`.
fn filled<T: Element>(value: T) -> u64 {
    let mut bytes = [0; 8];
    bytes[..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
    written_by(u64::from_ne_bytes(bytes), "fill")
}

/// The kernels of sets on a device.
pub(super) struct Sets {
    clear: Function,
    count: Function,
    arcs: Function,
    marks: Function,
    zero: Function,
    /// `[streams, 4]`: what a count has so far.
    control: DeviceBuffer<u64>,
}

impl Sets {
    fn load(device: &mut CudaDevice) -> Result<Sets> {
        let source = KERNELS.iter().find(|kernel| kernel.name == "sets.cu");
        let none = || Error::machine("sets.cu is not embedded; this is a bug");
        let source = source.ok_or_else(none)?;
        let control = device.alloc("counts of sets", 4 * LANES)?;
        let mut load = |name| device.function(source, &[], name);
        let (clear, count, arcs) = (load("set_clear")?, load("set_count")?, load("set_arcs")?);
        let (marks, zero) = (load("set_marks")?, load("blocks_zero")?);
        Ok(Sets { clear, count, arcs, marks, zero, control })
    }
}
