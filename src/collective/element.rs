//! What can be merged: six element types, five operations.

use bytemuck::Pod;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

/// What makes the replicas of an array equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MergeOp {
    /// Bitwise or; unsigned types only. Frontiers.
    Or,
    /// Smallest value. Distances and labels. A NaN loses to every number, on every backend; where all copies are
    /// NaN, a NaN stays.
    Min,
    /// Largest value. A NaN loses, as in [`MergeOp::Min`].
    Max,
    /// Sum, added in rank order by the peer and host collectives. Counts and rank sums.
    Sum,
    /// Each chunk's owner is the only writer; everybody receives its chunk.
    Gather,
}

impl MergeOp {
    /// The word used in tickets, traces and messages.
    pub fn name(self) -> &'static str {
        match self {
            MergeOp::Or => "or",
            MergeOp::Min => "min",
            MergeOp::Max => "max",
            MergeOp::Sum => "sum",
            MergeOp::Gather => "gather",
        }
    }
}

/// Run-time tag of an [`Element`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Dtype {
    U8,
    U32,
    U64,
    I32,
    F32,
    F64,
}

impl Dtype {
    /// All, in order.
    pub(crate) const ALL: [Dtype; 6] =
        [Dtype::U8, Dtype::U32, Dtype::U64, Dtype::I32, Dtype::F32, Dtype::F64];

    /// Bytes of one element.
    pub fn size(self) -> usize {
        match self {
            Dtype::U8 => 1,
            Dtype::U32 | Dtype::I32 | Dtype::F32 => 4,
            Dtype::U64 | Dtype::F64 => 8,
        }
    }

    /// Whether `op` means something for this type.
    pub fn supports(self, op: MergeOp) -> bool {
        op != MergeOp::Or || matches!(self, Dtype::U8 | Dtype::U32 | Dtype::U64)
    }
}

/// An array that several threads share, by the size of its elements.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum CellSlice<'a> {
    One(&'a [AtomicU8]),
    Four(&'a [AtomicU32]),
    Eight(&'a [AtomicU64]),
}

/// A type that replicated arrays can hold.
pub trait Element: Pod + PartialOrd + Send + Sync + std::fmt::Debug + 'static {
    /// Its run-time tag.
    const DTYPE: Dtype;
    /// The atomic of this size: how several threads share an element.
    type Atomic: Send + Sync + std::fmt::Debug;
    /// `self op other`, with the operations of [`MergeOp`]; gather keeps `self`.
    fn combine(self, other: Self, op: MergeOp) -> Self;
    /// Reads a shared element, in no order with anything else.
    fn load(cell: &Self::Atomic) -> Self;
    /// Writes a shared element, in no order with anything else.
    fn store(self, cell: &Self::Atomic);
    /// Shared elements as cells of their size.
    fn to_cells(cells: &[Self::Atomic]) -> CellSlice<'_>;
    /// Cells of this size as shared elements.
    fn of_cells(cells: CellSlice<'_>) -> Option<&[Self::Atomic]>;
    /// Replaces a shared element by what `next` makes of it, in one piece; returns what it was. `None` leaves it.
    fn update(cell: &Self::Atomic, next: impl FnMut(Self) -> Option<Self>) -> Self;
}

macro_rules! element {
    ($type:ty, $tag:ident, $atomic:ident, $bits:ty, $size:ident, $or:expr, $sum:expr, $nan:expr) => {
        impl Element for $type {
            const DTYPE: Dtype = Dtype::$tag;
            type Atomic = $atomic;
            #[inline(always)]
            fn load(cell: &$atomic) -> Self {
                bytemuck::cast(cell.load(Ordering::Relaxed))
            }
            #[inline(always)]
            fn store(self, cell: &$atomic) {
                cell.store(bytemuck::cast::<$type, $bits>(self), Ordering::Relaxed);
            }
            fn to_cells(cells: &[$atomic]) -> CellSlice<'_> {
                CellSlice::$size(cells)
            }
            fn of_cells(cells: CellSlice<'_>) -> Option<&[$atomic]> {
                match cells {
                    CellSlice::$size(cells) => Some(cells),
                    _ => None,
                }
            }
            #[inline]
            fn update(cell: &$atomic, mut next: impl FnMut(Self) -> Option<Self>) -> Self {
                let turned = |bits: $bits| next(bytemuck::cast(bits)).map(bytemuck::cast);
                let done = cell.fetch_update(Ordering::Relaxed, Ordering::Relaxed, turned);
                bytemuck::cast(done.unwrap_or_else(|kept| kept))
            }
            #[inline(always)]
            fn combine(self, other: Self, op: MergeOp) -> Self {
                let (or, sum): (fn($type, $type) -> $type, fn($type, $type) -> $type) = ($or, $sum);
                let nan: fn($type) -> bool = $nan;
                match op {
                    MergeOp::Or => or(self, other),
                    MergeOp::Min => {
                        if self <= other || nan(other) {
                            self
                        } else {
                            other
                        }
                    }
                    MergeOp::Max => {
                        if self >= other || nan(other) {
                            self
                        } else {
                            other
                        }
                    }
                    MergeOp::Sum => sum(self, other),
                    MergeOp::Gather => self,
                }
            }
        }
    };
}
element!(u8, U8, AtomicU8, u8, One, |a, b| a | b, |a, b| a.wrapping_add(b), |_| false);
element!(u32, U32, AtomicU32, u32, Four, |a, b| a | b, |a, b| a.wrapping_add(b), |_| false);
element!(u64, U64, AtomicU64, u64, Eight, |a, b| a | b, |a, b| a.wrapping_add(b), |_| false);
element!(i32, I32, AtomicU32, u32, Four, |a, _| a, |a, b| a.wrapping_add(b), |_| false);
element!(f32, F32, AtomicU32, u32, Four, |a, _| a, |a, b| a + b, f32::is_nan);
element!(f64, F64, AtomicU64, u64, Eight, |a, _| a, |a, b| a + b, f64::is_nan);

/// The same memory as atomics of the element's size.
pub(crate) fn cells<T: Element>(values: &mut [T]) -> &[T::Atomic] {
    // SAFETY: the exclusive borrow ends all plain access for the result's lifetime; `Atomic` has the size,
    // alignment and bit validity of the element (see `element!`).
    unsafe { std::slice::from_raw_parts(values.as_mut_ptr().cast::<T::Atomic>(), values.len()) }
}

/// Four-byte elements that host steps may update from several threads.
pub trait Atomic32: Element {}
impl Atomic32 for u32 {}
impl Atomic32 for i32 {}
impl Atomic32 for f32 {}

/// The same memory as atomics: for steps that relax in place from several threads.
pub fn atomics<T: Atomic32>(values: &mut [T]) -> &[AtomicU32] {
    // SAFETY: the exclusive borrow ends all plain access for the result's lifetime; AtomicU32 has the
    // size, alignment and bit validity of the four-byte element.
    unsafe { std::slice::from_raw_parts(values.as_mut_ptr().cast::<AtomicU32>(), values.len()) }
}

/// [`atomics`] for eight-byte words.
pub fn atomic_words(values: &mut [u64]) -> &[AtomicU64] {
    // SAFETY: as in `atomics`.
    unsafe { std::slice::from_raw_parts(values.as_mut_ptr().cast::<AtomicU64>(), values.len()) }
}
