use super::cut::{Costs, Part, depths};
use super::rows::{Runs, SegmentRows};
use super::teams::Gpu;
use super::*;
use crate::fleet::{Fleet, FleetConfig, FleetInfo, Pretend};
use crate::generate::generate;
use crate::graph::{Graph, Origin};
use crate::layout::{ColumnRows, Columns, Layout, PrepareOptions, Prepared};
use std::ops::Range;
use std::sync::Arc;

fn columns(graph: &Graph) -> Columns {
    Columns::new(graph, Layout::Degree).unwrap()
}

/// Twelve rows of up to thousands of arcs, many of them parallel, between rows of none and one.
fn lumpy() -> Graph {
    let mut arcs = Vec::new();
    for i in 0..30_000u64 {
        let row = (i * i) % 12 * 83;
        arcs.push(((i * 7919 % 1000) as u32, row as u32));
        if i % 50 == 0 {
            arcs.push(((i % 1000) as u32, (i / 50) as u32));
        }
    }
    let (from, to): (Vec<u32>, Vec<u32>) = arcs.into_iter().unzip();
    Graph::from_arcs(1000, &from, &to, None, Origin::default()).unwrap()
}

fn cut(width: usize, segments: Option<usize>, in_turn: bool) -> SegmentOptions {
    SegmentOptions {
        width,
        segments,
        teams: Some(1),
        multiprocessors: 132,
        l2_bytes: 50 << 20,
        redundant: false,
        in_turn,
    }
}

fn segments(rows: &ColumnRows, world: usize, options: SegmentOptions) -> Segments {
    let blocks = RowBlocks::new(rows, options.width);
    Segments::new(rows, &blocks, blocks.count(rows), world, options)
}

/// The rows of a replica's slots.
fn rows_of(cut: &Segments, rank: usize) -> Vec<u32> {
    cut.own_rows(Some(rank)).into_iter().flatten().map(|row| row as u32).collect()
}

fn graphs() -> Vec<(&'static str, Graph)> {
    vec![
        ("R-MAT", generate("rmat:12").unwrap()),
        ("grid", generate("grid:40x50").unwrap()),
        ("star", generate("star:3000").unwrap()),
        ("chain", generate("chain:2000").unwrap()),
        ("lumpy", lumpy()),
        ("no arcs", Graph::from_csr(vec![0; 4], vec![], None, Origin::default()).unwrap()),
    ]
}

/// The arcs (row, source) of chunks `chunks`, in the order in which they are added up. `open` is the row of the run
/// that goes on into the first.
fn arcs_of(
    part: &Runs<u32>,
    chunks: Range<usize>,
    open: Option<u32>,
    pads: u32,
) -> Vec<(Option<u32>, u32)> {
    let (mut row, mut arcs) = (open, Vec::new());
    for chunk in chunks {
        let mut run = part.first[chunk] as usize;
        let mut begun = 0;
        for lane in 0..32 {
            let marks = part.marks[chunk * 32 + lane];
            assert_eq!(marks >> 8, begun, "runs before lane {lane} of chunk {chunk}");
            for i in 0..LANE {
                if marks >> i & 1 == 1 {
                    row = Some(part.rows[run]);
                    (run, begun) = (run + 1, begun + 1);
                }
                let column = part.columns[chunk * CHUNK + lane * LANE + i];
                if column != pads {
                    arcs.push((row, column));
                }
            }
        }
    }
    arcs
}

/// Near arcs with their sources' labels, or far ones in lane order again.
fn plain(made: &SegmentRows, segment: Option<usize>, width: usize) -> Runs<u32> {
    let half = LANE / 2;
    let columns = match segment {
        Some(s) => {
            let label = |c: &u16| match usize::from(*c) {
                pad if pad == width => u32::MAX,
                c => (s * width + c) as u32,
            };
            made.near.columns.iter().map(label).collect()
        }
        None => {
            let mut columns = made.far.columns.clone();
            for (chunk, from) in columns.chunks_mut(CHUNK).zip(made.far.columns.chunks(CHUNK)) {
                for (at, column) in chunk.iter_mut().enumerate() {
                    let (lane, i) = (at / LANE, at % LANE);
                    *column = from[i / half * (CHUNK / 2) + lane * half + i % half];
                }
            }
            columns
        }
    };
    let (marks, first, rows) = match segment {
        Some(_) => (&made.near.marks, &made.near.first, &made.near.rows),
        None => (&made.far.marks, &made.far.first, &made.far.rows),
    };
    Runs { columns, marks: marks.clone(), first: first.clone(), rows: rows.clone() }
}

/// The groups of a segment, or, behind the last, the far ones.
fn groups_of(made: &SegmentRows, cut: &Segments, s: usize) -> Vec<usize> {
    let range = |part: &[u32]| part[0] as usize..part[1] as usize;
    match s < cut.count {
        true => made.parts.windows(2).skip(s).step_by(cut.count).flat_map(range).collect(),
        false => (made.parts[made.parts.len() - 1] as usize..made.groups.len()).collect(),
    }
}

/// All arcs (row, source) of a replica, and whether groups that begin inside of a run say so.
fn unpacked(made: &SegmentRows, cut: &Segments, active: u32) -> Vec<(u32, u32)> {
    let mut arcs = Vec::new();
    for s in 0..=cut.count {
        let near = (s < cut.count).then_some(s);
        let part = plain(made, near, cut.width);
        for g in groups_of(made, cut, s) {
            let [first, chunks] = made.groups[g];
            let open = made.carries.iter().find(|(_, group)| *group as usize == g);
            let open = open.map(|carry| carry.0);
            let chunks = first as usize..(first + chunks) as usize;
            let pads = if near.is_some() { u32::MAX } else { active };
            for (row, source) in arcs_of(&part, chunks, open, pads) {
                let row = row.unwrap_or_else(|| panic!("group {g} begins in nobody's run"));
                arcs.push((row, source));
            }
        }
    }
    arcs
}

#[test]
fn segments_and_far_arcs_hold_every_arc_once_for_any_number_of_replicas() {
    for (name, graph) in graphs() {
        let columns = columns(&graph);
        let rows = columns.in_rows();
        let active = columns.active as u32;
        let of = |v: u32| rows.row(v as usize).iter().map(move |u| (v, *u));
        let expected: Vec<(u32, u32)> = (0..active).flat_map(of).collect();
        for (width, asked) in
            [(64, Some(3)), (128, Some(64)), (400, Some(0)), (48_000, Some(1)), (100, None)]
        {
            for world in [1, 3, 5] {
                for in_turn in [false, true] {
                    let cut = segments(rows, world, cut(width, asked, in_turn));
                    let mut arcs = Vec::new();
                    for rank in 0..world {
                        let made = cut.lay_out(rows, Some(rank));
                        let own = rows_of(&cut, rank);
                        assert_eq!(made.slots as usize, own.len(), "{name}");
                        let part = unpacked(&made, &cut, active);
                        arcs.extend(part.iter().map(|(slot, u)| (own[*slot as usize], *u)));
                    }
                    arcs.sort_unstable();
                    assert_eq!(arcs, expected, "{name}, {asked:?} of {width}, {world} replicas");
                }
            }
        }
    }
}

/// A row's sum as the kernel makes it, in f32: lanes, then chunks, then groups, carries last.
fn sums(cut: &Segments, rows: &ColumnRows, world: usize, value: &[f32]) -> Vec<u32> {
    let active = rows.offsets.len() - 1;
    let mut all = vec![0f32; active];
    for rank in 0..world {
        let own = rows_of(cut, rank);
        let mut gathered = vec![0f32; own.len()];
        let made = cut.lay_out(rows, Some(rank));
        let mut carry = vec![0f32; made.groups.len()];
        for s in 0..=cut.count {
            let near = (s < cut.count).then_some(s);
            let part = plain(&made, near, cut.width);
            let pads = if near.is_some() { u32::MAX } else { active as u32 };
            for g in groups_of(&made, cut, s) {
                let (carry, [first, chunks]) = (&mut carry[g], made.groups[g]);
                let (mut open, mut row) = (0f32, None);
                for chunk in first as usize..(first + chunks) as usize {
                    let mut run = part.first[chunk] as usize;
                    for lane in 0..32 {
                        let marks = part.marks[chunk * 32 + lane];
                        let mut sum = 0f32;
                        let mut begun = false;
                        for i in 0..LANE {
                            if marks >> i & 1 == 1 {
                                let whole = if begun { sum } else { open + sum };
                                match row {
                                    Some(row) => gathered[row as usize] += whole,
                                    None => *carry = whole,
                                }
                                row = Some(part.rows[run]);
                                (run, begun, sum) = (run + 1, true, 0.0);
                            }
                            let column = part.columns[chunk * CHUNK + lane * LANE + i];
                            sum += if column == pads { 0.0 } else { value[column as usize] };
                        }
                        open = if begun { sum } else { open + sum };
                    }
                }
                match row {
                    Some(row) => gathered[row as usize] += open,
                    None => *carry = open,
                }
            }
        }
        made.carries.iter().for_each(|(row, g)| gathered[*row as usize] += carry[*g as usize]);
        own.iter().zip(gathered).for_each(|(row, sum)| all[*row as usize] = sum);
    }
    all.into_iter().map(f32::to_bits).collect()
}

#[test]
fn a_row_s_sum_is_right_and_has_the_same_bits_whoever_has_the_row() {
    for (name, graph) in graphs() {
        let columns = columns(&graph);
        let rows = columns.in_rows();
        let value: Vec<f32> = (0..columns.active).map(|v| 1.0 / (v as f32 + 3.0)).collect();
        for (width, asked) in [(64, Some(4)), (48_000, Some(1)), (100, Some(0))] {
            let made = |world, in_turn| {
                let cut = segments(rows, world, cut(width, asked, in_turn));
                sums(&cut, rows, world, &value)
            };
            let one = made(1, false);
            for world in [2, 3, 5] {
                assert!(made(world, false) == one, "{name}, {width}");
                assert!(made(world, true) == one, "{name}, {width}, in turn");
            }
            for (v, sum) in one.into_iter().map(f32::from_bits).enumerate() {
                let exact: f64 = rows.row(v).iter().map(|u| f64::from(value[*u as usize])).sum();
                let off = (f64::from(sum) - exact).abs();
                assert!(off <= 1e-5 * exact, "{name}, row {v}: {sum} is {exact}");
            }
        }
    }
}

#[test]
fn segments_are_made_where_they_pay() {
    let rmat = columns(&generate("rmat:17").unwrap());
    let asked = cut(48_000, None, false);
    let cut = segments(rmat.in_rows(), 1, asked);
    assert!(cut.count >= 1, "a skewed graph's hubs are worth a segment");
    assert!(cut.near * 2 > rmat.in_rows().arcs(), "{} arcs in segments", cut.near);
    let grid = columns(&generate("grid:40x50").unwrap());
    assert_eq!(segments(grid.in_rows(), 1, asked).count, 0, "a small one's are not");
}

#[test]
fn a_block_has_the_segments_that_it_gains_by() {
    let part = |arcs, runs| Part { arcs, runs, ends: 0 };
    let rich = vec![part(10_000_000, 1_000_000), part(9_000_000, 1_000_000), part(0, 0)];
    // Three arcs in two runs save three ps; one in one would lose.
    let poor = vec![part(3_000_000, 2_000_000), part(0, 0), part(5, 5)];
    assert_eq!(depths(&[rich, poor], 2, Costs { far: 7, run: 6 }), [2, 1]);
    assert_eq!(
        depths(&[vec![part(1000, 10), part(0, 0)]], 1, Costs { far: 7, run: 6 }),
        [0],
        "too little for a pass"
    );
}

#[test]
fn rows_dealt_in_turn_are_as_many_for_everybody() {
    let columns = columns(&generate("rmat:16").unwrap());
    let rows = columns.in_rows();
    for world in [2, 3, 4, 8] {
        let dealt = segments(rows, world, cut(1024, Some(4), true));
        let own = |rank| rows_of(&dealt, rank);
        let arcs = |rank| own(rank).iter().map(|v| rows.row(*v as usize).len()).sum::<usize>();
        let lengths: Vec<usize> = (0..world).map(|rank| own(rank).len()).collect();
        let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
        assert!(*most < least * 5 / 4, "{lengths:?}");
        let arcs: Vec<usize> = (0..world).map(arcs).collect();
        let (least, most) = (arcs.iter().min().unwrap(), arcs.iter().max().unwrap());
        assert!(*most < least * 5 / 4, "{arcs:?}");
    }
}

fn gpu(sharers: u64) -> Gpu {
    Gpu { multiprocessors: 132, blocks: 1056 / sharers, sharers }
}

fn falling() -> Vec<u64> {
    (0..46).map(|s| 680_000_000 / (s + 1)).collect()
}

#[test]
fn every_segment_has_one_team_and_every_team_blocks() {
    for asked in [None, Some(1), Some(3), Some(8), Some(20)] {
        let teams = Teams::new(&falling(), asked, gpu(4));
        let cut = teams.cut();
        assert_eq!((cut[0], cut[cut.len() - 1]), (0, 46), "{asked:?}");
        assert!(cut.windows(2).all(|pair| pair[0] < pair[1]), "{cut:?}");
        assert_eq!(teams.count(), asked.unwrap_or(TEAMS).min(MOST_TEAMS));
        for grid in [1, 2, 7, 33, 132, 264] {
            let blocks = teams.blocks(grid);
            assert_eq!(blocks.len(), teams.count());
            assert!(blocks.iter().all(|range| !range.is_empty() && range.end <= grid));
            let apart = blocks.windows(2).all(|pair| pair[0].end == pair[1].start);
            let alike = blocks.iter().all(|range| *range == (0..grid));
            assert!(if grid >= 132 { apart } else { apart || alike }, "{blocks:?} of {grid}");
        }
    }
}

#[test]
fn the_cut_follows_from_the_graph_alone() {
    for asked in [None, Some(2), Some(8)] {
        let first = Teams::new(&falling(), asked, gpu(1));
        for sharers in [2, 3, 5, 8, 16] {
            assert_eq!(Teams::new(&falling(), asked, gpu(sharers)).cut(), first.cut());
        }
        for multiprocessors in [1, 16, 108, 148] {
            let other = Gpu { multiprocessors, ..gpu(2) };
            assert_eq!(Teams::new(&falling(), asked, other).cut(), first.cut());
        }
    }
}

#[test]
fn a_team_with_more_to_do_has_more_multiprocessors() {
    // The hubs' segment is three times as much as all others.
    let load: Vec<u64> = (0..11).map(|s| if s == 0 { 1_200_000_000 } else { 40_000_000 }).collect();
    let teams = Teams::new(&load, Some(2), gpu(4));
    let (cut, blocks) = (teams.cut(), teams.blocks(132));
    let of = |team: usize| load[cut[team]..cut[team + 1]].iter().sum::<u64>();
    assert_eq!(blocks[0].end, blocks[1].start);
    assert!(of(0) > of(1) && blocks[0].len() > blocks[1].len(), "{blocks:?} of {cut:?}");
}

#[test]
fn few_segments_and_none_have_one_team() {
    assert_eq!(Teams::new(&[1_000_000; 6], None, gpu(4)).count(), 1);
    assert_eq!(Teams::new(&[], None, gpu(4)).count(), 1);
    assert_eq!(Teams::new(&[], Some(4), gpu(1)).count(), 1);
}

/// Arrays that a device made.
struct Made {
    columns: Vec<u32>,
    marks: Vec<u16>,
    first: Vec<u32>,
    rows: Vec<u32>,
}

#[test]
fn arrays_made_on_a_gpu_are_those_of_the_host() {
    let config = FleetConfig { devices: "cuda:0".parse().unwrap(), ..FleetConfig::default() };
    let Ok(fleet) = Fleet::open(config) else {
        return crate::skips::skipped("no CUDA device, segments made on GPUs were NOT compared");
    };
    let mut graphs = graphs();
    graphs.push(("large R-MAT", generate("rmat:17").unwrap()));
    for (name, graph) in graphs {
        let graph = Arc::new(graph);
        let host = columns(&graph);
        let options = PrepareOptions { layout: Layout::Degree, ..PrepareOptions::default() };
        let prepared = Prepared::new(&fleet, graph.clone(), options).unwrap();
        let rows = prepared.topology(&fleet).unwrap();
        for (width, asked) in [(1024, None), (64, Some(3)), (48_000, Some(128)), (16, Some(0))] {
            let options = cut(width, asked, true);
            let blocks = Arc::new(RowBlocks::new(host.in_rows(), width));
            let (shared, counted) = (rows.clone(), blocks.clone());
            let parts = fleet
                .run(move |r| {
                    let graph = shared.on_device(0)?;
                    counted.count_on(r.device_mut()?, graph, graph.in_rows())
                })
                .unwrap()
                .remove(0);
            let what = format!("{name}, {asked:?} of {width}");
            assert!(parts == blocks.count(host.in_rows()), "{what}: parts");
            let cut = Arc::new(Segments::new(host.in_rows(), &blocks, parts, 3, options));
            for rank in [None, Some(0), Some(2)] {
                let wanted = cut.lay_out(host.in_rows(), rank);
                let shape = cut.shape(rank);
                assert_eq!(
                    (&shape.groups, &shape.parts),
                    (&wanted.groups, &wanted.parts),
                    "{what}"
                );
                assert_eq!(shape.slots, wanted.slots, "{what}");
                let (shared, cut) = (rows.clone(), cut.clone());
                let made =
                    fleet.run(move |r| {
                        let graph = shared.on_device(0)?;
                        let device = r.device_mut()?;
                        let allocate = |shape: RunShape, bits: usize| -> crate::Result<_> {
                            Ok((
                                device.alloc::<u32>("columns", shape.chunks * CHUNK * bits / 32)?,
                                device.alloc::<u16>("marks", shape.chunks * 32)?,
                                device.alloc::<u32>("first", shape.chunks)?,
                                device.alloc::<u32>("rows", shape.runs)?,
                            ))
                        };
                        let both = [allocate(shape.near, 16)?, allocate(shape.far, 32)?];
                        let runs = both.each_ref().map(|(columns, marks, first, rows)| {
                            DeviceRuns { columns, marks, first, rows }
                        });
                        let carries = shape.fill(device, (graph, graph.in_rows()), &cut, runs)?;
                        let read = |runs: DeviceRuns<'_>| -> crate::Result<Made> {
                            let (columns, marks) = (runs.columns.to_vec()?, runs.marks.to_vec()?);
                            let (first, rows) = (runs.first.to_vec()?, runs.rows.to_vec()?);
                            Ok(Made { columns, marks, first, rows })
                        };
                        Ok((carries, read(runs[0])?, read(runs[1])?))
                    });
                let (carries, near, far) = made.unwrap().remove(0);
                assert_eq!(carries, wanted.carries, "{what}: carries");
                let near_columns: Vec<u16> = bytemuck::pod_collect_to_vec(&near.columns);
                assert!(near_columns == wanted.near.columns, "{what}: near columns");
                assert!(far.columns == wanted.far.columns, "{what}: far columns");
                assert!(near.marks == wanted.near.marks && far.marks == wanted.far.marks, "{what}");
                assert_eq!(
                    (near.first, far.first),
                    (wanted.near.first, wanted.far.first),
                    "{what}"
                );
                assert_eq!((near.rows, far.rows), (wanted.near.rows, wanted.far.rows), "{what}");
            }
        }
    }
}

/// A fleet of one GPU of a model.
fn fleet_of(model: &Pretend) -> FleetInfo {
    FleetInfo {
        backend: "cuda".into(),
        world: 1,
        devices: vec![model.info()],
        ..Default::default()
    }
}

#[test]
fn segments_fit_the_shared_memory_of_every_gpu() {
    let wanted = |name: &str| match name {
        "v100" | "v100-16" => 15_000,
        "t4" => 6_000,
        "a100" | "a100-40" => 32_000,
        "l40s" | "rtx5090" => 15_000,
        _ => 48_000,
    };
    for model in Pretend::all() {
        let fleet = fleet_of(&model);
        let width = Segments::width_on(&fleet, None).unwrap();
        assert_eq!(width, wanted(&model.to_string()), "{model}");
        let bytes = 4 * segment_words(width as u32);
        assert!(bytes <= fleet.devices[0].shared_bytes, "{model}: {bytes}");
        assert!(Segments::width_on(&fleet, Some(width as u32 + 1)).is_err(), "{model}");
    }
}

#[test]
fn a_smaller_cache_makes_segments_pay_sooner() {
    let far = |l2_mib: u64| far_ps(4 << 20, l2_mib << 20);
    assert!(
        far(6) > far(40) && far(40) >= far(50) && far(50) == far(126),
        "{} {}",
        far(6),
        far(40)
    );
    // As on the GPUs on which costs were measured.
    assert_eq!([8 << 20, 16 << 20, 17 << 20].map(|nodes| far_ps(nodes, 60 << 20)), [7, 13, 25]);
}
