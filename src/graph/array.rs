//! Arrays that are read only: made here, or part of a mapped file.

use bytemuck::Pod;
use memmap2::Mmap;
use std::ops::{Deref, Range};
use std::sync::Arc;

/// A read-only array.
#[derive(Debug, Clone)]
pub(crate) enum Array<T> {
    Owned(Vec<T>),
    /// `map[bytes]`, aligned for T and a whole number of them.
    Mapped {
        map: Arc<Mmap>,
        bytes: Range<usize>,
    },
}

impl<T: Pod> Array<T> {
    /// A part of a mapped file, if it lies inside and is aligned.
    pub(crate) fn mapped(map: &Arc<Mmap>, bytes: Range<usize>) -> Option<Array<T>> {
        bytemuck::try_cast_slice::<u8, T>(map.get(bytes.clone())?).ok()?;
        Some(Array::Mapped { map: map.clone(), bytes })
    }
}

impl<T: Pod> Deref for Array<T> {
    type Target = [T];
    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Array::Owned(values) => values,
            Array::Mapped { map, bytes } => bytemuck::cast_slice(&map[bytes.clone()]),
        }
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Array<T> {
        Array::Owned(values)
    }
}
