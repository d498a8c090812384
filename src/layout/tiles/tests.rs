use super::*;
use crate::device::kernels::hive::ArcForm;
use crate::fleet::{Fleet, FleetConfig};
use crate::generate::generate;
use crate::layout::{PrepareOptions, Prepared};
use std::sync::Arc;

#[test]
fn cells_are_packed_into_tiles_that_they_fit() {
    let sizes = [512, 3, 127, 500, 100, 1, 128, 100, 127, 127, 127, 127, 2, 400];
    let (tile_of, bounds) = pack(&sizes);
    assert_eq!(tile_of, [0, 1, 1, 2, 1, 1, 3, 1, 1, 4, 4, 4, 4, 5]);
    assert_eq!(bounds, [0, 512, 970, 1470, 1598, 1981, 2381]);
    assert_eq!(pack(&[]), (vec![], vec![0]));
    // As many tiles as there can be.
    for sizes in [vec![SMALL; 40], [vec![SMALL - 1; 5], vec![SMALL; 7]].concat(), vec![1; 5000]] {
        let (_, bounds) = pack(&sizes);
        let nodes = sizes.iter().sum::<u32>() as usize;
        assert!(bounds.len() - 1 <= most(nodes), "{} of {nodes}", bounds.len() - 1);
        assert!(bounds.windows(2).all(|tile| tile[1] - tile[0] <= TILE_NODES));
        assert_eq!(*bounds.last().unwrap() as usize, nodes);
    }
}

/// Every node has a slot, every arc is in the row of its slot, and the facts are right.
#[test]
fn slots_have_the_arcs_of_their_nodes() {
    let Ok(fleet) =
        Fleet::open(FleetConfig { devices: "cuda:0".parse().unwrap(), ..FleetConfig::default() })
    else {
        return crate::skips::skipped("no CUDA device, tiles were NOT made");
    };
    // A graph whose words hold weights, one whose do not, one with rows beyond four, one of a single tile, one line.
    for (spec, paying) in [
        ("grid:70x90", true),
        ("road:14", true),
        ("torus:100x100", true),
        ("grid:9x13", true),
        ("chain:5000", true),
        ("uniform:9000,ef=2", false),
    ] {
        let graph = Arc::new(generate(spec).unwrap());
        let prepared = Prepared::new(&fleet, graph.clone(), PrepareOptions::default()).unwrap();
        let weighted = prepared.weighted(&fleet).unwrap();
        assert!(weighted.layout.label_of.is_none(), "{spec}: labels are not nodes");
        let shared = weighted.clone();
        let made = fleet.run(move |r| {
            let on = shared.on_device(0)?;
            let rows = TileRows {
                offsets: on.out.offsets.pointer(),
                arcs: on.out.arcs.pointer(),
                form: ArcForm { ..on.form },
                packed: on.packed,
                weighted: true,
                nodes: on.active,
                count: on.count,
            };
            let Some(made) = Tiles::new(r.device_mut()?, &rows)? else { return Ok(None) };
            let words = [&made.slot_of, &made.tile_of, &made.heads, &made.rests, &made.rest];
            let words: Vec<Vec<u32>> =
                words.into_iter().map(|array| array.to_vec()).collect::<Result<_, _>>()?;
            let weights = [made.weights.to_vec()?, made.rest_weights.to_vec()?];
            Ok(Some((words, weights, made.tiles.to_vec()?, made.longest, made.facts)))
        });
        let made = made.unwrap().pop().unwrap();
        assert_eq!(made.is_some(), paying, "{spec}");
        let Some((words, [weights, rest_weights], tiles, longest, facts)) = made else { continue };
        let [slot_of, tile_of, heads, rests, rest] = words.try_into().unwrap();
        let n = graph.nodes();
        let mut node_of = vec![u32::MAX; n];
        for (v, slot) in slot_of.iter().enumerate() {
            assert_eq!(std::mem::replace(&mut node_of[*slot as usize], v as u32), u32::MAX);
        }
        let (mut next, mut crossing) = (0, 0);
        for (t, tile) in tiles.iter().enumerate() {
            assert_eq!((tile.first, tile.rest), (next, rests[next as usize]), "{spec}: tile {t}");
            assert!((1..=TILE_NODES).contains(&tile.size), "{spec}: tile {t}");
            next += tile.size;
            assert_eq!(tile.rest + tile.more, rests[next as usize], "{spec}: tile {t}");
            let own = tile.first as usize..next as usize;
            assert!(tile_of[own.clone()].iter().all(|of| *of as usize == t), "{spec}: tile {t}");
            assert!(node_of[own].is_sorted(), "{spec}: tile {t}");
        }
        assert_eq!(next as usize, n, "{spec}");
        assert_eq!(longest, tiles.iter().map(|tile| tile.more).max().unwrap(), "{spec}");
        for slot in 0..n {
            let v = node_of[slot] as usize;
            let mut wanted: Vec<(u32, u32)> =
                graph.neighbors(v).map(|(u, w)| (slot_of[u as usize], w.to_bits())).collect();
            let head = (4 * slot..4 * slot + 4.min(wanted.len())).map(|i| (heads[i], weights[i]));
            let more = (rests[slot] as usize..rests[slot + 1] as usize)
                .map(|i| (rest[i], rest_weights[i]));
            let mut found: Vec<(u32, u32)> =
                head.chain(more).map(|(to, w)| (to, w.to_bits())).collect();
            assert!((wanted.len()..4).all(|i| heads[4 * slot + i] == slot as u32), "{spec}: {v}");
            let leaves = |to: &&(u32, u32)| tile_of[to.0 as usize] != tile_of[slot];
            crossing += found.iter().filter(leaves).count();
            wanted.sort_unstable();
            found.sort_unstable();
            assert_eq!(found, wanted, "{spec}: node {v}");
        }
        assert_eq!(facts.tiles, tiles.len() as u64, "{spec}");
        assert_eq!(facts.crossing, crossing as f64 / graph.arcs() as f64, "{spec}");
    }
}
