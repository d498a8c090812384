//! Where nodes are on the globe, from any of three formats, recognised by content:
//!
//! * HIVE `.labels` (Gunrock, `graphio/labels.cuh`): `%` comments, `NODES 2 2`, then `id latitude
//!   longitude`, or an id alone for a node without a place. Gunrock's own samples count from 0, and say so
//!   in a comment (`0-based`) or by an id 0.
//! * CSV with a header that names a column `node`, one `lat` and one `lon`; others are passed over, and
//!   so are rows without a place.
//! * DIMACS `.co` (see `dimacs`), which counts from 1.
//!
//! Ids are those of the graph's input, whatever the format. Only where a graph counts its nodes without gaps may
//! a file of places count from another first id: `--labels-first-id` says so, or the file itself.

use super::delimited::Separator;
use super::text::{self, Fault, Fields, shown};
use super::{dimacs, source};
use crate::error::{Error, Result};
use crate::graph::{Graph, MAX_NODES};

/// Places of nodes, in ascending order of ids. Nodes that are not among the ids have no place.
#[derive(Debug, Clone, PartialEq)]
pub struct Locations {
    /// The file's ids, `[k]`, rising.
    pub ids: Vec<u64>,
    /// Degrees north, `[k]`, -90 to 90.
    pub latitude: Vec<f64>,
    /// Degrees east, `[k]`, -180 to 180.
    pub longitude: Vec<f64>,
    /// The id of the first node, where the file says it: 1 in DIMACS coordinates, 0 in HIVE labels with an
    /// id 0 or a comment `0-based`.
    pub first_id: Option<u32>,
}

/// One line that places a node.
#[derive(Debug, Clone)]
pub(super) struct Place {
    id: u64,
    latitude: f64,
    longitude: f64,
    at: usize,
}

/// Reads places from HIVE labels, a CSV with a header, or DIMACS coordinates.
///
/// # Errors
/// [`Error::Input`], one line `path:line: what (value); what to do next`, for what is none of these,
/// degrees out of range and ids that are placed twice.
pub fn read_locations(path: &str) -> Result<Locations> {
    locations_in(path, &source::read_table(path)?)
}

/// The places in the unpacked content of `path`.
pub(super) fn locations_in(path: &str, bytes: &[u8]) -> Result<Locations> {
    let bytes = source::unmarked(bytes);
    let found = match dimacs::is_coordinates(bytes) {
        true => dimacs::parse_coordinates(bytes),
        false => match Columns::of(bytes) {
            Some(columns) => csv(bytes, &columns, text::wide_id, |id| format!("id {id}")),
            None => labels(bytes),
        },
    };
    let found = found.map_err(|fault| fault.into_error(path, bytes))?;
    if found.ids.is_empty() {
        return Err(Error::input(format!("{path}: places no node; give a line `id lat lon`")));
    }
    Ok(found)
}

impl Locations {
    /// Sorts places, and refuses a second one for an id.
    /// `called` says what an id is called.
    pub(super) fn of(
        mut places: Vec<Place>,
        first_id: Option<u32>,
        called: impl Fn(u64) -> String,
    ) -> Result<Locations, Fault> {
        places.sort_unstable_by_key(|place| (place.id, place.at));
        let repeated = places.windows(2).filter(|pair| pair[0].id == pair[1].id);
        if let Some(pair) = repeated.min_by_key(|pair| pair[1].at) {
            let what = format!("{} is placed twice; keep one line for it", called(pair[1].id));
            return Err(Fault::new(pair[1].at, what));
        }
        Ok(Locations {
            ids: places.iter().map(|place| place.id).collect(),
            latitude: places.iter().map(|place| place.latitude).collect(),
            longitude: places.iter().map(|place| place.longitude).collect(),
            first_id,
        })
    }
}

/// Degrees from two fields in units of which a degree has `per_degree`.
pub(super) fn place(
    id: u64,
    latitude: &[u8],
    longitude: &[u8],
    per_degree: f64,
    at: usize,
) -> Result<Place, Fault> {
    let degrees = |field: &[u8], name: &str, most: f64| {
        let Ok(value) = fast_float2::parse::<f64, _>(field) else {
            return Err(Fault::new(at, format!("not a {name} ({}); give a number", shown(field))));
        };
        let value = value / per_degree;
        // NaN is in no range.
        if !(-most..=most).contains(&value) {
            let what = format!("{name} out of range ({})", shown(field));
            return Err(Fault::new(at, format!("{what}; it must be -{most} to {most} degrees")));
        }
        Ok(value)
    };
    let latitude = degrees(latitude, "latitude", 90.0)?;
    let longitude = degrees(longitude, "longitude", 180.0)?;
    Ok(Place { id, latitude, longitude, at })
}

fn labels(bytes: &[u8]) -> Result<Locations, Fault> {
    let comment = |line: &[u8]| line.starts_with(b"%") || line.starts_with(b"#");
    let mut start = 0;
    let mut zero_based = false;
    let mut promised = None;
    for (at, line) in text::lines(bytes, 0) {
        let fields: Vec<_> = Fields::<false>(line).take(4).collect();
        if comment(line) {
            zero_based |= memchr::memmem::find(line, b"0-based").is_some();
        } else if !fields.is_empty() {
            // A place with twice the same whole number of degrees would need a leading count as well.
            let counts: Vec<_> = fields.iter().map(|field| text::integer(field)).collect();
            if let [Some(nodes), Some(a), Some(b)] = counts[..]
                && a == b
            {
                promised = Some((at, nodes));
                start = (at + line.len() + 1).min(bytes.len());
            }
            break;
        }
    }
    let parts = text::parse_parts(bytes, start, |lines| {
        let mut places = Vec::new();
        let mut seen = 0u64;
        for (at, line) in lines.filter(|(_, line)| !comment(line)) {
            let mut fields = Fields::<false>(line);
            let Some(id) = fields.next() else { continue };
            let id = text::id(id, MAX_NODES, at)?;
            seen += 1;
            match (fields.next(), fields.next(), fields.next()) {
                (None, ..) => {}
                (Some(latitude), Some(longitude), None) => {
                    places.push(place(id, latitude, longitude, 1.0, at)?);
                }
                _ => {
                    let what = format!("garbage line ({})", shown(line));
                    return Err(Fault::new(at, format!("{what}; write `id latitude longitude`")));
                }
            }
        }
        Ok((places, seen))
    })?;
    let seen: u64 = parts.iter().map(|part| part.1).sum();
    let places: Vec<Place> = parts.into_iter().flat_map(|part| part.0).collect();
    zero_based |= places.iter().any(|place| place.id == 0);
    let first_id = u32::from(!zero_based);
    if let Some((at, nodes)) = promised {
        if seen > nodes {
            let what =
                format!("the header lies about counts ({nodes} nodes promised, {seen} found)");
            return Err(Fault::new(at, format!("{what}; correct it")));
        }
        let end = nodes.saturating_add(u64::from(first_id));
        if let Some(place) = places.iter().find(|place| place.id >= end) {
            let range = format!("ids run from {first_id} to {}", end - 1);
            let what = format!("id out of range ({}); {range}", place.id);
            return Err(Fault::new(place.at, what));
        }
    }
    Locations::of(places, zero_based.then_some(0), |id| format!("id {id}"))
}

/// Where a CSV has what is wanted.
struct Columns {
    node: usize,
    latitude: usize,
    longitude: usize,
    count: usize,
    separator: u8,
}

impl Columns {
    /// Finds the columns in the first line, or `None` if it is no such header.
    fn of(bytes: &[u8]) -> Option<Columns> {
        let (_, header) = text::lines(bytes, 0).next()?;
        b",\t;".iter().find_map(|separator| Columns::by(header, *separator))
    }

    fn by(header: &[u8], separator: u8) -> Option<Columns> {
        let mut names = Vec::new();
        Separator::Byte(separator).split(header, 0, &mut names).ok()?;
        let find = |wanted: &[&str]| {
            let is =
                |name: &[u8]| wanted.iter().any(|one| one.as_bytes().eq_ignore_ascii_case(name));
            names.iter().position(|name| is(name))
        };
        Some(Columns {
            node: find(&["node"])?,
            latitude: find(&["lat", "latitude"])?,
            longitude: find(&["lon", "lng", "longitude"])?,
            count: names.len(),
            separator,
        })
    }
}

/// The places in a CSV. `node` reads an id, and `called` says what it is called.
fn csv(
    bytes: &[u8],
    columns: &Columns,
    node: impl Fn(&[u8], usize) -> Result<u64, Fault> + Sync,
    called: impl Fn(u64) -> String,
) -> Result<Locations, Fault> {
    let body = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |newline| newline + 1);
    let parts = text::parse_parts(bytes, body, |lines| {
        let (mut places, mut row) = (Vec::new(), Vec::new());
        for (at, line) in lines {
            Separator::Byte(columns.separator).split(line, at, &mut row)?;
            if row.is_empty() {
                continue;
            }
            if row.len() != columns.count {
                let what = format!("{} cells where the header has {}", row.len(), columns.count);
                return Err(Fault::new(at, format!("{what} ({}); correct it", shown(line))));
            }
            let (latitude, longitude) = (&row[columns.latitude], &row[columns.longitude]);
            if !latitude.is_empty() || !longitude.is_empty() {
                let id = node(&row[columns.node], at)?;
                places.push(place(id, latitude, longitude, 1.0, at)?);
            }
        }
        Ok(places)
    })?;
    Locations::of(parts.concat(), None, called)
}

/// The places that the CSV at `path` has for nodes of `graph`, whose ids are names, by places among these.
///
/// # Errors
/// As [`read_locations`]; also for a file that is no such CSV, and for a name that is no node's.
pub(super) fn read_named(path: &str, graph: &Graph) -> Result<Locations> {
    let bytes = source::read_table(path)?;
    let bytes = source::unmarked(&bytes);
    let node = |name: &[u8], at: usize| {
        let node = std::str::from_utf8(name).ok().and_then(|name| graph.node_of_text(name));
        node.map(|node| graph.input_id(node)).ok_or_else(|| {
            let what = format!("the graph has no node {}", shown(name));
            Fault::new(at, format!("{what}; leave the line out"))
        })
    };
    let called = |id| {
        let node = graph.node_of_input_id(id).map(|node| graph.id(node).to_string());
        format!("node {}", node.unwrap_or_default())
    };
    let columns = Columns::of(bytes).ok_or_else(|| {
        let what = "no header that names columns node, lat and lon";
        Fault::new(0, format!("{what}; the graph's ids are names, which only such a CSV has"))
    });
    columns
        .and_then(|columns| csv(bytes, &columns, node, called))
        .map_err(|fault| fault.into_error(path, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Locations, String> {
        locations_in("x", text.as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn labels_place_nodes_and_leave_out_those_without_a_place() {
        let found = read("% Node\n3 2 2\n2 -1.5 180\n0 10 20 \n1\t\n").unwrap();
        assert_eq!((found.ids, found.first_id), (vec![0, 2], Some(0)));
        assert_eq!((found.latitude, found.longitude), (vec![10.0, -1.5], vec![20.0, 180.0]));
        assert_eq!(read("3 2 2\n1 0 0\n3 1 1\n").unwrap().first_id, None);
        assert_eq!(read("% 0-based\n3 2 2\n1 0 0\n").unwrap().first_id, Some(0));
        assert_eq!(read("1 0.5 0\n").unwrap().ids, [1], "no count line");
    }

    #[test]
    fn a_csv_finds_its_columns_by_name_and_passes_over_the_rest() {
        let tabs = read("node\tlat\tlon\n7\t1\t2\n").unwrap();
        assert_eq!(
            (tabs.latitude, read("node;lon;lat\n7;2;1\n").unwrap().longitude),
            (vec![1.0], vec![2.0])
        );
        let found = read("city,\"lat\", LON ,node\n\"a, b\",1,2,7\r\nc,,,8\n\nd,3,4,0\n").unwrap();
        assert_eq!((found.ids, found.first_id), (vec![0, 7], None));
        assert_eq!((found.latitude, found.longitude), (vec![3.0, 1.0], vec![4.0, 2.0]));
    }

    #[test]
    fn bad_places_are_refused_at_their_line() {
        for (text, part) in [
            ("3 2 2\n1 91 0\n", "x:2: latitude out of range (91)"),
            ("3 2 2\n1 0 -180.5\n", "x:2: longitude out of range (-180.5)"),
            ("3 2 2\n1 nan 0\n", "x:2: latitude out of range (nan)"),
            ("3 2 2\n1 0\n", "x:2: garbage line (1 0)"),
            ("3 2 2\n1 0 0 0\n", "x:2: garbage line"),
            ("3 2 2\n4 0 0\n", "x:2: id out of range (4)"),
            ("3 2 2\n0 0 0\n3 0 0\n", "x:3: id out of range (3)"),
            ("1 2 2\n0 0 0\n1 0 0\n", "x:1: the header lies"),
            ("3 2 2\n1 0 0\n2 0 0\n1 5 5\n", "x:4: id 1 is placed twice"),
            ("node,lat,lon\n1,2\n", "x:2: 2 cells where the header has 3"),
            ("node,lat,lon\n1,2,\n", "x:2: not a longitude ()"),
            ("node,lat,lon\n1,2,3\n1,2,3\n", "x:3: id 1 is placed twice"),
            ("a,b\n1,2\n", "x:1: not a node id (a,b)"),
            ("node,lat,lon\n", "x: places no node"),
            ("", "x: places no node"),
        ] {
            let message = read(text).unwrap_err();
            assert!(message.starts_with(part), "{message}");
        }
    }
}
