//! Merges of GPUs of several hosts: over peer memory within a host, through NCCL between hosts.
//!
//! A *rail* is one replica of each host. It has an NCCL communicator of its own, and no two of its replicas share a GPU. There are as
//! many rails as the host with the fewest GPUs has GPUs. An array is cut into one piece a rail; a small array has fewer pieces, and
//! the rails that are left over rest.
//!
//! To combine copies (Or, Min, Max, Sum): on each host the replica of a rail reduces the rail's piece from all copies of its host.
//! NCCL combines what the replicas of the rail have. Then all replicas of the host fetch the piece.
//!
//! To gather chunks: the replicas of a host fetch each other's chunks. Each rail hands its piece of these to the other hosts. Then all
//! replicas of a host fetch what its rails were handed.
//!
//! So an element crosses the network once for each other host, not once for each other replica. Copies are combined in rank order
//! within a host; between hosts in NCCL's order.

use super::kernels::{Meets, Piece};
use super::nccl::{Communicator, UniqueId};
use super::peer::{Neighbour, PeerCollective};
use super::{Collective, MergeOp, SLICE_ALIGN, Seat, Span, Split, apart};
use crate::device::CudaDevice;
use crate::error::Result;
use std::ops::Range;
use std::sync::Arc;

/// Which replicas are on which host, and on which rail.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hosts {
    /// By host, the ranks of its replicas.
    ranks: Vec<Range<usize>>,
    /// By rail and host, the rank of the rail's replica there.
    rails: Vec<Vec<usize>>,
}

/// Bytes of a piece, at least. A smaller merge takes as long as NCCL takes to start and hosts to meet, so more rails would not help.
/// This is an estimate: it has not been measured on a network.
const PIECE: u64 = 1 << 18;

impl Hosts {
    /// Of hosts with these ranks, where `gpus` tells by rank which GPU a replica is on. None where no host has several replicas, since
    /// NCCL alone does as well; and where a rail would have a GPU twice, which NCCL refuses.
    pub fn of(ranks: Vec<Range<usize>>, gpus: &[u32]) -> Option<Hosts> {
        if ranks.len() < 2 || ranks.iter().all(|ranks| ranks.len() < 2) {
            return None;
        }
        let first =
            |rank: &usize, ranks: &Range<usize>| !gpus[ranks.start..*rank].contains(&gpus[*rank]);
        let own = |ranks: &Range<usize>| -> Vec<usize> {
            ranks.clone().filter(|rank| first(rank, ranks)).collect()
        };
        let firsts: Vec<Vec<usize>> = ranks.iter().map(own).collect();
        let count = firsts.iter().map(Vec::len).min().unwrap_or(0);
        let rail = |at: usize| firsts.iter().map(|ranks| ranks[at]).collect();
        let rails: Vec<Vec<usize>> = (0..count).map(rail).collect();
        let used = |rail: &Vec<usize>| rail.iter().map(|rank| gpus[*rank]).collect::<Vec<_>>();
        let once = rails.iter().all(|rail| apart(&used(rail)));
        (count > 0 && once).then_some(Hosts { ranks, rails })
    }

    /// How many rails there are.
    pub fn rails(&self) -> usize {
        self.rails.len()
    }

    /// The host of a replica.
    fn host_of(&self, rank: usize) -> usize {
        self.ranks.iter().position(|ranks| ranks.contains(&rank)).unwrap_or(0)
    }

    /// The rail of a replica, if it is on one.
    fn rail_of(&self, rank: usize) -> Option<usize> {
        self.rails.iter().position(|rail| rail.contains(&rank))
    }

    /// A range of elements of `size` bytes, cut into pieces, one a rail. The last ones may be empty.
    fn pieces(&self, of: Range<u64>, size: u64) -> Vec<Range<u64>> {
        let length = of.end - of.start;
        let count = (length * size / PIECE).clamp(1, self.rails() as u64) as usize;
        let split = Split::nodes(length, count, SLICE_ALIGN);
        let piece = |at: usize| match at < count {
            true => of.start + split.range(at).start..of.start + split.range(at).end,
            false => of.end..of.end,
        };
        (0..self.rails()).map(piece).collect()
    }
}

/// Merges over peer memory and NCCL.
pub(crate) struct HierarchicalCollective {
    near: PeerCollective,
    hosts: Arc<Hosts>,
    /// The own host.
    host: usize,
    /// The rail, where the replica is on one.
    rail: Option<(usize, Communicator)>,
}

impl HierarchicalCollective {
    /// Of a replica of these hosts, whose rails' communicators have these `ids`, and whose process has these `neighbours`. All
    /// replicas call it.
    pub fn new(
        device: &mut CudaDevice,
        seat: &Seat,
        (hosts, ids): (Arc<Hosts>, &[UniqueId]),
        neighbours: &[Neighbour],
    ) -> Result<HierarchicalCollective> {
        let host = hosts.host_of(seat.rank);
        let near = PeerCollective::new(device, seat, hosts.ranks[host].clone(), neighbours, false)?;
        let rail = match hosts.rail_of(seat.rank) {
            None => None,
            Some(rail) => {
                let place = (host, hosts.ranks.len());
                Some((rail, Communicator::join(device, seat, ids[rail], place)?))
            }
        };
        Ok(HierarchicalCollective { near, hosts, host, rail })
    }

    /// Where this replica fetches `ranges` from, one a rail: from the replica of the rail on this host. That of its own rail it has.
    /// `places` are where it finds the copies of its host.
    fn of_rails(&self, ranges: &[Range<u64>], size: u64, places: &[u64]) -> Vec<Piece> {
        let own = self.rail.as_ref().map(|(rail, _)| *rail);
        let first = self.hosts.ranks[self.host].start;
        let others = ranges.iter().enumerate().filter(|(rail, _)| Some(*rail) != own);
        let piece = |(rail, range): (usize, &Range<u64>)| {
            let place = places[self.hosts.rails[rail][self.host] - first];
            (place, range.start * size..range.end * size)
        };
        others.map(piece).filter(|(_, bytes)| !bytes.is_empty()).collect()
    }

    fn combine(&mut self, seat: &Seat, span: Span, split: &Split, places: &[u64]) -> Result<()> {
        let (ticket, size) = (span.ticket(seat, split.fingerprint()), span.dtype.size() as u64);
        let pieces = self.hosts.pieces(0..span.length, size);
        let own = self.rail.as_ref().map_or(0..0, |(rail, _)| pieces[*rail].clone());
        let meets = Meets { before: true, after: false };
        self.near.shot(seat, ticket, meets, |kernels, part| {
            kernels.reduce(&span, places, own.clone(), part)
        })?;
        if let Some((_, rail)) = &mut self.rail
            && !own.is_empty()
        {
            let (address, length) = (span.address + own.start * size, own.end - own.start);
            rail.reduce(seat, Span { address, length, ..span })?;
        }
        let fetched = self.of_rails(&pieces, size, places);
        let meets = Meets { before: true, after: true };
        self.near
            .shot(seat, ticket, meets, |kernels, part| kernels.fetch(span.address, &fetched, part))
    }

    fn gather(&mut self, seat: &Seat, span: Span, split: &Split, places: &[u64]) -> Result<()> {
        let (ticket, size) = (span.ticket(seat, split.fingerprint()), span.dtype.size() as u64);
        let chunks = self.near.others(&span, places, split);
        let meets = Meets { before: true, after: false };
        self.near.shot(seat, ticket, meets, |kernels, part| {
            kernels.fetch(span.address, &chunks, part)
        })?;
        // By host, the pieces of what its replicas have.
        let of_host = |ranks: &Range<usize>| {
            let all = split.range(ranks.start).start..split.range(ranks.end - 1).end;
            self.hosts.pieces(all, size)
        };
        let pieces: Vec<Vec<Range<u64>>> = self.hosts.ranks.iter().map(of_host).collect();
        if let Some((at, rail)) = &mut self.rail {
            let of_rail: Vec<Range<u64>> =
                pieces.iter().map(|pieces| pieces[*at].clone()).collect();
            rail.gather(seat, &span, &of_rail)?;
        }
        let far = pieces.iter().enumerate().filter(|(host, _)| *host != self.host);
        let fetched: Vec<Piece> =
            far.flat_map(|(_, pieces)| self.of_rails(pieces, size, places)).collect();
        let meets = Meets { before: true, after: true };
        self.near
            .shot(seat, ticket, meets, |kernels, part| kernels.fetch(span.address, &fetched, part))
    }
}

impl Collective for HierarchicalCollective {
    fn name(&self) -> &'static str {
        "hierarchical"
    }

    fn reserve(&mut self, _seat: &Seat, span: Span) -> Result<()> {
        let size = span.dtype.size() as u64;
        match &mut self.rail {
            Some((at, rail)) => {
                let piece = self.hosts.pieces(0..span.length, size)[*at].clone();
                rail.reserve(&Span { length: piece.end - piece.start, ..span })
            }
            None => Ok(()),
        }
    }

    fn abandon(&mut self) {
        // NCCL's kernels do not look at the fleet's word of abort.
        if let Some((_, rail)) = &mut self.rail {
            rail.abort();
        }
    }

    fn merge(&mut self, seat: &Seat, span: Span, split: &Split) -> Result<()> {
        span.check()?;
        let ticket = span.ticket(seat, split.fingerprint());
        let (seen, places) = self.near.found(seat, ticket, [span.address, 0, 0, span.alike])?;
        if span.is_same(&seen) {
            return Ok(());
        }
        let merged = match span.op {
            MergeOp::Gather => self.gather(seat, span, split, &places),
            _ => self.combine(seat, span, split, &places),
        };
        merged.map_err(|error| seat.rendezvous.blamed(error))
    }

    fn meets_on_devices(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(counts: &[usize], gpus: &[u32]) -> Option<Hosts> {
        let start = |host: usize| counts[..host].iter().sum::<usize>();
        Hosts::of((0..counts.len()).map(|host| start(host)..start(host + 1)).collect(), gpus)
    }

    #[test]
    fn there_are_as_many_rails_as_every_host_has_gpus() {
        let rails = |counts: &[usize], gpus: &[u32]| hosts(counts, gpus).map(|hosts| hosts.rails);
        assert_eq!(rails(&[2, 2], &[0, 1, 2, 3]), Some(vec![vec![0, 2], vec![1, 3]]));
        assert_eq!(rails(&[2, 2], &[0, 0, 1, 1]), Some(vec![vec![0, 2]]));
        assert_eq!(rails(&[1, 3, 2], &[0, 1, 2, 3, 4, 5]), Some(vec![vec![0, 1, 4]]));
        assert_eq!(rails(&[4, 3], &[0, 0, 1, 1, 2, 2, 3]), Some(vec![vec![0, 4], vec![2, 6]]));
        assert_eq!(rails(&[1, 1], &[0, 1]), None);
        assert_eq!(rails(&[4], &[0, 1, 2, 3]), None);
        // Containers of one machine, which share its GPUs.
        assert_eq!(rails(&[2, 2], &[0, 1, 0, 1]), None);
        assert_eq!(rails(&[2, 2], &[0, 1, 1, 0]), Some(vec![vec![0, 2], vec![1, 3]]));
    }

    #[test]
    fn pieces_cover_a_range_and_small_ranges_are_one_piece() {
        let hosts = hosts(&[4, 4], &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
        for (start, length) in [(0, 0), (5, 1), (64, 4096), (7, 200_000), (0, 1_000_003)] {
            let pieces = hosts.pieces(start..start + length, 4);
            assert_eq!(pieces.len(), 4);
            assert_eq!((pieces[0].start, pieces[3].end), (start, start + length));
            assert!(pieces.windows(2).all(|two| two[0].end == two[1].start));
            let used = pieces.iter().filter(|piece| !piece.is_empty()).count() as u64;
            assert_eq!(used, if length == 0 { 0 } else { (length * 4 / PIECE).clamp(1, 4) });
        }
    }
}
