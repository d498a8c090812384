use super::*;

fn read(text: &str) -> Result<SweepConfig> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sweep.toml");
    std::fs::write(dir.path().join("here.mtx"), "").unwrap();
    std::fs::write(&path, text).unwrap();
    SweepConfig::read(&path)
}

fn refusal(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

#[test]
fn graphs_are_looked_for_beside_the_file_then_in_the_current_folder() {
    let config = read("graphs = ['rmat:4', 'here.mtx', 'there.mtx', 'Cargo.toml']\n").unwrap();
    assert_eq!(config.graphs[0], "rmat:4");
    assert!(config.graphs[1].ends_with("/here.mtx") && config.graphs[1].len() > 9);
    assert!(config.graphs[2].ends_with("/there.mtx") && config.graphs[2].len() > 10);
    assert_eq!(config.graphs[3], "Cargo.toml");
}

#[test]
fn a_sweep_that_cannot_run_is_refused_before_it_starts() {
    assert!(refusal("").contains("graphs is empty"));
    assert!(refusal("graphs = ['rmat:4']\ndevices = []\n").contains("devices is empty"));
    assert!(refusal("graphs = ['rmat:4']\nworkloads = ['x']\n").contains("no workload 'x'"));
    assert!(
        refusal("graphs = ['rmat:4']\nworkloads = ['all', 'bfs']\n").contains("no workload 'all'")
    );
    assert!(refusal("graphs = ['rmat:4']\nworkloads = ['vn']\n").contains("no seeds for vn"));
    assert!(refusal("graphs = ['rmat:4']\n[run]\nruns = 0\n").contains("--runs 0"));
    assert!(refusal("graphs = ['rmat:4']\n[run]\nmerge = 'dense'\n").contains("merges"));
    let buckets = "graphs = ['rmat:4']\nmerges = ['auto', 'dense']\n[run]\ndelta = 8\n";
    assert!(refusal(buckets).contains("--delta 8 with --merge dense"));
    assert!(refusal("graphs = ['rmat:4']\ndevice = 'host'\n").contains("sweep.toml:2:"));
}

#[test]
fn a_workload_gets_only_the_common_options_that_it_takes() {
    let text = "graphs = ['rmat:4']\nworkloads = ['vn', 'sssp']\n[run]\nseeds = 'first:10'\n";
    let config = read(text).unwrap();
    let seeds = |name| {
        let variants = config.variants_of(workload(name).unwrap()).unwrap();
        assert_eq!(variants.len(), 1);
        variants[0].1.own.sets("seeds")
    };
    assert!(seeds("vn") && !seeds("sssp"));
}

#[test]
fn variants_take_the_place_of_common_options_and_are_named_by_them() {
    let text = "graphs = ['rmat:4']\nworkloads = ['pagerank', 'sssp']\n\
                variants = [{ pagerank = { strategy = 'push' } }, { pagerank = { strategy = 'warp-pull', \
                warp-width = 8 }, tolerance = 0.5 }]\n[run.pagerank]\niterations = 7\n";
    let config = read(text).unwrap();
    let of = |name| config.variants_of(workload(name).unwrap()).unwrap();
    let (one, two) = (&of("pagerank")[0], &of("pagerank")[1]);
    assert_eq!(one.0, "strategy=push");
    assert_eq!(two.0, "strategy=warp-pull warp-width=8 tolerance=0.5");
    let option = |config: &RunConfig, name| {
        config.options_of(workload("pagerank").unwrap())[name].as_u64().unwrap()
    };
    assert_eq!((option(&one.1, "iterations"), option(&two.1, "iterations")), (7, 7));
    assert_eq!((option(&one.1, "warp-width"), option(&two.1, "warp-width")), (32, 8));
    assert_eq!(of("sssp").len(), 1, "it takes none of them");
}

#[test]
fn a_variant_that_makes_no_sense_is_refused_before_a_sweep_starts() {
    let with = |variant: &str| refusal(&format!("graphs = ['rmat:4']\nvariants = [{variant}]\n"));
    assert!(with("{ pagrank = 1 }").contains("unknown field 'pagrank'"));
    assert!(with("{ pagerank = { strategy = 'x' } }").contains("strategy=x"));
    assert!(with("{ devices = 'host:2' }").contains("run.devices"));
    assert!(refusal("graphs = ['rmat:4']\nvariants = []\n").contains("variants is empty"));
}

fn names(config: &SweepConfig) -> Vec<String> {
    plan(config, true).unwrap().iter().map(Planned::name).collect()
}

const TWO_BY_TWO: &str =
    "graphs = ['rmat:4', 'grid:4x4']\ndevices = ['host:1', 'host:2']\nworkloads = ['sssp', 'cc']\n";

#[test]
fn an_exclude_takes_out_the_cells_that_have_all_its_coordinates() {
    let of = |more: &str| names(&read(&format!("{TWO_BY_TWO}{more}")).unwrap());
    assert_eq!(of("").len(), 8);
    let left =
        of("[[exclude]]\nworkload = 'cc'\ndevices = 'host:2'\n[[exclude]]\ngraph = 'grid:*'\n");
    assert_eq!(
        left,
        ["sssp rmat4 host:1 auto auto", "cc rmat4 host:1 auto auto", "sssp rmat4 host:2 auto auto"]
    );
    assert_eq!(of("[[exclude]]\nworkload = ['cc', 'sssp']\ndataset = 'rmat4'\n").len(), 4);
}

#[test]
fn an_include_gives_options_to_the_cells_that_it_fits_and_adds_those_that_are_not_there() {
    let config = read(&format!(
        "{TWO_BY_TWO}[[include]]\nworkload = 'cc'\ngraph = 'grid:4x4'\noptions = {{ runs = 3 }}\n\
         [[include]]\ngraph = 'star:9'\nworkload = ['cc', 'bfs']\ndevices = 'host:3'\n"
    ));
    let cells = plan(&config.unwrap(), true).unwrap();
    assert_eq!(cells.len(), 8 + 2);
    let three: Vec<_> = cells.iter().filter(|cell| cell.variant == "runs=3").collect();
    assert_eq!(three.len(), 2);
    assert!(three.iter().all(|cell| cell.workload.name == "cc" && cell.dataset == "grid4x4"));
    assert!(three.iter().all(|cell| cell.config.runs == Some(crate::choice::Choice::Is(3))));
    let added: Vec<_> =
        cells.iter().filter(|cell| cell.dataset == "star9").map(Planned::name).collect();
    assert_eq!(added, ["cc star9 host:3 auto auto", "bfs star9 host:3 auto auto"]);
}

#[test]
fn a_selection_that_changes_nothing_is_refused_by_its_place_and_words() {
    let of = |more: &str| refusal(&format!("{TWO_BY_TWO}{more}"));
    for (more, part) in [
        ("[[exclude]]\nworkload = 'vn'\n", "exclude 1 (workload=vn): fits no cell"),
        ("[[exclude]]\n", "exclude 1: has no coordinates"),
        ("[[exclude]]\nworkload = []\n", "exclude 1: workload is empty"),
        ("[[exclude]]\nworkload = 'cc'\noptions = { runs = 1 }\n", "options are for [[include]]"),
        ("[[exclude]]\nworkload = '*'\n", "leaves no cell"),
        ("[[exclude]]\nwork = 'cc'\n", "unknown field 'work'"),
        ("[[include]]\nworkload = 'cc'\n", "include 1 (workload=cc): changes nothing"),
        ("[[include]]\nworkload = 'x'\n", "no workload 'x'"),
        ("[[include]]\ngraph = 'road:*'\n", "fits no cell"),
        ("[[include]]\ndevices = 'gpu'\n", "--devices gpu"),
        ("[[include]]\nmerge = 'densee'\n", "unknown variant 'densee'"),
        ("[[include]]\nworkload = 'cc'\noptions = { devices = 'host:3' }\n", "are coordinates"),
        ("[[include]]\nworkload = 'cc'\noptions = { rans = 3 }\n", "unknown field 'rans'"),
        ("[[include]]\nworkload = 'cc'\noptions = { runs = 0 }\n", "--runs 0"),
        ("[[include]]\ngraph = 'rmat:{4+gpus}'\n", "needs a series"),
    ] {
        let message = of(more);
        assert!(message.contains(part) && !message.contains('\n'), "{message}");
    }
}

#[test]
fn layouts_chunks_and_placements_are_axes_for_the_workloads_that_take_them() {
    let text = "graphs = ['rmat:4']\nworkloads = ['sssp', 'geo', 'filter']\nlayouts = ['auto', 'raw']\n\
                chunks = ['arcs', 'nodes']\nplacements = ['replicated', 'sharded']\n[run.geo]\nlocate = '0.5:1'\n";
    let cells = plan(&read(text).unwrap(), true).unwrap();
    let of = |name| cells.iter().filter(move |cell| cell.workload.name == name).count();
    assert_eq!((of("sssp"), of("geo"), of("filter")), (8, 2, 1));
    // A layout serves all that can share it before the next is made.
    let layouts: Vec<_> =
        cells.iter().filter(|c| c.workload.name == "sssp").map(|c| c.config.layout).collect();
    assert!(layouts.windows(2).filter(|pair| pair[0] != pair[1]).count() == 1, "{layouts:?}");
    assert!(refusal("graphs = ['rmat:4']\nlayouts = []\n").contains("layouts is empty"));
    let both = "graphs = ['rmat:4']\nlayouts = ['raw']\n[run]\nlayout = 'degree'\n";
    assert!(refusal(both).contains("run.layout: a sweep takes this from layouts"));
    let common = read("graphs = ['rmat:4']\n[run]\nlayout = 'raw'\nchunks = 'nodes'\n").unwrap();
    assert_eq!(names(&common), ["sssp rmat4 auto auto auto chunks=nodes layout=raw"]);
}

#[test]
fn a_weak_series_has_a_graph_for_each_number_of_gpus() {
    let text = "devices = ['host:1', 'host:3', 'host:4']\n[[series]]\nname = 'edge'\nscaling = 'weak'\n\
                graphs = ['rmat:5,ef={8*gpus}']\n[[series]]\nname = 'g500'\nscaling = 'weak'\ngraphs = ['rmat:{5+log2(gpus)}']\n";
    let cells = plan(&read(text).unwrap(), true).unwrap();
    let specs: Vec<_> = cells.iter().map(|cell| cell.config.graph.clone().unwrap()).collect();
    assert_eq!(
        specs,
        ["rmat:5,ef=8", "rmat:5", "rmat:5,ef=24", "rmat:{5+log2(gpus)}", "rmat:5,ef=32", "rmat:7"]
    );
    let trouble: Vec<_> = cells.iter().filter_map(|cell| cell.trouble.as_deref()).collect();
    assert!(trouble.len() == 1 && trouble[0].contains("log2(3) is no integer"), "{trouble:?}");
    let of = |line: &str| {
        refusal(&format!("[[series]]\nname = 'a'\nscaling = 'weak'\ngraphs = {line}\n"))
    };
    assert!(of("['rmat:5']").contains("stays as it is"));
    assert!(of("[]").contains("graphs is empty"));
    assert!(of("['rmat:{5+gpu}']").contains("series 'a': 'rmat:{5+gpu}': {5+gpu} cannot be read"));
    assert!(of("['rmat:{gpus}']\nsize = 3").contains("unknown field 'size'"));
    assert!(refusal("graphs = ['rmat:{gpus}']\n").contains("belongs into a [[series]]"));
    let named = |name: &str| {
        refusal(&format!("[[series]]\nname = '{name}'\nscaling = 'strong'\ngraphs = ['rmat:5']\n"))
    };
    assert!(named("a/b").contains("letters, digits"));
}

#[test]
fn every_preset_is_a_sweep() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let mut presets = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            SweepConfig::read(&path).unwrap();
            presets += 1;
        }
    }
    assert!(presets >= 8, "{presets}");
}

#[test]
fn arrays_have_the_length_that_their_series_says_and_no_other() {
    let series = "workloads = ['filter']\ndevices = ['host:1', 'host:2']\n[[series]]\nname = 'a'\nscaling = 'weak'\n\
                  graphs = ['array:{gpus/2*1000}', 'array:{gpus*1000}']\n";
    let config: SweepConfig = toml::from_str(series).unwrap();
    config.check().unwrap();
    let cells = plan(&config, true).unwrap();
    let lengths: Vec<Option<u64>> = cells
        .iter()
        .map(|cell| cell.trouble.is_none().then_some(cell.config.own_asks().elements.unwrap()))
        .collect();
    assert_eq!(lengths, [None, Some(1000), Some(1000), Some(2000)]);
    for (more, told) in [
        ("[run.filter]\nelements = 5\n", "takes this from graphs"),
        (
            "[[include]]\nworkload = 'filter'\ngraph = 'array:7'\noptions = { filter = { elements = 5 } }\n",
            "says how long",
        ),
    ] {
        let config: SweepConfig = toml::from_str(&format!("{series}{more}")).unwrap();
        let error = config.check().unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let bare: SweepConfig = toml::from_str("workloads = ['bfs']\ngraphs = ['array:8']\n").unwrap();
    assert!(bare.check().unwrap_err().to_string().contains("array:LENGTH"));
}
