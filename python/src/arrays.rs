//! Arrays of NumPy as the engine takes them. `hivegraph/_arrays.py` hands over contiguous ones of the types that are here.

use crate::error::bug;
use hivegraph::graph::SharedSlice;
use hivegraph::{Error, Result};
use pyo3::buffer::{Element, PyBuffer};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;

/// An array that Python holds, and what keeps others from writing to it (`Unchanged` in `_arrays.py`).
pub struct Lent<T: Element> {
    buffer: PyBuffer<T>,
    count: usize,
    _kept: Option<Kept>,
}

/// An object of Python that lives as long as arrays are looked at.
pub type Kept = Arc<Py<PyAny>>;

impl<T: Element> Lent<T> {
    /// An array that is looked at during one call.
    pub fn of(array: &Bound<'_, PyAny>) -> PyResult<Lent<T>> {
        Lent::kept(array, None)
    }

    pub fn kept(array: &Bound<'_, PyAny>, kept: Option<&Kept>) -> PyResult<Lent<T>> {
        let buffer = PyBuffer::<T>::get(array)?;
        let aligned = buffer.buf_ptr().cast::<T>().is_aligned();
        match buffer.is_c_contiguous() && buffer.dimensions() == 1 && aligned {
            true => Ok(Lent { count: buffer.item_count(), buffer, _kept: kept.cloned() }),
            false => Err(bug("an array that is not one contiguous row")),
        }
    }
}

impl<T: Element> AsRef<[T]> for Lent<T> {
    fn as_ref(&self) -> &[T] {
        match self.count {
            0 => &[],
            // SAFETY: the buffer has that many T in one contiguous, aligned row. It stays where it is while the array lives, which
            // this keeps, unless it is resized without a check of references. The package has made it read-only, and what it is a
            // view of; of older views, and of resizing, `Graph` in `hivegraph/_graph.py` says that they must be left alone.
            count => unsafe { std::slice::from_raw_parts(self.buffer.buf_ptr().cast(), count) },
        }
    }
}

/// Row offsets or neighbours in 64 bits, as 32.
pub fn narrowed(ids: &[i64], what: &str) -> Result<Vec<u32>> {
    let narrow = |(i, id): (usize, &i64)| {
        u32::try_from(*id).map_err(|_| {
            Error::input(format!(
                "{what}[{i}] is {id}; nodes are numbered from 0, at most 4294967294 of them"
            ))
        })
    };
    ids.par_iter().enumerate().map(narrow).collect()
}

/// Ids in 32 or 64 bits.
pub enum Ids {
    Narrow(Arc<Lent<u32>>),
    Wide(Lent<i64>),
}

impl Ids {
    pub fn of(array: &Bound<'_, PyAny>, kept: Option<&Kept>) -> PyResult<Ids> {
        match item_size(array)? {
            4 => Ok(Ids::Narrow(Arc::new(Lent::kept(array, kept)?))),
            _ => Ok(Ids::Wide(Lent::kept(array, kept)?)),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Ids::Narrow(all) => (**all).as_ref().len(),
            Ids::Wide(all) => all.as_ref().len(),
        }
    }
}

/// Weights of any type that NumPy adds up.
pub enum Weights {
    F32(Arc<Lent<f32>>),
    F64(Lent<f64>),
    I32(Lent<i32>),
    I64(Lent<i64>),
}

impl Weights {
    pub fn of(array: &Bound<'_, PyAny>, kept: Option<&Kept>) -> PyResult<Weights> {
        let kind: String = array.getattr("dtype")?.getattr("str")?.extract()?;
        Ok(match kind.trim_start_matches(['<', '>', '=', '|']) {
            "f4" => Weights::F32(Arc::new(Lent::kept(array, kept)?)),
            "f8" => Weights::F64(Lent::kept(array, kept)?),
            "i4" => Weights::I32(Lent::kept(array, kept)?),
            "i8" => Weights::I64(Lent::kept(array, kept)?),
            other => return Err(bug(&format!("weights of type {other}"))),
        })
    }

    /// Rounded to f32; those that are f32 stay where they are.
    pub fn rounded(&self) -> SharedSlice<f32> {
        match self {
            Weights::F32(all) => all.clone(),
            Weights::F64(all) => round(all.as_ref(), |w| w as f32),
            Weights::I32(all) => round(all.as_ref(), |w| w as f32),
            Weights::I64(all) => round(all.as_ref(), |w| w as f32),
        }
    }
}

fn round<T: Copy + Sync>(all: &[T], to: impl Fn(T) -> f32 + Sync) -> SharedSlice<f32> {
    Arc::new(all.par_iter().map(|weight| to(*weight)).collect::<Vec<f32>>())
}

fn item_size(array: &Bound<'_, PyAny>) -> PyResult<usize> {
    array.getattr("itemsize")?.extract()
}
