//! Cases out of JSON: records of ours and of HIVE's phase 2, and cells of an older sweep's table.

use super::Spread;
use super::fields::{Fields, amount, wrong};
use super::{Case, Done, Iteration, Outcome, Scaling, Settings, Split, Times};
use crate::Result;
use crate::fleet::Devices;
use crate::run::workload;
use crate::time::moment;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

#[derive(Default)]
struct Tags {
    variant: Option<String>,
    gpus: Option<u64>,
    replicas: Option<u64>,
}

/// `["variant:num_seeds-10", "num-gpus:4", "num-replicas:4"]`, by HIVE's rule: the word before the first
/// colon names what comes after it.
fn tags(record: &Fields<'_>) -> Result<Tags> {
    let mut tags = Tags::default();
    for tag in record.list("tag")? {
        let text = tag.as_str().ok_or_else(|| record.wrong("tag", "a list of words", tag))?;
        let number = |text: &str| {
            let number = text.parse::<u64>().ok();
            number.ok_or_else(|| record.wrong("tag", "of the form num-gpus:N", tag))
        };
        match text.split_once(':') {
            Some(("variant", name)) => tags.variant = Some(name.into()),
            Some(("num-gpus", n)) => tags.gpus = Some(number(n)?),
            Some(("num-replicas", n)) => tags.replicas = Some(number(n)?),
            _ => {}
        }
    }
    Ok(tags)
}

/// Whether an object is a record of a run, or of one that gave no answer.
pub(super) fn is_record(map: &Map<String, Value>) -> bool {
    let has = |name: &str| map.contains_key(name);
    has("primitive") && (has("process-times") || has("avg-process-time") || has("status"))
}

/// Whether an object is a cell of a table as `sweep.json` once was.
pub(super) fn is_cell(map: &Map<String, Value>) -> bool {
    ["workload", "dataset", "devices", "status"].iter().all(|name| map.contains_key(*name))
}

pub(super) fn of_record(map: &Map<String, Value>, at: &str) -> Result<Case> {
    let record = Fields { map, at };
    let config = record.object("config")?;
    let tags = tags(&record)?;
    let asked = config.text("devices").ok().flatten();
    let (gpus, replicas) = places(&record, &tags, asked.as_deref())?;
    let outcome = match record.text("status")?.as_deref() {
        Some("failed") => Outcome::Failed(reason(&record)?),
        Some("skipped") => Outcome::Skipped(reason(&record)?),
        _ => Outcome::Done(Box::new(done(&record)?)),
    };
    let build = [record.text("version")?, record.text("commit")?];
    let build: Vec<String> = build.into_iter().flatten().collect();
    let primitive = record.required_text("primitive")?;
    Ok(Case {
        origin: at.into(),
        cell: record.text("cell")?,
        workload: primitive.clone(),
        dataset: record.required_text("dataset")?,
        graph: record.object("coordinates")?.text("graph")?,
        nodes: record.count("graph-nodes")?,
        arcs: record.count("graph-edges")?,
        variant: tags.variant,
        gpus,
        replicas,
        machine: record.object("gpuinfo")?.text("name")?.unwrap_or_default(),
        series: record.text("series")?,
        scaling: scaling(&record)?,
        settings: Settings::of_config(record.get("config").map(|_| config.map), &primitive),
        outcome,
        single: record.truth("benchmark")? == Some(false),
        build: build.join(" "),
        moment: record.text("time")?.as_deref().and_then(moment),
    })
}

/// The case of a cell of an older table, and the name of its record.
pub(super) fn of_cell(map: &Map<String, Value>, at: &str) -> Result<(Case, Option<String>)> {
    let cell = Fields { map, at };
    let name = cell.required_text("workload")?;
    let (gpus, replicas) = devices(&cell.required_text("devices")?).unwrap_or((0, 1));
    let outcome = match cell.required_text("status")?.as_str() {
        "done" => Outcome::Done(Box::new(cell_done(&cell)?)),
        "skipped" => Outcome::Skipped(reason(&cell)?),
        _ => Outcome::Failed(reason(&cell)?),
    };
    let case = Case {
        origin: at.into(),
        workload: workload(&name).map_or(name, |workload| workload.primitive.into()),
        dataset: cell.required_text("dataset")?,
        gpus,
        replicas,
        settings: Settings::of_cell(&cell)?,
        outcome,
        ..Case::default()
    };
    Ok((case, cell.text("file")?))
}

fn cell_done(cell: &Fields<'_>) -> Result<Done> {
    let time = cell.object("time")?;
    if time.map.is_empty() {
        return Err(wrong(cell.at, "a cell that is done has no \"time\""));
    }
    let median = time.number("median")?.unwrap_or_default();
    Ok(Done {
        time: Times {
            median,
            mean: time.number("mean")?.unwrap_or(median),
            min: time.number("min")?,
            max: time.number("max")?,
            ..Times::default()
        },
        reached: cell.count("reached")?,
        used: cell.text("used")?,
        verified: cell.verdict("verified")?,
        ..Done::default()
    })
}

fn reason(record: &Fields<'_>) -> Result<String> {
    Ok(record.text("error")?.unwrap_or_else(|| "the record does not say why".into()))
}

fn scaling(record: &Fields<'_>) -> Result<Scaling> {
    let Some(word) = record.text("scaling")? else { return Ok(Scaling::Strong) };
    word.parse()
        .map_err(|_| record.wrong("scaling", "\"strong\" or \"weak\"", &word.as_str().into()))
}

/// GPUs and replicas: by the tags, else by the fleet, else by what was asked for.
fn places(record: &Fields<'_>, tags: &Tags, asked: Option<&str>) -> Result<(u64, u64)> {
    let world = record.object("fleet")?.count("world")?;
    let (gpus, replicas) = asked.and_then(devices).unwrap_or((1, 1));
    let gpus = tags.gpus.unwrap_or(gpus);
    let replicas =
        tags.replicas.or(world).unwrap_or(if tags.gpus.is_some() { gpus } else { replicas });
    Ok((gpus, replicas.max(1)))
}

/// GPUs and replicas of a device list: `cuda:0-3` is (4, 4), `cuda:0x4` (1, 4), `host:3` (0, 3).
fn devices(list: &str) -> Option<(u64, u64)> {
    match list.parse().ok()? {
        Devices::Host(replicas) => Some((0, replicas as u64)),
        Devices::Cuda(list) => {
            Some((list.iter().collect::<BTreeSet<_>>().len() as u64, list.len() as u64))
        }
        Devices::Auto | Devices::AllCuda => None,
    }
}

fn done(record: &Fields<'_>) -> Result<Done> {
    let measured = record.object("measured")?;
    let rate = record.number("arcs-per-second")?.filter(|rate| *rate > 0.0);
    let teps = record.number("avg-mteps")?.filter(|rate| *rate > 0.0).map(|rate| rate * 1e6);
    Ok(Done {
        time: times(record)?,
        split: split(&measured)?,
        rate: rate.or(teps),
        reached: measured.count("reached")?,
        strategy: record.text("strategy")?,
        used: record.object("fleet")?.text("collective")?,
        prepare_ms: record.object("prepare")?.number("prepare_ms")?,
        verified: record.verdict("verified")?,
        trace: trace(&measured)?,
    })
}

/// HIVE's geolocation has a number where the others have a list, its vertex nomination only the mean.
fn times(record: &Fields<'_>) -> Result<Times> {
    let list = match record.get("process-times") {
        None => Vec::new(),
        Some(Value::Array(times)) => times.iter().collect(),
        Some(one) => vec![one],
    };
    let wrong_time = |time: &Value| record.wrong("process-times", "a list of milliseconds", time);
    let list: Vec<f64> =
        list.into_iter().map(|t| amount(t).ok_or_else(|| wrong_time(t))).collect::<Result<_>>()?;
    let mean = record.number("avg-process-time")?;
    let reset = record.number("reset-ms")?;
    if list.is_empty() {
        let missing =
            || wrong(record.at, "neither \"avg-process-time\" nor \"process-times\" is there");
        let mean = mean.ok_or_else(missing)?;
        return Ok(Times { median: mean, mean, min: None, max: None, reset, runs: 1 });
    }
    let spread = Spread::of(&list);
    let several = list.len() > 1;
    Ok(Times {
        median: spread.median,
        mean: mean.unwrap_or(spread.mean),
        min: several.then_some(spread.min),
        max: several.then_some(spread.max),
        reset,
        runs: list.len(),
    })
}

/// Step, merge and other of the (lower) middle run, from what a record of ours has under `measured`.
pub(crate) fn median_split(measured: &Value) -> Option<Split> {
    split(&Fields { map: measured.as_object()?, at: "measured" }).ok().flatten()
}

/// Of the (lower) middle run.
fn split(measured: &Fields<'_>) -> Result<Option<Split>> {
    let mut runs = Vec::new();
    for run in measured.objects("runs")? {
        let part = |name| run.number(name).map(Option::unwrap_or_default);
        let split =
            Split { step: part("step_ms")?, merge: part("merge_ms")?, other: part("other_ms")? };
        runs.push((part("total_ms")?, split));
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(runs.get(runs.len().saturating_sub(1) / 2).map(|run| run.1))
}

fn trace(measured: &Fields<'_>) -> Result<Vec<Iteration>> {
    let entry = |entry: Fields<'_>| {
        Ok(Iteration {
            step: entry.text("step")?.unwrap_or_default(),
            merge: entry.text("merge")?.unwrap_or_default(),
            frontier: entry.count("frontier_nodes")?.unwrap_or_default(),
            arcs: entry.count("frontier_arcs")?.unwrap_or_default(),
            ms: entry.number("ms")?.unwrap_or_default(),
        })
    };
    measured.objects("trace")?.into_iter().map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(text: &str) -> Result<Case> {
        let value: Value = serde_json::from_str(text).unwrap();
        of_record(value.as_object().unwrap(), "a.json")
    }

    #[test]
    fn tags_unpack_by_the_rules_of_hive() {
        let text = r#"{"primitive": "vn", "dataset": "a", "avg-process-time": 2.5,
            "tag": ["variant:num_seeds-10", "num-gpus:4", "other"]}"#;
        let hive = case(text).unwrap();
        assert_eq!(hive.variant.as_deref(), Some("num_seeds-10"));
        assert_eq!((hive.gpus, hive.replicas, hive.median()), (4, 4, Some(2.5)));
        let ours = case(&text.replace("\"other\"", "\"num-replicas:8\"")).unwrap();
        assert_eq!((ours.gpus, ours.replicas), (4, 8));
        assert_eq!(ours.devices(), "8 replicas on 4 GPUs");
    }

    #[test]
    fn device_lists_count_gpus_and_replicas() {
        for (list, places) in [
            ("host", Some((0, 1))),
            ("host:16", Some((0, 16))),
            ("cuda:0-3", Some((4, 4))),
            ("cuda:0,2", Some((2, 2))),
            ("cuda:0x4", Some((1, 4))),
            ("auto", None),
            ("cuda:3-0", None),
        ] {
            assert_eq!(devices(list), places, "{list}");
        }
    }

    #[test]
    fn a_configuration_counts_by_what_is_not_the_default() {
        let text = r#"{"primitive": "pagerank", "dataset": "a", "process-times": [3, 1, 2],
            "config": {"merge": "dense", "chunks": "arcs", "runs": 7, "load": {"cache": "off", "relabel": "none"},
            "pagerank": {"strategy": "push"}}}"#;
        let case = case(text).unwrap();
        assert_eq!(case.settings.to_string(), "merge=dense strategy=push");
        assert_eq!(case.done().unwrap().time.min, Some(1.0));
    }

    #[test]
    fn options_in_the_words_of_older_records_count_as_those_of_today() {
        let of = |config: &str| {
            let text =
                r#"{"primitive": "bc", "dataset": "a", "process-times": [1], "config": CONFIG}"#;
            case(&text.replace("CONFIG", config)).unwrap().settings
        };
        let now = serde_json::to_string(&crate::run::RunConfig::default()).unwrap();
        let before = r#"{"load": {"symmetrize": false}, "bc": {"precision": "auto"}}"#;
        assert_eq!(of(before), of(&now));
        // Once, all records had the options that several workloads share.
        assert_eq!(of(r#"{"tolerance": 0, "delta": 2, "predecessors": true}"#), of("{}"));
        let before = r#"{"load": {"symmetrize": true}, "bc": {"precision": "f32"}}"#;
        let now = r#"{"load": {"symmetrize": "keep"}, "precision": "f32"}"#;
        assert_eq!(of(before), of(now));
    }
}
