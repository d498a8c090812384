//! Arrays that are read only: made here, part of a mapped file, somebody else's, or elsewhere until somebody looks.

use crate::error::{Error, Result};
use crate::memory;
use bytemuck::Pod;
use memmap2::{Mmap, MmapMut};
use std::ops::{Deref, Range};
use std::sync::{Arc, OnceLock};

/// Bytes from which an array has pages of its own.
const LARGE: usize = 8 << 20;

/// Elements that somebody else holds: they are where they are, and do not change, for as long as this lives.
pub type SharedSlice<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// A read-only array.
#[derive(Clone)]
pub(crate) enum Array<T: 'static> {
    Owned(Vec<T>),
    Shared(SharedSlice<T>),
    /// `map[bytes]`, aligned for T and a whole number of them.
    Mapped {
        map: Arc<Mmap>,
        bytes: Range<usize>,
    },
    /// Brought here when it is first looked at.
    Later(Arc<Later<T>>),
}

/// An array that is elsewhere.
pub(crate) struct Later<T: 'static> {
    length: usize,
    bring: Box<dyn Fn() -> Result<Array<T>> + Send + Sync>,
    here: OnceLock<Result<Array<T>>>,
}

impl<T: 'static> Later<T> {
    fn get(&self) -> &Result<Array<T>> {
        self.here.get_or_init(&self.bring)
    }
}

impl<T: Pod> std::fmt::Debug for Array<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Array({} elements)", self.len())
    }
}

impl<T: Pod> Array<T> {
    /// `[length]`, brought by `bring` when it is first looked at. That may be within a parallel loop, whose threads it
    /// cannot use.
    pub(crate) fn later(
        length: usize,
        bring: impl Fn() -> Result<Array<T>> + Send + Sync + 'static,
    ) -> Array<T> {
        Array::Later(Arc::new(Later { length, bring: Box::new(bring), here: OnceLock::new() }))
    }

    /// Number of elements, wherever they are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Array::Later(later) => later.length,
            here => here.deref().len(),
        }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements are on the host.
    pub(crate) fn is_here(&self) -> bool {
        match self {
            Array::Later(later) => later.here.get().is_some(),
            _ => true,
        }
    }

    /// Brings the elements here.
    ///
    /// # Errors
    /// [`Error::Machine`] where there is no room for them.
    pub(crate) fn load(&self) -> Result<()> {
        match self {
            Array::Later(later) => later.get().as_ref().map(|_| ()).map_err(Error::clone),
            _ => Ok(()),
        }
    }

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
            Array::Shared(values) => (**values).as_ref(),
            Array::Mapped { map, bytes } => bytemuck::cast_slice(&map[bytes.clone()]),
            // Who may have to wait for it has called `load`, and knows the error.
            Array::Later(later) => later.get().as_ref().unwrap_or_else(|e| panic!("{e}")),
        }
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(values: Vec<T>) -> Array<T> {
        Array::Owned(values)
    }
}
