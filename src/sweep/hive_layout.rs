//! Where the HIVE scripts put a record: `vn_eval_mgpu/PARTITION/10/vn__rmat24__GPU8.json`.

use super::planned::Planned;

/// The file of a cell, from the sweep's folder.
pub(super) fn file(cell: &Planned, partition: &str) -> String {
    let name = cell.workload.name;
    let axes = ["merge", "collective", "chunks", "placement", "layout"];
    let unusual = axes.iter().filter_map(|axis| cell.unusual(axis));
    let own = cell.variant.split_terminator(' ').filter(|word| !told(word)).map(plain);
    let series = cell.series.iter().map(|(name, _)| name.clone());
    let words = [name.to_string(), plain(&cell.dataset), places(cell)].into_iter();
    let words = words.chain(unusual.map(|(axis, word)| format!("{axis}-{word}"))).chain(own);
    let stem = words.chain(series).collect::<Vec<_>>().join("__");
    // Seeds of vn, waves of geo, sources elsewhere.
    let options = cell.config.own_asks().folder.map_or("default".into(), |folder| plain(&folder));
    format!("{name}_eval_mgpu/{}/{options}/{stem}.json", plain(partition))
}

/// Whether the folder tells this option.
fn told(word: &str) -> bool {
    ["seeds=first:", "geo-iter=", "spatial-iter="].iter().any(|option| word.starts_with(option))
}

/// Letters that every file system takes.
fn plain(text: &str) -> String {
    let safe = |c: char| match c {
        ',' => '_',
        c if c.is_ascii_alphanumeric() || "._-".contains(c) => c,
        _ => '-',
    };
    text.chars().map(safe).collect()
}

/// `GPU8`: replicas, on the host too; `GPU1x4` where four share one GPU.
fn places(cell: &Planned) -> String {
    match (cell.gpus(), cell.replicas()) {
        (0, count) => format!("GPU{count}"),
        (gpus, count) if gpus == count => format!("GPU{count}"),
        (gpus, count) => format!("GPU{gpus}x{count}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::SweepConfig;
    use crate::sweep::plan::plan;

    fn files(text: &str) -> Vec<String> {
        let cells = plan(&toml::from_str::<SweepConfig>(text).unwrap(), true).unwrap();
        cells.iter().map(|cell| file(cell, "h200")).collect()
    }

    #[test]
    fn numbers_of_seeds_are_told_by_the_folder_alone() {
        let text = "graphs = ['rmat:9']\ndevices = ['cuda:0']\nworkloads = ['vn']\n\
                    variants = [{ seeds = 'first:10' }, { seeds = 'random:7:1', runs = 2 }]\n";
        assert_eq!(
            files(text),
            [
                "vn_eval_mgpu/h200/10/vn__rmat9__GPU1.json",
                "vn_eval_mgpu/h200/7/vn__rmat9__GPU1__runs-2__seeds-random-7-1.json",
            ]
        );
    }

    #[test]
    fn what_is_not_as_usual_is_in_the_name() {
        let text = "graphs = ['rmat:9,ef=8']\ndevices = ['cuda:0x4']\ncollectives = ['peer']\nmerges = ['dense']\n\
                    chunks = ['nodes']\nplacements = ['sharded']\nlayouts = ['raw']\nworkloads = ['bfs']\n\
                    variants = [{ sources = 'connected:8:1' }]\n";
        let name = "bfs__rmat9-ef8__GPU1x4__merge-dense__collective-peer__chunks-nodes__placement-sharded__layout-raw\
                    __sources-connected-8-1";
        assert_eq!(files(text), [format!("bfs_eval_mgpu/h200/sources-8/{name}.json")]);
        let series = "devices = ['host:2']\n[[series]]\nname = 'e'\nscaling = 'weak'\ngraphs = ['rmat:9,ef={8*gpus}']\n";
        assert_eq!(files(series), ["sssp_eval_mgpu/h200/default/sssp__rmat9-ef16__GPU2__e.json"]);
    }
}
