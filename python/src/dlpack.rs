//! Arrays as DLPack hands them on: one library's memory, another's view (<https://dmlc.github.io/dlpack>). The structs are those of
//! its header, version 1.

use pyo3::exceptions::PyBufferError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::any::Any;
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::Arc;

/// Memory of the host, and of a GPU.
const CPU: i32 = 1;
const CUDA: i32 = 2;

/// Where memory is: its kind, and the number of the GPU.
#[repr(C)]
#[derive(Clone, Copy)]
struct Device {
    kind: i32,
    number: i32,
}

/// Whether it is of signed numbers (0), unsigned ones (1) or floats (2), and of how many bits.
#[repr(C)]
#[derive(Clone, Copy)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: Device,
    dimensions: i32,
    dtype: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// Before version 1.
#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

/// From version 1 on.
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What a struct of DLPack points to; whoever is given the struct ends it by its deleter.
struct Lent {
    shape: [i64; 2],
    strides: [i64; 2],
    _owner: Arc<dyn Any + Send + Sync>,
}

/// An array to be handed on.
pub struct Shown {
    /// Keeps the memory.
    pub owner: Arc<dyn Any + Send + Sync>,
    pub at: usize,
    pub shape: Vec<usize>,
    /// As NumPy names types.
    pub kind: String,
    /// The number of the GPU whose memory it is.
    pub gpu: Option<u32>,
    /// 1: nobody may write to it; 2: it is a copy.
    pub flags: u64,
}

impl Shown {
    /// A capsule, as `__dlpack__` returns it: of version 1 if `versioned`.
    pub fn capsule<'py>(self, py: Python<'py>, versioned: bool) -> PyResult<Bound<'py, PyCapsule>> {
        let refused = || PyBufferError::new_err(format!("DLPack has no type {}", self.kind));
        let dtype = DataType::of(&self.kind).ok_or_else(refused)?;
        let device = match self.gpu {
            Some(number) => Device { kind: CUDA, number: number as i32 },
            None => Device { kind: CPU, number: 0 },
        };
        let (dimensions, empty) = (self.shape.len(), self.shape.contains(&0));
        let (mut shape, mut strides) = ([1i64; 2], [1i64; 2]);
        for (to, length) in shape.iter_mut().zip(&self.shape) {
            *to = *length as i64;
        }
        if dimensions == 2 {
            strides[0] = shape[1];
        }
        let context = Box::into_raw(Box::new(Lent { shape, strides, _owner: self.owner }));
        let tensor = Tensor {
            data: if empty { std::ptr::null_mut() } else { self.at as *mut c_void },
            device,
            dimensions: dimensions as i32,
            dtype,
            // SAFETY: `context` is a live box; these are the addresses of its fields.
            shape: unsafe { (&raw mut (*context).shape).cast() },
            // SAFETY: as above.
            strides: unsafe { (&raw mut (*context).strides).cast() },
            byte_offset: 0,
        };
        let context = context.cast();
        match versioned {
            true => {
                let (version, flags) = ([1, 0], self.flags);
                let deleter = Some(end::<Versioned> as _);
                capsule(py, Versioned { version, context, deleter, flags, tensor })
            }
            false => capsule(py, Managed { tensor, context, deleter: Some(end::<Managed>) }),
        }
    }
}

impl DataType {
    fn of(kind: &str) -> Option<DataType> {
        let kind = kind.trim_start_matches(['<', '|', '=']);
        let (code, bytes) = kind.split_at_checked(1)?;
        let code = ["i", "u", "f"].iter().position(|known| *known == code)? as u8;
        let bytes: u8 = bytes.parse().ok()?;
        Some(DataType { code, bits: bytes.checked_mul(8)?, lanes: 1 })
    }
}

/// The two forms of a struct that is handed on.
trait Handed: Sized {
    /// What a capsule of it is called until somebody has taken it.
    const NAME: &'static CStr;
    fn context(&self) -> *mut Lent;
    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Self)>;
}

impl Handed for Managed {
    const NAME: &'static CStr = c"dltensor";

    fn context(&self) -> *mut Lent {
        self.context.cast()
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Managed)> {
        self.deleter
    }
}

impl Handed for Versioned {
    const NAME: &'static CStr = c"dltensor_versioned";

    fn context(&self) -> *mut Lent {
        self.context.cast()
    }

    fn deleter(&self) -> Option<unsafe extern "C" fn(*mut Versioned)> {
        self.deleter
    }
}

fn capsule<T: Handed>(py: Python<'_>, handed: T) -> PyResult<Bound<'_, PyCapsule>> {
    let pointer = NonNull::from(Box::leak(Box::new(handed)));
    // SAFETY: the pointer is to a box that `left_over` or who takes it ends, on any thread: what it owns may be dropped on any.
    let made = unsafe {
        let destructor = Some(left_over::<T> as ffi::PyCapsule_Destructor);
        PyCapsule::new_with_pointer_and_destructor(py, pointer.cast(), T::NAME, destructor)
    };
    if made.is_err() {
        // SAFETY: nobody else has it.
        unsafe { end(pointer.as_ptr()) };
    }
    made
}

/// Ends what was handed on, and lets go of the memory. It needs no interpreter.
///
/// # Safety
///
/// `handed` is from [`capsule`], and this is the first and last call for it.
unsafe extern "C" fn end<T: Handed>(handed: *mut T) {
    // SAFETY: both boxes were leaked when it was made, and are taken back once, as the caller promises.
    unsafe {
        let handed = Box::from_raw(handed);
        drop(Box::from_raw(handed.context()));
    }
}

/// Ends what a capsule holds that nobody has taken: who takes it gives the capsule another name.
///
/// # Safety
///
/// `capsule` is from [`capsule`]; the interpreter calls this when it goes.
unsafe extern "C" fn left_over<T: Handed>(capsule: *mut ffi::PyObject) {
    // SAFETY: a live capsule and a NUL-terminated name.
    if unsafe { ffi::PyCapsule_IsValid(capsule, T::NAME.as_ptr()) } == 0 {
        return;
    }
    // SAFETY: as above; under this name it holds a `T` that nobody has taken.
    unsafe {
        let handed = ffi::PyCapsule_GetPointer(capsule, T::NAME.as_ptr()).cast::<T>();
        if let Some(deleter) = (*handed).deleter() {
            deleter(handed);
        }
    }
}
