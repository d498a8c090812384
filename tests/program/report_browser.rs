//! The page of `hive report` in headless Chromium: plots, sorting, tips, narrow and wide, no requests.
//!
//! Skipped, and said so, without Chromium; `HIVE_REQUIRE_CHROMIUM=1` makes that a failure. `HIVE_CHROMIUM` names one.

use crate::common::{ends_within, hive, skipped};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn chromium() -> Option<PathBuf> {
    let named = std::env::var_os("HIVE_CHROMIUM").map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let on_path = || {
        let all =
            std::env::split_paths(&folders).flat_map(|folder| names.map(|name| folder.join(name)));
        all.into_iter().find(|path| path.is_file())
    };
    let found = named.or_else(on_path);
    if found.is_none() {
        let required = std::env::var("HIVE_REQUIRE_CHROMIUM").is_ok_and(|value| value == "1");
        assert!(!required, "HIVE_REQUIRE_CHROMIUM=1, but no Chromium is on the PATH");
        skipped("no Chromium (apt-get install chromium), the page was not tested");
    }
    found
}

/// The page's DOM once its scripts have run. Every request but for files goes to `proxy`.
fn dom(chromium: &Path, page: &Path, width: u32, proxy: u16, more: &[&str]) -> String {
    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new(chromium);
    command.args([
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
    ]);
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
    ]);
    command.args(["--disable-extensions", "--disable-default-apps", "--no-default-browser-check"]);
    command.arg(format!("--user-data-dir={}", profile.path().display()));
    command.arg(format!("--proxy-server=http://127.0.0.1:{proxy}"));
    command.arg(format!("--window-size={width},900"));
    command.args(["--virtual-time-budget=4000", "--dump-dom"]).args(more);
    command.arg(format!("file://{}", page.display()));
    let ended = ends_within(Duration::from_secs(90), &mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    ended.out
}

/// Takes requests and answers none; remembers their first lines.
fn listener() -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Arc::new(Mutex::new(Vec::new()));
    let seen = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (mut stream, mut start) = (stream, [0; 512]);
            let length = stream.read(&mut start).unwrap_or(0);
            let text = String::from_utf8_lossy(&start[..length]).into_owned();
            seen.lock().unwrap().push(text.lines().next().unwrap_or_default().to_string());
            let _ = stream
                .write_all(b"HTTP/1.1 502 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    (port, requests)
}

/// Requests that a page made; Chromium asks its maker things on its own.
fn of_page(requests: &Mutex<Vec<String>>) -> Vec<String> {
    let own = ["google.com", "googleapis.com", "gvt1.com", "gstatic.com"];
    let requests = requests.lock().unwrap();
    requests.iter().filter(|line| !own.iter().any(|host| line.contains(host))).cloned().collect()
}

/// Records with everything that a page shows: two datasets on 1 to 8 GPUs, two merge modes, traces, a failure.
fn records(folder: &Path, slower: f64) {
    for (dataset, ms) in [("rmat20", 8.0), ("a-rather-long-name-of-a-dataset", 30.0)] {
        for gpus in [1u64, 2, 3, 4, 8] {
            for (merge, factor) in [("auto", 1.0), ("dense", 1.4)] {
                let time = slower * factor * ms * (0.3 + 0.7 / gpus as f64);
                let trace: Vec<Value> = (0..9)
                    .map(|i| {
                        let modes = ["none", "sparse", "gather", "dense"];
                        json!({"iteration": i, "step": "push", "rounds": 1, "frontier_nodes": 7u64.pow(i.min(8 - i)),
                            "frontier_arcs": 1, "merge": modes[i as usize % 4], "ms": 0.1 * f64::from(i + 1)})
                    })
                    .collect();
                let split = json!({"total_ms": time, "step_ms": 0.6 * time, "merge_ms": 0.3 * time, "other_ms": 0.1 * time});
                let record = json!({
                    "primitive": "bfs", "dataset": dataset, "graph-nodes": 1 << 20, "graph-edges": 1 << 24,
                    "avg-process-time": time, "process-times": [time, 1.1 * time, 0.9 * time],
                    "tag": ["variant:auto_sources-1", format!("num-gpus:{gpus}"), format!("num-replicas:{gpus}")],
                    "time": "Mon Nov  2 10:00:00 2026\n", "version": "0.1.0", "commit": "abc1234",
                    "gpuinfo": {"name": "NVIDIA H200"}, "config": {"merge": merge}, "arcs-per-second": 1e9 / time,
                    "measured": {"runs": [split], "trace": trace, "reached": 5},
                });
                let name = format!("bfs__{dataset}__GPU{gpus}__{merge}.json");
                std::fs::write(folder.join(name), record.to_string()).unwrap();
            }
        }
    }
    let failed = json!({"primitive": "bfs", "dataset": "none", "status": "failed", "error": "there is no such file"});
    std::fs::write(folder.join("failed.json"), failed.to_string()).unwrap();
}

/// What the page is asked, in the page; the answer is JSON in `pre#answer`.
const QUESTIONS: &str = r##"<script>
const answer = {};
answer.titles = [...document.querySelectorAll("figure svg > title")].map(t => t.textContent);
answer.marks = document.querySelectorAll("figure svg .tip").length;
answer.tables = document.querySelectorAll("table").length;
answer.overflow = document.documentElement.scrollWidth - document.documentElement.clientWidth;
// No number has to be scrolled to sideways.
answer.sideways = [...document.querySelectorAll(".scroll")].filter(box => box.scrollWidth > box.clientWidth + 1).length;
answer.cut = [...document.querySelectorAll("td")].filter(cell => {
  const box = cell.getBoundingClientRect();
  return box.width > 0 && (box.left < 0 || box.right > document.documentElement.clientWidth + 1);
}).length;
answer.first = document.querySelector("header").innerText;
answer.head = document.querySelector("header").getBoundingClientRect().bottom;
answer.ground = getComputedStyle(document.body).backgroundColor;
answer.ink = getComputedStyle(document.querySelector("figure svg text")).fill;
// Every table by every column: ascending, then descending.
answer.unsorted = [];
answer.sorted = 0;
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = head.querySelector("button");
    for (const [way, sign] of [["ascending", 1], ["descending", -1]]) {
      button.click();
      const cells = [...table.tBodies[0].rows].map(row => row.cells[column]).filter(cell => cell.textContent);
      const values = cells.map(cell => cell.dataset.v === undefined ? cell.textContent : Number(cell.dataset.v));
      const words = new Intl.Collator("en", { numeric: true });
      const apart = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : words.compare(a, b);
      const wrong = values.some((value, i) => i > 0 && sign * apart(values[i - 1], value) > 0);
      if (wrong || head.getAttribute("aria-sort") !== way || button.tabIndex < 0) answer.unsorted.push(button.textContent);
      answer.sorted += new Set(values).size > 1;
    }
  });
}
// A mark is pointed at.
const mark = document.querySelector("figure svg .tip");
const box = mark.getBoundingClientRect();
mark.firstElementChild.dispatchEvent(new PointerEvent("pointermove", { bubbles: true, clientX: box.x, clientY: 9 }));
answer.tip = document.getElementById("tip").hidden ? "" : document.getElementById("tip").textContent;
// No text lies on another or outside its plot.
answer.clashes = [];
for (const svg of document.querySelectorAll("figure svg")) {
  const frame = svg.viewBox.baseVal;
  const texts = [...svg.querySelectorAll("text")].map(text => [text.textContent, text.getBBox()]);
  texts.forEach(([words, a], i) => {
    const inside = a.x >= 0 && a.y >= 0 && a.x + a.width <= frame.width && a.y + a.height <= frame.height;
    if (!inside) answer.clashes.push(words + " is outside of " + svg.querySelector("title").textContent);
    for (const [other, b] of texts.slice(i + 1)) {
      const apart = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y + 3 || b.y + b.height <= a.y + 3;
      if (!apart) answer.clashes.push(words + " on " + other + " in " + svg.querySelector("title").textContent);
    }
  });
}
answer.fetched = performance.getEntriesByType("resource").map(entry => entry.name);
const pre = document.createElement("pre");
pre.id = "answer";
pre.textContent = JSON.stringify(answer);
document.body.append(pre);
if (parent !== window) parent.postMessage(JSON.stringify(answer), "*");
</script></body>"##;

/// A page that shows another in a frame of 400 pixels: a window is never that narrow.
const NARROW: &str = r#"<!DOCTYPE html><meta name="color-scheme" content="light dark">
<iframe src="asked.html" style="width: 400px; height: 900px; border: 0"></iframe>
<script>addEventListener("message", event => {
  const pre = document.createElement("pre"); pre.id = "answer"; pre.textContent = event.data; document.body.append(pre);
});</script>"#;

fn answer(dom: &str) -> Value {
    let start =
        dom.find("<pre id=\"answer\">").unwrap_or_else(|| panic!("no answer in {dom:.2000}"));
    let text = &dom[start + "<pre id=\"answer\">".len()..];
    let text = &text[..text.find("</pre>").unwrap()];
    let text =
        text.replace("&lt;", "<").replace("&gt;", ">").replace("&nbsp;", " ").replace("&amp;", "&");
    serde_json::from_str(&text).unwrap()
}

fn report(folder: &Path) -> PathBuf {
    let [now, before, page] = ["now", "before", "page.html"].map(|name| folder.join(name));
    for (set, slower) in [(&now, 1.0), (&before, 0.9)] {
        std::fs::create_dir_all(set).unwrap();
        records(set, slower);
    }
    let mut command = hive();
    command.arg("report").arg(&now).arg("--baseline").arg(&before).arg("--html").arg(&page);
    let ended = ends_within(Duration::from_secs(60), &mut command);
    assert_eq!(ended.code, Some(0), "{}", ended.err);
    page
}

/// What holds at any width.
fn check(answer: &Value) {
    let titles: Vec<&str> =
        answer["titles"].as_array().unwrap().iter().map(|title| title.as_str().unwrap()).collect();
    for start in [
        "Speed-up: geometric means",
        "Efficiency: geometric means",
        "Time now over time before",
        "Speed-up: bfs",
        "Efficiency: bfs, merge dense",
        "Where the time goes: bfs",
        "Iterations: bfs",
        "merge: time over that of auto",
    ] {
        assert!(titles.iter().any(|title| title.starts_with(start)), "{start} in {titles:?}");
    }
    assert!(answer["marks"].as_u64().unwrap() > 100, "{answer}");
    assert!(answer["tables"].as_u64().unwrap() >= 6, "{answer}");
    assert_eq!(answer["unsorted"], json!([]), "columns that do not sort");
    assert!(answer["sorted"].as_u64().unwrap() > 20, "{answer}");
    assert!(answer["tip"].as_str().unwrap().contains('×'), "{answer}");
    assert_eq!(answer["clashes"], json!([]), "text on text, or cut off");
    assert_eq!(answer["fetched"], json!([]), "resources");
    assert!(answer["overflow"].as_i64().unwrap() <= 0, "wider than the window: {answer}");
}

#[test]
fn the_page_works_wide_and_narrow_light_and_dark_and_asks_nobody() {
    let Some(chromium) = chromium() else { return };
    let folder = tempfile::tempdir().unwrap();
    let page = report(folder.path());
    let html = std::fs::read_to_string(&page).unwrap();
    let [asked, narrow, leaky] =
        ["asked.html", "narrow.html", "leaky.html"].map(|name| folder.path().join(name));
    assert_eq!(html.matches("</body>").count(), 1);
    std::fs::write(&asked, html.replace("</body>", QUESTIONS)).unwrap();
    std::fs::write(&narrow, NARROW).unwrap();

    let (port, requests) = listener();
    let wide = answer(&dom(&chromium, &asked, 1280, port, &[]));
    check(&wide);
    let dark = ["--blink-settings=preferredColorScheme=0"];
    let small = answer(&dom(&chromium, &narrow, 1280, port, &dark));
    check(&small);
    assert_eq!((&small["sideways"], &small["cut"]), (&json!(0), &json!(0)), "{small}");
    for page in [&wide, &small] {
        let first = page["first"].as_str().unwrap();
        for part in
            ["NVIDIA H200, up to 8 GPUs", "2026-11-02", "0.1.0 abc1234", "Best speed-ups", "2.58"]
        {
            assert!(first.contains(part), "no {part} in {first}");
        }
        assert!(page["head"].as_f64().unwrap() < 900.0, "the first screen: {page}");
    }
    assert_eq!(
        (&wide["ground"], &wide["ink"]),
        (&json!("rgb(255, 255, 255)"), &json!("rgb(27, 31, 36)"))
    );
    assert_eq!(
        (&small["ground"], &small["ink"]),
        (&json!("rgb(21, 24, 29)"), &json!("rgb(230, 233, 238)"))
    );
    assert_eq!(of_page(&requests), Vec::<String>::new(), "requests");

    // That a request would have been seen; and the page's policy would have stopped it.
    let leak = "<img src=\"http://leak.invalid/a.png\">";
    std::fs::write(&leaky, format!("<!DOCTYPE html><body>{leak}</body>")).unwrap();
    dom(&chromium, &leaky, 1280, port, &[]);
    let seen = of_page(&requests);
    assert!(seen.iter().any(|line| line.contains("leak.invalid")), "{seen:?}");
    requests.lock().unwrap().clear();
    std::fs::write(&leaky, html.replace("<main>", &format!("<main>{leak}"))).unwrap();
    dom(&chromium, &leaky, 1280, port, &[]);
    assert_eq!(of_page(&requests), Vec::<String>::new(), "the policy lets requests out");
}
