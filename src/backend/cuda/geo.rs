//! The steps of geolocation on a GPU: a thin hand that fills in the kernels' arguments.

use super::device::CudaDevice;
use crate::algorithm::geo::{Done, State, Wave};
use crate::backend::host::geo::Effort;
use crate::error::{Error, Result};
use crate::fleet::Split;
use crate::graph::Graph;

/// A graph's out-arcs on one device, in the input's order.
pub(crate) struct DeviceRows {}

impl DeviceRows {
    pub fn new(_: &mut CudaDevice, _: &Graph) -> Result<DeviceRows> {
        Err(not_yet())
    }

    pub fn bytes(&self) -> u64 {
        0
    }
}

fn not_yet() -> Error {
    Error::machine("geo does not run on GPUs yet; use --devices host:N")
}

/// What a replica's steps need beside the replicated state.
pub(crate) struct Workspace {}

impl Workspace {
    pub fn new(
        _: &CudaDevice,
        _: &DeviceRows,
        _: &Graph,
        _: &[bool],
        _: (usize, usize),
    ) -> Result<Workspace> {
        Err(not_yet())
    }

    pub fn reset(&mut self, _: &CudaDevice, _: &DeviceRows, _: &State) -> Result<()> {
        Err(not_yet())
    }

    pub fn count(&mut self, _: &CudaDevice, _: &DeviceRows, _: &State) -> Result<Wave> {
        Err(not_yet())
    }

    pub fn split(&self, _: bool) -> Split {
        Split::of_lengths([])
    }

    pub fn solve(
        &mut self,
        _: &CudaDevice,
        _: &DeviceRows,
        _: &State,
        _: bool,
        _: Effort,
        _: Option<u64>,
    ) -> Result<()> {
        Err(not_yet())
    }

    pub fn settle(
        &mut self,
        _: &CudaDevice,
        _: &DeviceRows,
        _: &State,
        _: bool,
        _: u32,
    ) -> Result<()> {
        Err(not_yet())
    }

    pub fn done(&self) -> Done {
        Done::default()
    }
}
