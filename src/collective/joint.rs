//! Joint launches: kernels on all GPUs of the fleet at once, that meet and store into each other's arrays by themselves
//! (`kernels/joint.cuh`). A round then costs microseconds, and no word of the host's.

use super::MAX_REPLICAS;
use crate::device::kernels::joint::Joint;
use bytemuck::Zeroable;

impl Joint {
    /// Of replica `rank`, where everybody's mail is at these addresses.
    pub fn new(mail: &[u64], rank: usize) -> Joint {
        let mut all = [0; MAX_REPLICAS];
        all.iter_mut().zip(mail).for_each(|(to, from)| *to = *from);
        Joint { mail: all, rank: rank as u32, world: mail.len() as u32 }
    }

    /// Of launches that are one GPU's own.
    pub fn alone() -> Joint {
        Joint { world: 1, ..Joint::zeroed() }
    }
}

/// Whether kernels of these GPUs, a replica each, can meet: several, and none twice.
pub(crate) fn apart<G: PartialEq>(gpus: &[G]) -> bool {
    gpus.len() > 1 && gpus.iter().enumerate().all(|(i, gpu)| !gpus[..i].contains(gpu))
}

/// What a replica must know of the others to work with them in one launch.
#[derive(Clone, Copy)]
pub(crate) struct Together<const N: usize> {
    pub joint: Joint,
    /// The address of each array on each replica.
    pub arrays: [[u64; MAX_REPLICAS]; N],
}

impl<const N: usize> Together<N> {
    /// Nothing, for launches that are one GPU's own.
    pub fn alone() -> Together<N> {
        Together { joint: Joint::alone(), arrays: [[0; MAX_REPLICAS]; N] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_meet_where_every_replica_has_a_gpu_of_its_own() {
        assert!(apart(&[0, 1]) && apart(&[3, 1, 0]));
        assert!(!apart(&[0]) && !apart(&[0, 0]) && !apart(&[0, 1, 0]));
    }
}
