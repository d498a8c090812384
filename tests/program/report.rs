//! `hive report` from outside: what it reads, prints, writes and refuses.

use crate::common::{Ended, data, ends_within, hive, skipped};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn report(args: &[&str]) -> Ended {
    ends_within(Duration::from_secs(120), hive().arg("report").args(args))
}

fn succeeds(args: &[&str]) -> String {
    let ended = report(args);
    assert_eq!(ended.code, Some(0), "{args:?}: {}", ended.err);
    ended.out
}

/// Exit code 2, one line that contains all of `parts`, and nothing printed.
fn refused(args: &[&str], parts: &[&str]) {
    let Ended { code, out, err, .. } = report(args);
    assert_eq!(code, Some(2), "{args:?}: {err}");
    assert!(err.starts_with("error: ") && err.trim_end().lines().count() == 1, "{args:?}: {err}");
    assert!(parts.iter().all(|part| err.contains(part)), "{args:?}: no {parts:?} in {err}");
    assert_eq!(out, "", "{args:?}");
}

fn measurements(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/measurements").join(name);
    path.to_str().unwrap().into()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A record as `hive` writes it, as far as reports read it.
fn record(primitive: &str, dataset: &str, gpus: u64, ms: f64) -> Value {
    json!({
        "primitive": primitive,
        "dataset": dataset,
        "graph-nodes": 1000,
        "graph-edges": 8000,
        "avg-process-time": ms,
        "process-times": [ms, 2.0 * ms, 0.5 * ms],
        "tag": ["variant:x", format!("num-gpus:{gpus}"), format!("num-replicas:{gpus}")],
        "gpuinfo": {"name": "NVIDIA H200"},
        "config": {"merge": "auto"},
        "arcs-per-second": 8e6 / ms,
        "measured": {"runs": [{"total_ms": ms, "step_ms": 0.7 * ms, "merge_ms": 0.2 * ms, "other_ms": 0.1 * ms}]},
    })
}

fn write(folder: &Path, name: &str, value: &Value) -> PathBuf {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, value.to_string()).unwrap();
    path
}

/// The cells of a Markdown table's row that begins with these words.
fn row<'a>(markdown: &'a str, begins: &[&str]) -> Vec<&'a str> {
    let cells =
        |line: &'a str| line.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>();
    let rows = markdown.lines().filter(|line| line.starts_with('|')).map(cells);
    let mut found = rows.filter(|cells| cells.starts_with(begins));
    found.next().unwrap_or_else(|| panic!("no row {begins:?} in\n{markdown}"))
}

#[test]
fn the_published_tables_of_vertex_nomination_come_out_to_the_letter() {
    let Some(folder) = data().map(|data| data.join("reference/hive-phase2")) else { return };
    if !folder.is_dir() {
        return skipped("no records of HIVE's phase 2");
    }
    let printed = succeeds(&[text(&folder), "--hive-tables"]);
    for name in ["vn_num_seeds-10.md", "vn_num_seeds-1000.md"] {
        let published = std::fs::read_to_string(folder.join("tables").join(name)).unwrap();
        assert_eq!(published.lines().count(), 114, "{name}");
        assert!(printed.contains(published.trim_end()), "{name} is not among\n{printed}");
    }
}

/// The published table of geolocation was made from other runs than the records beside it (none of its 32 times is
/// in them), so its own times are reported here.
#[test]
fn the_published_table_of_geolocation_follows_from_its_times() {
    let Some(folder) = data().map(|data| data.join("reference/hive-phase2")) else { return };
    if !folder.is_dir() {
        return skipped("no records of HIVE's phase 2");
    }
    let published = folder.join("tables/geolocation_geo-10_spatial-1000.md");
    let published = std::fs::read_to_string(published).unwrap();
    let made = tempfile::tempdir().unwrap();
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_string()).collect()
    };
    let rows: Vec<Vec<String>> = published.lines().skip(2).map(cells).collect();
    assert_eq!(rows.len(), 32);
    for row in &rows {
        let record = json!({
            "primitive": row[0], "dataset": row[1], "avg-process-time": row[4].parse::<f64>().unwrap(),
            "tag": [format!("variant:{}", row[2]), format!("num-gpus:{}", row[3])],
        });
        write(made.path(), &format!("geo__{}__GPU{}.json", row[1], row[3]), &record);
    }
    let printed = succeeds(&[text(made.path()), "--hive-tables"]);
    let printed: Vec<&str> = printed.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(printed[..2], published.lines().take(2).collect::<Vec<_>>()[..]);
    for (line, expected) in printed[2..].iter().zip(&rows) {
        let found = cells(line);
        assert_eq!(found[..5], expected[..5]);
        let [found, expected] = [&found[5], &expected[5]].map(|cell| cell.parse::<f64>().unwrap());
        // Times have six digits in the table.
        assert!((found / expected - 1.0).abs() < 2e-5, "{line}");
    }
}

#[test]
fn records_of_hive_stand_beside_ours_and_compare_with_them() {
    let Some(folder) = data().map(|data| data.join("reference/hive-phase2/results")) else {
        return;
    };
    if !folder.is_dir() {
        return skipped("no records of HIVE's phase 2");
    }
    let ours = tempfile::tempdir().unwrap();
    let mut record = record("vn", "rmat18", 4, 0.5);
    record["tag"][0] = json!("variant:num_seeds-10");
    record["config"] = json!({"seeds": "first:10"});
    write(ours.path(), "vn.json", &record);
    let both = succeeds(&[text(ours.path()), text(&folder)]);
    let ours_there = row(&both, &["rmat18", "num_seeds-10", "H200"]);
    assert!(ours_there.contains(&"4 GPUs") && ours_there.contains(&"0.5000"), "{ours_there:?}");
    row(&both, &["rmat18", "num_seeds-10", "Tesla V100-SXM3-32GB-H"]);
    let compared = succeeds(&[text(ours.path()), "--baseline", text(&folder)]);
    // A V100's and an A100's.
    assert!(compared.contains("2 cells are in both"), "{compared}");
}

#[test]
fn an_archive_reads_as_its_folder_and_no_cell_counts_twice() {
    let archive = measurements("standing-0740e20.tar.gz");
    let folder = tempfile::tempdir().unwrap();
    let packed = flate2::read::MultiGzDecoder::new(std::fs::File::open(&archive).unwrap());
    tar::Archive::new(packed).unpack(folder.path()).unwrap();
    let [from_archive, from_folder] =
        [archive.as_str(), text(folder.path())].map(|dir| succeeds(&[dir, "--title", "same"]));
    let rest = |markdown: &str| markdown.split("## Failed").next().unwrap().to_string();
    assert_eq!(rest(&from_archive), rest(&from_folder));
    // 245 records, and sweep.json with the same 245 cells.
    let cells = "235 of 245 cells were measured; 10 failed.";
    assert!(from_archive.contains(cells), "{from_archive}");
    let cell = row(&from_archive, &["rmat24", "connected:8:1", "2 GPUs"]);
    assert_eq!(cell[3..6], ["16.89", "16.88", "16.92"], "bc of rmat24: {cell:?}");
}

#[test]
fn a_line_of_the_list_and_a_file_of_the_same_cell_count_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    for gpus in [1, 2, 4] {
        let mut record = record("bfs", "a", gpus, 8.0 / gpus as f64);
        record["cell"] = json!(format!("{gpus:064x}"));
        write(folder.path(), &format!("bfs_eval_mgpu/local/x/bfs__a__GPU{gpus}.json"), &record);
        lines += &format!("{record}\n");
    }
    let failed = json!({"primitive": "bfs", "dataset": "b", "status": "failed", "error": "no such file",
        "config": {"devices": "cuda:0-1"}, "cell": "f"});
    lines += &format!("{failed}\n\n");
    std::fs::write(folder.path().join("records.jsonl"), lines).unwrap();
    let markdown = succeeds(&[text(folder.path())]);
    assert!(markdown.contains("3 of 4 cells were measured; 1 failed."), "{markdown}");
    assert_eq!(row(&markdown, &["a", "4 GPUs"])[2..7], ["2.000", "1.000", "4.000", "4.00", "100"]);
    assert_eq!(row(&markdown, &["bfs b 2 GPUs"])[1..3], ["failed", "no such file"]);
}

#[test]
fn the_list_and_the_table_of_a_sweep_count_once_without_its_files() {
    let folder = tempfile::tempdir().unwrap();
    let archive = measurements("standing-0740e20.tar.gz");
    let packed = flate2::read::MultiGzDecoder::new(std::fs::File::open(&archive).unwrap());
    tar::Archive::new(packed).unpack(folder.path()).unwrap();
    for entry in std::fs::read_dir(folder.path().join("standing")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            std::fs::remove_dir_all(path).unwrap();
        }
    }
    let markdown = succeeds(&[text(folder.path())]);
    assert!(markdown.contains("235 of 245 cells were measured; 10 failed."), "{markdown}");
}

#[test]
fn a_weak_study_shows_efficiency_by_time_and_speed_up_by_rate() {
    let folder = tempfile::tempdir().unwrap();
    for (gpus, dataset, ms, rate) in [(1, "rmat20", 4.0, 1e9), (2, "rmat21", 5.0, 1.6e9)] {
        let mut record = record("bfs", dataset, gpus, ms);
        record["series"] = json!("edge-weak");
        record["scaling"] = json!("weak");
        record["arcs-per-second"] = json!(rate);
        write(folder.path(), &format!("{dataset}.json"), &record);
    }
    let markdown = succeeds(&[text(folder.path())]);
    assert!(markdown.contains("## bfs, edge-weak\n"), "{markdown}");
    let found = row(&markdown, &["rmat21", "2 GPUs"]);
    assert!(found.contains(&"1.60") && found.contains(&"80"), "{found:?}");
}

#[test]
fn the_guard_names_what_is_slower_and_passes_what_is_not() {
    let (now, before) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (dataset, ms, old) in [("a", 1.0, 1.0), ("b", 1.3, 1.0), ("c", 0.5, 1.0)] {
        write(now.path(), &format!("{dataset}.json"), &record("bfs", dataset, 2, ms));
        write(before.path(), &format!("{dataset}.json"), &record("bfs", dataset, 2, old));
    }
    let [now, before] = [text(now.path()), text(before.path())];
    let guard = |ratio| report(&[now, "--baseline", before, "--fail-if-slower", ratio]);
    let slow = guard("1.10");
    assert_eq!(slow.code, Some(1), "{}", slow.err);
    assert_eq!(
        slow.err,
        "error: 1 of 3 compared cells take more than 1.1 times as long, or are broken: bfs b x 2 GPUs 1.300 times \
         (1.300 ms after 1.000 ms)\n"
    );
    assert!(
        slow.out.contains("## Geometric means of now / before"),
        "the tables come all the same"
    );
    let fine = guard("1.5");
    assert_eq!(fine.code, Some(0), "{}", fine.err);
    assert!(fine.out.ends_with("None of 3 compared cells takes more than 1.5 times as long.\n"));
    let lost = json!({"primitive": "bfs", "dataset": "c", "status": "failed", "error": "no",
        "config": {"devices": "cuda:0-1"}});
    std::fs::write(Path::new(now).join("c.json"), lost.to_string()).unwrap();
    let broken = guard("1.5");
    assert_eq!(broken.code, Some(1));
    assert!(
        broken.err.contains("1 of 3 compared") && broken.err.contains("bfs c 2 GPUs fails now"),
        "{}",
        broken.err
    );
    let other = measurements("geo-69455a9.tar.gz");
    let nothing = report(&[now, "--baseline", &other, "--fail-if-slower", "1.10"]);
    assert_eq!(nothing.code, Some(2), "comparing nothing is no success");
    assert!(nothing.err.contains("no cell is in both sets"), "{}", nothing.err);
    refused(&[now, "--fail-if-slower", "1.1"], &["--baseline"]);
    for ratio in ["0", "-1", "nan", "fast"] {
        refused(
            &[now, "--baseline", before, &format!("--fail-if-slower={ratio}")],
            &["--fail-if-slower"],
        );
    }
}

/// The table of a sweep alone, as older sweeps left it, has the same cells as the records.
#[test]
fn committed_measurements_compare_with_each_other_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let records = measurements("geo-69455a9.tar.gz");
    let packed = flate2::read::MultiGzDecoder::new(std::fs::File::open(&records).unwrap());
    tar::Archive::new(packed).unpack(folder.path()).unwrap();
    let table = text(&folder.path().join("geo/sweep.json")).to_string();
    for (now, before) in
        [(&records, &table), (&table, &records), (&table, &table), (&records, &records)]
    {
        let guarded = report(&[now, "--baseline", before, "--fail-if-slower", "100"]);
        assert_eq!(guarded.code, Some(0), "{}", guarded.err);
        assert!(guarded.out.contains("None of 12 compared cells"), "{}", guarded.out);
    }
}

#[test]
fn a_damaged_record_among_good_ones_is_named_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "good.json", &record("bfs", "a", 1, 1.0));
    let whole = record("bfs", "a", 2, 1.0).to_string();
    let page = folder.path().join("page.html");
    let typed = |change: &dyn Fn(&mut Value)| {
        let mut record = record("bfs", "a", 2, 1.0);
        change(&mut record);
        record.to_string()
    };
    let cases = [
        ("cut.json", whole[..whole.len() / 2].to_string(), "no whole JSON"),
        ("empty.json", String::new(), "no whole JSON"),
        ("list.jsonl", format!("{whole}\n{}", &whole[..40]), "list.jsonl:2: no whole JSON"),
        (
            "time.json",
            typed(&|r| r["process-times"] = json!("fast")),
            "\"process-times\" should be",
        ),
        (
            "negative.json",
            typed(&|r| {
                r["process-times"] = json!([]);
                r["avg-process-time"] = json!(-1)
            }),
            "\"avg-process-time\" should be a number of at least 0, not -1",
        ),
        (
            "null.json",
            typed(&|r| r["process-times"] = json!([1, null])),
            "\"process-times\" should be a list of milliseconds",
        ),
        (
            "timeless.json",
            typed(&|r| {
                r["process-times"] = json!([]);
                r["avg-process-time"] = json!(null)
            }),
            "neither \"avg-process-time\" nor \"process-times\" is there",
        ),
        ("odd.json", typed(&|r| r["scaling"] = json!("odd")), "\"strong\" or \"weak\""),
        ("tags.json", typed(&|r| r["tag"] = json!("num-gpus:1")), "\"tag\" should be a list"),
        ("name.json", typed(&|r| r["dataset"] = json!(7)), "\"dataset\" should be text, not 7"),
        (
            "runs.json",
            typed(&|r| r["measured"]["runs"] = json!([1])),
            "\"runs\" should be a list of objects",
        ),
        (
            "trace.json",
            typed(&|r| r["measured"]["trace"] = json!({})),
            "\"trace\" should be a list",
        ),
        ("tag.json", typed(&|r| r["tag"] = json!(["num-gpus:many"])), "num-gpus:N"),
    ];
    for (name, content, part) in cases {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        refused(&[text(folder.path()), "--html", text(&page)], &[name, part, "; "]);
        std::fs::remove_file(path).unwrap();
    }
    // A sweep that was killed leaves its last line torn.
    let records = folder.path().join("records.jsonl");
    std::fs::write(&records, format!("{whole}\n{}", &whole[..40])).unwrap();
    let ended = report(&[text(folder.path())]);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    assert!(ended.out.contains("2 of 2 cells"), "{}", ended.out);
    std::fs::write(&records, format!("{}\n{whole}\n", &whole[..40])).unwrap();
    refused(&[text(folder.path())], &["records.jsonl:1: no whole JSON"]);
    std::fs::remove_file(records).unwrap();
    std::fs::write(folder.path().join("latin.json"), b"{\"a\": \"\xff\"}").unwrap();
    refused(&[text(folder.path())], &["latin.json", "is not text"]);
    assert!(!page.exists());
}

#[test]
fn what_is_no_result_is_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    refused(&[text(folder.path())], &["no records here", "hive sweep"]);
    refused(&[text(&folder.path().join("not-there"))], &["not-there", "name a folder"]);
    let other = write(folder.path(), "a.json", &json!({"a": 1}));
    refused(&[text(&other)], &["no records here (1 other JSON files)"]);
    let packed = folder.path().join("b.tar.gz");
    let archive = std::fs::read(measurements("geo-69455a9.tar.gz")).unwrap();
    std::fs::write(&packed, &archive[..archive.len() / 2]).unwrap();
    refused(&[text(&packed)], &["b.tar.gz"]);
    std::fs::write(&packed, "no archive").unwrap();
    refused(&[text(&packed)], &["b.tar.gz", "pack the archive again"]);
    let note = folder.path().join("note.txt");
    std::fs::write(&note, "x").unwrap();
    refused(&[text(&note)], &["note.txt", ".jsonl"]);
    write(folder.path(), "good.json", &record("bfs", "a", 1, 1.0));
    refused(
        &[text(folder.path()), "--html", "no/such/folder/a.html"],
        &["--html", "make it first"],
    );
    refused(&[text(folder.path()), "--plots", text(&note)], &["--plots"]);
}

/// A record whose every text would like to be something else.
fn hostile() -> Value {
    let evil = "</td></svg><script>alert(1)</script>|`x`\"'&\u{1b}[2J\n=1+1";
    let mut record = record("bfs", evil, 2, 1.0);
    record["primitive"] = json!(format!("bfs{evil}"));
    record["tag"][0] = json!(format!("variant:{evil}"));
    record["gpuinfo"]["name"] = json!(evil);
    record["series"] = json!(evil);
    record["config"] = json!({"merge": evil});
    record["measured"]["trace"] =
        json!([{"step": evil, "merge": evil, "frontier_nodes": 3, "ms": 1.0}]);
    record
}

#[test]
fn nothing_in_a_record_gets_out_of_its_place() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", &hostile());
    let mut second = hostile();
    second["tag"] = json!(["variant:x", "num-gpus:4"]);
    write(folder.path(), "b.json", &second);
    let failed = json!({"primitive": "bfs", "dataset": "b", "status": "failed", "error": "<img src=x>\n| a | b |"});
    write(folder.path(), "c.json", &failed);
    let [page, csv, plots] = ["p.html", "p.csv", "plots"].map(|name| folder.path().join(name));
    let flags =
        [text(folder.path()), "--html", text(&page), "--csv", text(&csv), "--plots", text(&plots)];
    succeeds(&flags);
    let markdown = succeeds(&flags[..1]);
    assert!(
        !markdown.contains('\u{1b}') && !markdown.contains("<img") && !markdown.contains("<script")
    );
    let columns = |line: &str| line.replace("\\|", "").matches('|').count();
    for table in markdown.split("\n\n").filter(|part| part.starts_with('|')) {
        let widths: Vec<usize> = table.lines().map(columns).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
    }
    let page = std::fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<script").count(), 1, "its own");
    assert!(!page.contains("<img") && !page.contains('\u{1b}'));
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    let mut seen = 0;
    for file in std::fs::read_dir(plots).unwrap().map(|entry| entry.unwrap().path()) {
        if file.extension().is_some_and(|e| e == "svg") {
            let svg = std::fs::read_to_string(&file).unwrap();
            assert!(
                !svg.contains("<script") && svg.matches("</svg>").count() == 1,
                "{}",
                file.display()
            );
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen} plots");
    let csv = std::fs::read_to_string(csv).unwrap();
    assert_eq!(csv.lines().count(), 4, "{csv}");
}

#[test]
fn plots_are_files_of_their_own_with_text_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let plots = folder.path().join("plots");
    succeeds(&[&measurements("geo-69455a9.tar.gz"), "--plots", text(&plots)]);
    let mut pictures = 0;
    for path in std::fs::read_dir(&plots).unwrap().map(|entry| entry.unwrap().path()) {
        assert_eq!(path.extension().unwrap(), "svg");
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
        assert!(svg.contains("<text"), "{svg}");
        pictures += 1;
    }
    assert!(pictures >= 3, "{pictures}");
    let names = std::fs::read_dir(&plots).unwrap().map(|entry| entry.unwrap().file_name());
    let names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    for start in
        ["speed-up-geolocation", "efficiency-geolocation", "where-the-time-goes-geolocation"]
    {
        assert!(names.iter().any(|name| name.starts_with(start)), "{start} in {names:?}");
    }
}

#[test]
fn pictures_other_than_svg_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("plot.png");
    refused(
        &[&measurements("geo-69455a9.tar.gz"), "--plots", text(&picture)],
        &["--plots", "plot.png", ".svg"],
    );
    assert!(!picture.exists());
}

#[test]
fn the_csv_has_every_cell_unrounded() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("all.csv");
    succeeds(&[&measurements("standing-0740e20.tar.gz"), "--csv", text(&csv)]);
    let csv = std::fs::read_to_string(csv).unwrap();
    let mut lines = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let names = lines.next().unwrap();
    let column = |name: &str| names.iter().position(|column| *column == name).unwrap();
    let rows: Vec<_> = lines.collect();
    assert_eq!(rows.len(), 245);
    let cell = rows
        .iter()
        .find(|row| (row[0], row[1], row[column("gpus")]) == ("sssp", "rmat18", "1"))
        .unwrap();
    assert_eq!(cell.len(), names.len());
    assert_eq!(cell[column("median_ms")], "0.14812400000000003");
}

#[test]
fn runs_of_this_build_report_with_their_traces() {
    let folder = tempfile::tempdir().unwrap();
    for replicas in [1, 2] {
        let json = folder.path().join(format!("bfs-{replicas}.json"));
        let devices = format!("host:{replicas}");
        let args = ["run", "bfs", "--graph", "tests/data/chesapeake.mtx", "--trace", "--runs", "2"];
        let limit = Duration::from_secs(60);
        let ended = ends_within(
            limit,
            hive().args(args).args(["--devices", &devices, "--json", text(&json)]),
        );
        assert_eq!(ended.code, Some(0), "{}", ended.err);
    }
    let page = folder.path().join("page.html");
    let markdown = succeeds(&[text(folder.path())]);
    let told = succeeds(&[text(folder.path()), "--html", text(&page)]);
    assert!(told.lines().count() == 1 && told.starts_with(text(&page)), "{told}");
    assert!(row(&markdown, &["chesapeake", "host:2"]).len() > 8, "{markdown}");
    let page = std::fs::read_to_string(page).unwrap();
    for title in [
        "Speed-up: bfs",
        "Efficiency: bfs",
        "Where the time goes: bfs",
        "Iterations: bfs, chesapeake, host:2",
    ] {
        assert!(page.contains(&format!("<title>{title}</title>")), "{title}");
    }
}
