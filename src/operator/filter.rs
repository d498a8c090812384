//! `filter`: the elements that a predicate wants, as a list (predicate-based compaction).

use super::args::{Args, Given, Made, Readable};
use super::code::{On, Operator};
use super::host::{HostValue, Memory};
use super::lambda::{Kind, Lambda};
use super::launch::{Call, Needs, Shape, blocks, in_block, launch_shape};
use super::over::Over;
use crate::collective::{DIFFERS, Element, MergeOp, Replicated};
use crate::device::ArrayAddress;
use crate::device::kernels::operators;
use crate::error::{Error, Result};
use crate::fleet::{Backend, Replica};
use std::ops::Range;

/// Whether a filter keeps the order of the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Rising: two more passes over a bit an element.
    #[default]
    Kept,
    /// Whatever is fastest: one pass, one atomic a warp. Differs from run to run.
    Any,
}

/// A replica's own list of elements, made by [`Replica::filter`].
pub struct Queue {
    items: Replicated<u32>,
    length: usize,
}

impl Queue {
    /// Number of elements in it.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The array that it lies in; elements from [`Queue::len`] on mean nothing.
    pub fn items(&self) -> &Replicated<u32> {
        &self.items
    }
}

impl Readable for Queue {
    #[allow(private_interfaces)]
    fn given(&self) -> Given<'_> {
        let (items, length) = (self.items(), self.len());
        let bytes = items.host().map(|all| bytemuck::cast_slice::<u32, u8>(&all[..length]));
        let host = bytes.map(|bytes| HostValue::Array(Memory::Plain(bytes)));
        let device = items.device().map(|buffer| ArrayAddress::Flat(buffer.pointer()));
        let (kind, made) = (Kind::Reads(u32::DTYPE), Made::of(items).own());
        Given::Array { kind, length: length as u64, host, device, made }
    }
}

impl Replica {
    /// A list with room for `capacity` elements, 4 bytes each. All replicas make one at the same time.
    pub fn queue(&mut self, label: &'static str, capacity: usize) -> Result<Queue> {
        self.all_quiet(label)?;
        let items = self.replicated(label, capacity, MergeOp::Gather)?;
        self.all_quiet(label)?;
        Ok(Queue { items, length: 0 })
    }

    /// The elements of a list, in host memory. It waits for all launches.
    pub fn read_queue(&mut self, queue: &Queue) -> Result<Vec<u32>> {
        let mut all = self.read(&queue.items)?;
        all.truncate(queue.length);
        Ok(all)
    }

    /// Puts the elements of the replica's part of `over` that `lambda` wants into `queue`, in place of what was
    /// there, and returns how many they are: on this replica, so other replicas have other numbers unless `over` is
    /// [`Over::whole`]. It waits for the count. On the host order is always kept.
    ///
    /// # Errors
    /// As [`Replica::for_all`]; a queue that is too short; elements beyond 32 bits.
    pub fn filter(
        &mut self,
        label: &'static str,
        over: Over,
        lambda: &Lambda<bool>,
        args: Args,
        queue: &mut Queue,
        order: Order,
    ) -> Result<usize> {
        let (body, on) = (&lambda.body, On::element("bool"));
        if over.length() > u64::from(u32::MAX) {
            let error = body.error("a filter takes at most 2^32 - 1 elements; cut the range");
            return Err(self.told(label, error));
        }
        self.owner().check(queue.items.label(), queue.items.owner())?;
        let operator = match order {
            Order::Kept => Operator::Filter,
            Order::Any => Operator::FilterAny,
        };
        let call = Call::of(label, operator, over, (body, on), &args);
        queue.length = 0;
        queue.items.comes_from(DIFFERS);
        let found = self.labelled(&call, |r, range| match &r.backend {
            Backend::Cuda(_) => on_device(r, &call, range, queue),
            Backend::Host(_) => {
                let lists = lambda.on_host(&args, over.graph, |wants| {
                    r.on_host(&range, &|block| {
                        let mut list = Vec::new();
                        in_block(block, &over, &mut |i| {
                            if wants(i) {
                                list.push(i as u32);
                            }
                        });
                        list
                    })
                })?;
                let mut room = queue.items.host_mut().unwrap_or_default().iter_mut();
                let all = lists.iter().flatten();
                room.by_ref().zip(all).for_each(|(to, from)| *to = *from);
                Ok(lists.iter().map(Vec::len).sum())
            }
        })?;
        let room = queue.items.len();
        if found > room {
            let queue = queue.items.label();
            let error = body.error(&format!(
                "its filter wants {found} elements, queue {queue} has room for {room}; make it larger"
            ));
            return Err(self.told(label, error));
        }
        queue.length = found;
        Ok(found)
    }
}

/// Elements of a block.
const FILTER: u64 = operators::FILTER as u64;

fn on_device(r: &mut Replica, call: &Call, range: Range<u64>, queue: &Queue) -> Result<usize> {
    let loaded = r.load(call)?;
    let groups = call.over.length().div_ceil(FILTER) as usize + 1;
    let ordered = call.operator == Operator::Filter;
    let marks = if ordered { groups * FILTER as usize / 32 } else { 0 };
    r.scratch(call.label, Needs { partial: groups, marks, ..Needs::default() })?;
    if range.is_empty() {
        return Ok(0);
    }
    let (lambda, _) = call.parameters(r, loaded.number)?;
    let chance = r.chance();
    let (device, scratch) = r.on_cuda()?;
    let scratch = scratch.ok_or_else(|| Error::machine("no room for a filter; this is a bug"))?;
    let items = queue.items.device().map_or(0, |items| items.pointer());
    let capacity = queue.items.len() as u64;
    let shape = Shape::of(&range, &call.over).with(scratch);
    let words = Shape { queue: items, capacity, ..shape }.as_words();
    let elements = range.end - range.start;
    device.zero_first(&scratch.control, 8)?;
    if ordered {
        let grid = launch_shape(blocks(elements, FILTER, chance));
        device.launch_lambda(loaded.kernels[0], grid, &[&words, &lambda])?;
        device.launch_lambda(loaded.kernels[1], launch_shape(1), &[&words, &lambda])?;
        device.launch_lambda(loaded.kernels[2], grid, &[&words, &lambda])?;
    } else {
        // Blocks stay to take several turns, so that fewer of them queue for the counter.
        let most = u64::from(device.info.multiprocessors) * 8;
        let grid = blocks(elements, 256, chance).min(most as u32);
        device.launch_lambda(loaded.kernels[0], launch_shape(grid), &[&words, &lambda])?;
    }
    r.drain()?;
    let (_, scratch) = r.on_cuda()?;
    Ok(scratch.map_or(Ok(0), |scratch| scratch.control.element(0))? as usize)
}
