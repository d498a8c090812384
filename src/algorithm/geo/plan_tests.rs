use super::*;

#[test]
fn places_come_back_from_vectors() {
    for (latitude, longitude) in [(0.0, 180.0), (90.0, 0.0), (-45.0, -179.5), (12.5, 0.0)] {
        let (north, east) = to_degrees(to_vector(latitude, longitude));
        assert!((north - latitude).abs() < 1e-13 && (east - longitude).abs() < 1e-13);
    }
    assert_eq!(to_degrees(to_vector(0.0, -180.0)).1, 180.0);
    assert_eq!(to_vector(90.0, 77.0), [0.0, 0.0, 1.0]);
}

#[test]
fn made_up_places_are_a_share_spread_over_the_globe() {
    let graph = crate::generate::generate("grid:100x100").unwrap();
    let [north, east] = "0.25:3".parse::<Locate>().unwrap().places(&graph);
    let located: Vec<usize> = (0..10_000).filter(|v| !north[*v].is_nan()).collect();
    assert!((2300..2700).contains(&located.len()), "{}", located.len());
    // Half of a sphere lies within 30 degrees of the equator.
    let low = located.iter().filter(|v| north[**v].abs() < 30.0).count() as f64;
    assert!((low / located.len() as f64 - 0.5).abs() < 0.05);
    assert!(located.iter().all(|v| (-180.0..180.0).contains(&east[*v])));
    let other = "0.25:4".parse::<Locate>().unwrap().places(&graph);
    assert!((0..10_000).any(|v| other[0][v].is_nan() != north[v].is_nan()));
}

/// As `geo_settle` finds the place of a result, and `node_of` the place of an item.
#[test]
fn every_place_is_dealt_once_and_found_where_its_owner_puts_it() {
    let sizes = [0u32, 1, 5, 17, 64, 7, 128, 1000, 129, 4097];
    let mut start = [0; CLASSES + 1];
    (0..CLASSES).for_each(|c| start[c + 1] = start[c] + sizes[c]);
    for world in 1..=MAX_REPLICAS {
        let deal = Deal::new(&start, world);
        let mut seen = vec![false; start[CLASSES] as usize];
        for c in 0..CLASSES {
            let unit = UNITS[c];
            for place in 0..sizes[c] {
                let dealt = place / unit;
                let rank = dealt as usize % world;
                let item = dealt / world as u32 * unit + place % unit;
                assert!(item < deal.items[rank][c], "class {c} of {world}");
                let back = (item / unit * world as u32 + rank as u32) * unit + item % unit;
                assert_eq!(back, place);
                let at = (deal.base[rank][c] + item) as usize;
                assert!(!std::mem::replace(&mut seen[at], true));
                assert!(deal.split().range(rank).contains(&(at as u64)));
            }
        }
        assert!(seen.into_iter().all(|seen| seen));
    }
}
