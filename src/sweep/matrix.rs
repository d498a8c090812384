//! The loop over the cells.

use super::bench::Bench;
use super::cell::Cell;
use super::config::SweepConfig;
use super::identity::{Identity, Surroundings};
use super::ledger::Ledger;
use super::plan::plan;
use super::planned::Planned;
use super::select::Selection;
use super::together::{Fate, Next, Passed, Together};
use super::{hive_layout, isolate, record};
use crate::fleet::Devices;
use crate::run::RunConfig;
use crate::{Error, Result};
use std::collections::{HashMap, HashSet, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct SweepOptions {
    /// Device lists to use instead of the file's, as in --devices cuda:0 cuda:0-3
    #[arg(long, value_name = "DEVICES", num_args = 1..)]
    pub devices: Option<Vec<Devices>>,
    #[arg(skip)]
    pub only: Selection,
    /// Name of this machine in the layout of records [default: the model of its devices]
    #[arg(long, value_name = "NAME", value_parser = partition)]
    pub partition: Option<String>,
    /// Run finished cells again
    #[arg(long)]
    pub rerun: bool,
    /// Run each cell in a process of its own, so that a crash ends one cell
    #[arg(long)]
    pub isolate: bool,
    /// With --isolate: kill a cell after so many seconds, loading included
    #[arg(long, value_name = "SECONDS", requires = "isolate", value_parser = seconds)]
    pub cell_limit: Option<Duration>,
}

fn partition(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    match !text.is_empty() && text.chars().all(plain) && !text.starts_with('.') {
        true => Ok(text.into()),
        false => Err(format!(
            "--partition {text}: use letters, digits, '.', '_' and '-'; it names a folder"
        )),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.001..=1e7).contains(seconds));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("--cell-limit {text}: use seconds above 0, as in 600"))
}

/// What a sweep tells of its progress. A cell is told by its place among the names.
pub(crate) enum Event<'a> {
    /// Before the first cell: all names in order, how many cells are finished from before, and whether a sweep was killed
    /// here while it wrote a record, which was dropped.
    Planned {
        names: &'a [String],
        kept: usize,
        torn: bool,
    },
    Begun {
        at: usize,
    },
    /// A cell has ended, and its record is written; `cells` are all so far.
    Ended {
        cell: &'a Cell,
        cells: &'a [Cell],
    },
}

/// A cell of the plan, what it is known by, and the file of its record.
struct Due {
    planned: Planned,
    identity: Identity,
    file: String,
}

/// The cells that a sweep would run, by name, without running any.
pub(crate) fn names(config: &SweepConfig, options: &SweepOptions) -> Result<Vec<String>> {
    Ok(planned(config, options)?.iter().map(Planned::name).collect())
}

/// Runs every cell that is not finished yet, a fleet after another; `docs/sweeps.md` tells what it writes. What goes wrong
/// in a cell stays in that cell. Of several processes the first has the cells.
pub(crate) fn sweep(
    config: &SweepConfig,
    dir: &Path,
    options: &SweepOptions,
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Option<Vec<Cell>>> {
    let mut cells = planned(config, options)?;
    let mut together = Together::find(&config.run.fleet(), config.run.on_failure)?;
    if options.isolate && together.company.count() > 1 {
        return Err(Error::input(
            "--isolate: it gives each cell a process of its own, and a launcher has started several for all cells; leave it out",
        ));
    }
    let hosts = together.company.hosts();
    if hosts > 1 {
        cells = planned(&SweepConfig { hosts, ..config.clone() }, options)?;
    }
    let planned = cells;
    let names: Vec<String> = planned.iter().map(Planned::name).collect();
    let configs: Vec<&RunConfig> = planned.iter().map(|cell| &cell.config).collect();
    let whole = serde_json::to_vec(&(names, configs)).unwrap_or_default();
    together.same(xxhash_rust::xxh3::xxh3_64(&whole))?;
    let mut bench = Bench::default();
    // One that follows may come to lead.
    while !together.is_first() {
        match follow(&planned, &mut together, &mut bench)? {
            Some(true) => return Ok(None),
            Some(false) => return Err(Error::Verify("cells failed; process 0 names them".into())),
            None => {}
        }
    }
    lead(planned, dir, options, (together, bench), observe).map(Some)
}

/// Runs what the first process says; whether no cell failed, or none where this is now the first.
fn follow(cells: &[Planned], together: &mut Together, bench: &mut Bench) -> Result<Option<bool>> {
    while !together.is_first() {
        let cell = match together.next(Next::End { well: false })? {
            Some(Next::End { well }) => match together.until_told()? {
                true => return Ok(Some(well)),
                false => None,
            },
            Some(Next::Cell(at)) => cells.get(at).map(|cell| (at, cell)),
            Some(Next::Admit) | None => None,
        };
        let Some((at, cell)) = cell else {
            bench.close(&together.company);
            continue;
        };
        let result = bench.run(cell, &together.company);
        if together.passed(Fate::of(&result))? != Passed::Well {
            bench.close(&together.company);
        }
        bench.keep_for(&cells[at..].iter().collect::<Vec<_>>());
    }
    Ok(None)
}

fn lead(
    planned: Vec<Planned>,
    dir: &Path,
    options: &SweepOptions,
    (mut together, mut bench): (Together, Bench),
    observe: &mut dyn FnMut(Event<'_>),
) -> Result<Vec<Cell>> {
    let mut ledger = Ledger::open(dir)?;
    let processes = together.company.count() + together.company.lost().len();
    let surroundings = Surroundings::probe(&planned, options.partition.clone(), processes);
    let due = placed(planned, &surroundings, &ledger);
    // What gave no answer makes room at once; an answer only for a new one.
    let places: HashSet<&str> = due.iter().map(|cell| cell.identity.place.as_str()).collect();
    ledger.retain(|record| {
        let ours = record["place"].as_str().is_some_and(|place| places.contains(place));
        !ours || record["status"] == "done"
    })?;
    let names: Vec<String> = due.iter().map(|cell| cell.planned.name()).collect();
    let mut cells: Vec<Option<Cell>> = Vec::new();
    for cell in &due {
        let record = ledger.of(&cell.identity.cell).filter(|_| !options.rerun);
        if let Some(record) = record.filter(|_| !dir.join(&cell.file).is_file()) {
            ledger.write(&cell.file, record)?;
        }
        cells.push(record.map(|record| Cell::of(&cell.planned, record)));
    }
    let finished = |cells: &[Option<Cell>]| cells.iter().flatten().cloned().collect::<Vec<_>>();
    let kept = finished(&cells).len();
    observe(Event::Planned { names: &names, kept, torn: ledger.torn });
    let mut left: VecDeque<usize> = (0..due.len()).filter(|at| cells[*at].is_none()).collect();
    while let Some(at) = left.pop_front() {
        let cell = &due[at];
        while together.next(Next::Cell(at))?.is_none() {
            bench.close(&together.company);
        }
        observe(Event::Begun { at });
        let begin = Instant::now();
        let result = match options.isolate {
            true => isolate::run(&cell.planned, options.cell_limit),
            false => bench.run(&cell.planned, &together.company),
        };
        let took = begin.elapsed();
        // An answer counts whatever becomes of the others.
        let mut passed = Passed::Well;
        if result.is_err() {
            passed = together.passed(Fate::of(&result))?;
            if passed == Passed::Without {
                bench.close(&together.company);
                left.push_front(at);
                continue;
            }
        }
        let answered = result.is_ok();
        let mut record = record::of(&cell.planned, result, took);
        let Identity { cell: hash, place, partition } = &cell.identity;
        let known =
            [("cell", hash), ("place", place), ("partition", partition), ("file", &cell.file)];
        known.into_iter().for_each(|(key, text)| record[key] = text.as_str().into());
        let ended = Cell::of(&cell.planned, &record);
        ledger.add(&cell.file, record)?;
        cells[at] = Some(ended.clone());
        let cells = finished(&cells);
        ledger.write("sweep.json", &cells)?;
        observe(Event::Ended { cell: &ended, cells: &cells });
        if answered {
            passed = together.passed(Fate::Answered)?;
        }
        if passed != Passed::Well {
            bench.close(&together.company);
        }
        bench.keep_for(&left.iter().map(|at| &due[*at].planned).collect::<Vec<_>>());
    }
    let cells = finished(&cells);
    ledger.write("sweep.json", &cells)?;
    let well = !cells.iter().any(Cell::is_bad) && cells.iter().any(Cell::is_good);
    // All cells are done, whoever has gone since.
    while let Ok(None) = together.next(Next::End { well }) {}
    Ok(cells)
}

/// The plan under these options, every cell of it checked.
fn planned(config: &SweepConfig, options: &SweepOptions) -> Result<Vec<Planned>> {
    let config = match &options.devices {
        Some(devices) => &SweepConfig { devices: devices.clone(), ..config.clone() },
        None => config,
    };
    let mut cells = plan(config, false)?;
    let of = |run: &RunConfig| (run.ranks, run.rendezvous.clone(), run.on_failure);
    if let Some(cell) = cells.iter().find(|cell| of(&cell.config) != of(&config.run)) {
        return Err(Error::input(format!(
            "{}: ranks, rendezvous and on-failure are the whole sweep's; set them in [run]",
            cell.name()
        )));
    }
    if let Some(devices) = &options.devices {
        cells.retain(|cell| devices.contains(&cell.config.devices));
    }
    let before = cells.len();
    cells.retain(|cell| options.only.takes(cell));
    if cells.is_empty() && before > 0 {
        return Err(Error::input(format!(
            "--only {}: fits no cell; --dry-run names them all",
            options.only.words()
        )));
    }
    if cells.is_empty() {
        return Err(Error::input("no cell is left to run; see exclude and --devices"));
    }
    cells.iter().try_for_each(Planned::check)?;
    Ok(cells)
}

/// Gives every cell its file. Where two would share a name, the later one's ends in its hash; a cell of which
/// there is a record keeps its file.
fn placed(cells: Vec<Planned>, surroundings: &Surroundings, ledger: &Ledger) -> Vec<Due> {
    let mut owners: HashMap<String, String> = HashMap::new();
    let mut files: HashMap<String, String> = HashMap::new();
    for record in &ledger.records {
        if let (Some(file), Some(place)) = (record["file"].as_str(), record["place"].as_str()) {
            owners.insert(file.into(), place.into());
            files.insert(place.into(), file.into());
        }
    }
    let due = cells.into_iter().map(|planned| {
        let identity = surroundings.identify(&planned);
        let place = identity.place.clone();
        let usual = hive_layout::file(&planned, &identity.partition);
        let file = files.get(&place).cloned().unwrap_or_else(|| match owners.get(&usual) {
            Some(owner) if *owner != place => {
                format!("{}__{}.json", usual.trim_end_matches(".json"), &place[..8])
            }
            _ => usual,
        });
        owners.insert(file.clone(), place);
        Due { planned, identity, file }
    });
    due.collect()
}
