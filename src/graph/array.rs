//! Arrays that are read only: made here, or part of a mapped file.

use crate::error::{Error, Result};
use crate::memory;
use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};
use std::ops::{Deref, Range};
use std::sync::Arc;

/// Bytes from which an array has pages of its own.
const LARGE: usize = 8 << 20;

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
    /// `[length]`, written by `fill`. Large arrays lie in large pages, where the system has them: there are fewer to clear at
    /// first, and to give back at last.
    pub(crate) fn filled(
        what: &str,
        length: usize,
        fill: impl FnOnce(&mut [T]) -> Result<()>,
    ) -> Result<Array<T>> {
        let bytes = length * size_of::<T>();
        if bytes < LARGE {
            let mut values = memory::zeros(what, length)?;
            fill(&mut values)?;
            return Ok(values.into());
        }
        memory::room(what, bytes as u64)?;
        let lacking = |error| Error::machine(format!("{what}: {bytes} bytes: {error}"));
        let mut map = MmapMut::map_anon(bytes).map_err(lacking)?;
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        fill(bytemuck::cast_slice_mut(&mut map))?;
        let map = Arc::new(map.make_read_only().map_err(lacking)?);
        Ok(Array::Mapped { map, bytes: 0..bytes })
    }

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
