//! Arrays of workloads, each declared once: what allocates is what `hive estimate` adds up.

use crate::collective::{Element, Frontier, MergeOp, Replicated, nccl};
use crate::device::{CudaDevice, DeviceBuffer};
use crate::error::Result;
use crate::fleet::Replica;
use crate::layout::memory::DeviceArray;
use bytemuck::Pod;

/// What OR over NCCL exchanges; all arrays share one, as large as the largest wants it.
const SLICES: &str = "or slices";

/// These arrays, of the shared ones the largest alone.
pub(super) fn shared_once(arrays: Vec<DeviceArray>) -> Vec<DeviceArray> {
    let (shared, mut own): (Vec<_>, Vec<_>) =
        arrays.into_iter().partition(|array| array.label == SLICES);
    own.extend(shared.into_iter().max_by_key(|array| array.bytes));
    own
}

/// An array that lies on one GPU alone.
pub(super) trait OnDevice: Sized {
    /// Makes it, `length` elements of unknown value.
    fn make(device: &CudaDevice, label: &'static str, length: usize) -> Result<Self>;
    /// What it takes.
    fn spec(label: &'static str, length: usize) -> DeviceArray;
}

impl<T: Pod> OnDevice for DeviceBuffer<T> {
    fn make(device: &CudaDevice, label: &'static str, length: usize) -> Result<Self> {
        device.alloc(label, length)
    }

    fn spec(label: &'static str, length: usize) -> DeviceArray {
        DeviceArray::new::<T>(label, length)
    }
}

/// An array that every replica has a copy of, zeros at first; `length` counts elements, or nodes of a set.
pub(super) trait OnReplicas: Sized {
    /// Makes it.
    fn make(r: &mut Replica, label: &'static str, length: usize, op: MergeOp) -> Result<Self>;
    /// What it takes on the GPU of one of `world` replicas, with what its merge takes.
    fn specs(label: &'static str, length: usize, op: MergeOp, world: usize) -> Vec<DeviceArray>;
}

impl<T: Element> OnReplicas for Replicated<T> {
    fn make(r: &mut Replica, label: &'static str, length: usize, op: MergeOp) -> Result<Self> {
        r.array(label, length, op)
    }

    fn specs(label: &'static str, length: usize, op: MergeOp, world: usize) -> Vec<DeviceArray> {
        let mut specs = vec![DeviceArray::new::<T>(label, length)];
        if op == MergeOp::Or && world > 1 {
            let slices = nccl::slices(length as u64, size_of::<T>() as u64, world as u64);
            specs.push(DeviceArray::new::<u64>(SLICES, slices));
        }
        specs
    }
}

impl OnReplicas for Frontier {
    fn make(r: &mut Replica, label: &'static str, nodes: usize, op: MergeOp) -> Result<Self> {
        r.node_set(label, nodes, op)
    }

    fn specs(label: &'static str, nodes: usize, op: MergeOp, world: usize) -> Vec<DeviceArray> {
        Replicated::<u64>::specs(label, nodes.div_ceil(64), op, world)
    }
}

/// Two alike.
impl<A: OnReplicas> OnReplicas for [A; 2] {
    fn make(r: &mut Replica, label: &'static str, length: usize, op: MergeOp) -> Result<Self> {
        Ok([A::make(r, label, length, op)?, A::make(r, label, length, op)?])
    }

    fn specs(label: &'static str, length: usize, op: MergeOp, world: usize) -> Vec<DeviceArray> {
        A::specs(label, length, op, world).repeat(2)
    }
}

/// Declares a struct of arrays on one GPU, whose lengths follow from a `$sizes`:
/// `queue: u32 = "queue", |s| 2 * s.active;`. `allocate` makes it, `list` says what it takes. A length may be 0.
macro_rules! device_arrays {
    ($(#[$doc:meta])* $vis:vis struct $name:ident of $sizes:ty {
        $($(#[$of:meta])* $field:ident: $t:ty = $label:literal, |$s:pat_param| $length:expr;)+
    }) => {
        $(#[$doc])*
        $vis struct $name {
            $($(#[$of])* pub $field: $crate::device::DeviceBuffer<$t>,)+
        }

        impl $name {
            /// Makes all of them.
            $vis fn allocate(
                device: &$crate::device::CudaDevice,
                sizes: $sizes,
            ) -> $crate::error::Result<$name> {
                use $crate::algorithm::arrays::OnDevice;
                $(let $field = OnDevice::make(device, $label, { let $s = &sizes; $length })?;)+
                Ok($name { $($field),+ })
            }

            /// What they take.
            $vis fn list(sizes: $sizes) -> Vec<$crate::layout::memory::DeviceArray> {
                use $crate::algorithm::arrays::OnDevice;
                use $crate::device::DeviceBuffer;
                vec![$(<DeviceBuffer<$t>>::spec($label, { let $s = &sizes; $length })),+]
            }
        }
    };
}
pub(super) use device_arrays;

/// The same for arrays that every replica has a copy of: `comp: Replicated<u32> = "comp", Min, |s| s.active;`. The
/// struct may have a type of elements as its parameter.
macro_rules! replicated_arrays {
    ($(#[$doc:meta])* $vis:vis struct $name:ident $(<$of_type:ident>)? of $sizes:ty {
        $($(#[$of:meta])* $field:ident: $t:ty = $label:literal, $op:ident, |$s:pat_param| $length:expr;)+
    }) => {
        $(#[$doc])*
        $vis struct $name $(<$of_type: $crate::collective::Element>)? {
            $($(#[$of])* pub $field: $t,)+
        }

        impl $(<$of_type: $crate::collective::Element>)? $name $(<$of_type>)? {
            /// Makes all of them.
            $vis fn allocate(
                r: &mut $crate::fleet::Replica,
                sizes: $sizes,
            ) -> $crate::error::Result<Self> {
                use $crate::algorithm::arrays::OnReplicas;
                use $crate::collective::MergeOp;
                $(let $field =
                    <$t>::make(r, $label, { let $s = &sizes; $length }, MergeOp::$op)?;)+
                Ok($name { $($field),+ })
            }

            /// What they take on the GPU of one of `world` replicas.
            $vis fn list(
                sizes: $sizes,
                world: usize,
            ) -> Vec<$crate::layout::memory::DeviceArray> {
                use $crate::algorithm::arrays::OnReplicas;
                use $crate::collective::MergeOp;
                $crate::algorithm::arrays::shared_once(
                    [$(<$t>::specs($label, { let $s = &sizes; $length }, MergeOp::$op, world)),+]
                        .concat(),
                )
            }
        }
    };
}
pub(super) use replicated_arrays;
