//! Joint launches: kernels on all GPUs of the fleet at once, that meet and store into each other's arrays by themselves
//! (`kernels/joint.cuh`). A round then costs microseconds, and no word of the host's.

use super::{Backend, FleetInfo, MAX_REPLICAS, Replica};
use crate::backend::cuda::DeviceBuffer;
use crate::error::Result;
use bytemuck::{Pod, Zeroable};

/// `kernels/joint.cuh`: Mail, in u64 words.
const MAIL_WORDS: usize = 16 + MAX_REPLICAS + 2 * MAX_REPLICAS * 4;

/// `kernels/joint.cuh`: Joint.
#[repr(C)]
#[derive(Debug, Clone, Copy, Pod, Zeroable)]
pub(crate) struct JointArgs {
    mail: [u64; MAX_REPLICAS],
    rank: u32,
    world: u32,
}

impl JointArgs {
    /// Of a launch that is one GPU's own.
    pub fn alone() -> JointArgs {
        JointArgs { world: 1, ..JointArgs::zeroed() }
    }
}

/// A replica's part in joint launches. Its mail is written by the others until the last of them has ended, which
/// every launch's last meeting says.
pub(crate) struct Joint {
    _mail: DeviceBuffer<u64>,
    /// What a kernel is told.
    pub args: JointArgs,
}

/// Whether kernels of these GPUs, one a replica, can meet.
fn can_join<G: PartialEq>(gpus: &[G], collective: &str) -> bool {
    let apart = gpus.iter().enumerate().all(|(i, gpu)| !gpus[..i].contains(gpu));
    gpus.len() > 1 && collective == "peer" && apart
}

impl FleetInfo {
    /// Whether joint launches can be made: several GPUs, a replica each, that read and write each other's memory.
    pub(crate) fn can_join(&self) -> bool {
        let gpus: Vec<&str> = self.devices.iter().map(|d| d.device.as_str()).collect();
        can_join(&gpus, &self.collective)
    }
}

impl Replica {
    /// As [`FleetInfo::can_join`].
    pub(crate) fn can_join(&self) -> bool {
        let Backend::Cuda(device) = &self.backend else { return false };
        can_join(&device.fleet, self.collective())
    }

    /// Makes ready for joint launches. A meeting.
    pub(crate) fn join_launches(&mut self) -> Result<Joint> {
        // Redundant replicas may have counted differently.
        self.meet_as(0);
        let mail = self.device()?.alloc::<u64>("mail", MAIL_WORDS)?;
        // Nobody writes into it before it is cleared.
        self.quiet()?;
        let mail_of = self.addresses("mail", mail.pointer())?;
        let (rank, world) = (self.rank() as u32, self.world() as u32);
        Ok(Joint { _mail: mail, args: JointArgs { mail: mail_of, rank, world } })
    }

    /// Everybody's `own`, by rank. A meeting.
    pub(crate) fn addresses(
        &mut self,
        label: &'static str,
        own: u64,
    ) -> Result<[u64; MAX_REPLICAS]> {
        let mut all = [0; MAX_REPLICAS];
        let told = self.agree(label, [own, 0, 0, 0])?;
        all.iter_mut().zip(told).for_each(|(to, payload)| *to = payload[0]);
        Ok(all)
    }
}
