//! One array that all host replicas share, in words of relaxed atomics: a replica may read what another
//! writes, as kernels may on devices.

use super::{CellSlice, Element};
use crate::error::Result;
use crate::memory::reserved;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// An array of elements of 1, 4 or 8 bytes. Reads and writes are relaxed: a barrier between a write and a
/// read by another replica says that the write is seen.
#[derive(Debug)]
pub enum Cells {
    /// Elements of one byte.
    Bytes(Box<[AtomicU8]>),
    /// Elements of four bytes.
    Words(Box<[AtomicU32]>),
    /// Elements of eight bytes.
    Doubles(Box<[AtomicU64]>),
}

fn zeros<A: Default>(label: &str, length: usize) -> Result<Box<[A]>> {
    let mut made = reserved(label, length)?;
    made.extend(std::iter::repeat_with(A::default).take(length));
    Ok(made.into())
}

impl Cells {
    /// `length` zeros that fit elements of type `T`.
    pub(crate) fn new<T: Element>(label: &str, length: usize) -> Result<Cells> {
        Ok(match size_of::<T>() {
            1 => Cells::Bytes(zeros(label, length)?),
            4 => Cells::Words(zeros(label, length)?),
            _ => Cells::Doubles(zeros(label, length)?),
        })
    }

    /// The elements, for those who know their type.
    pub(crate) fn slice(&self) -> CellSlice<'_> {
        match self {
            Cells::Bytes(cells) => CellSlice::One(cells),
            Cells::Words(cells) => CellSlice::Four(cells),
            Cells::Doubles(cells) => CellSlice::Eight(cells),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Cells::Bytes(cells) => cells.len(),
            Cells::Words(cells) => cells.len(),
            Cells::Doubles(cells) => cells.len(),
        }
    }

    /// Whether it holds no element.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Element `i`, of the type that the array was made for.
    ///
    /// # Panics
    /// When `i` is out of range, or `T` has another size.
    pub fn get<T: Element>(&self, i: usize) -> T {
        match self {
            Cells::Bytes(cells) => bytemuck::pod_read_unaligned(&[cells[i].load(Relaxed)]),
            Cells::Words(cells) => {
                bytemuck::pod_read_unaligned(&cells[i].load(Relaxed).to_ne_bytes())
            }
            Cells::Doubles(cells) => {
                bytemuck::pod_read_unaligned(&cells[i].load(Relaxed).to_ne_bytes())
            }
        }
    }

    /// Overwrites element `i`, of the type that the array was made for.
    ///
    /// # Panics
    /// When `i` is out of range, or `T` has another size.
    pub fn set<T: Element>(&self, i: usize, value: T) {
        let bytes = bytemuck::bytes_of(&value);
        match self {
            Cells::Bytes(cells) => cells[i].store(bytemuck::pod_read_unaligned(bytes), Relaxed),
            Cells::Words(cells) => cells[i].store(bytemuck::pod_read_unaligned(bytes), Relaxed),
            Cells::Doubles(cells) => cells[i].store(bytemuck::pod_read_unaligned(bytes), Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept<T: Element>(values: &[T]) {
        let cells = Cells::new::<T>("cells", values.len()).unwrap();
        assert_eq!(cells.len(), values.len());
        assert!((0..values.len()).all(|i| cells.get::<T>(i) == T::zeroed()));
        values.iter().enumerate().for_each(|(i, value)| cells.set(i, *value));
        let read: Vec<T> = (0..values.len()).map(|i| cells.get(i)).collect();
        assert_eq!(read, values);
    }

    #[test]
    fn cells_keep_elements_of_every_type() {
        kept::<u8>(&[0, 1, 255]);
        kept::<u32>(&[7, u32::MAX]);
        kept::<i32>(&[-7, i32::MIN]);
        kept::<u64>(&[7, u64::MAX]);
        kept::<f32>(&[-0.5, f32::INFINITY]);
        kept::<f64>(&[1e-300, -1.0]);
        kept::<f64>(&[]);
    }
}
