# shellcheck shell=bash
# What the scripts of this folder have in common; sourced by them, not run.
#
# HIVE_BIN      the program; default target/release/hive, .gpu/bin/hive, or hive on the PATH
# DATASETS      graphs, as in "rmat:18 web.mtx"; default R-MAT 18 to 24 on GPUs, small ones on the host
# DEVICES       what to run on in place of NUM_GPUS GPUs, as in "cuda:0x4" or "host:3"
# HIVE_OPTIONS  further options of `hive run`, as in "--verify --runs 20"
# DRY_RUN=1     prints the commands and runs none; so does --dry-run
set -euo pipefail
home=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Multicast does harm on shared hosts, and hivegraph does not use it.
export NCCL_NVLS_ENABLE=0
me=$(basename "$0")

# The arguments without --dry-run, in `arguments`.
arguments=()
for argument in "$@"; do
    case $argument in
    --dry-run) export DRY_RUN=1 ;;
    -h | --help)
        sed -n '2,/^# shellcheck/s/^# \{0,1\}//p' "$0" | sed '/^shellcheck/d'
        exit 0
        ;;
    -*)
        if [ -n "${pass_options:-}" ]; then
            arguments+=("$argument")
            continue
        fi
        echo "$me: there is no option $argument; see $me --help" >&2
        exit 2
        ;;
    *) arguments+=("$argument") ;;
    esac
done

die() {
    echo "$me: $1" >&2
    exit 2
}

# die_usage FORM WHY
die_usage() { die "$2; use: $me $1"; }

# number NAME VALUE: refuses what is no number above 0.
number() {
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || die "$1 '$2' is no number above 0"
}

hive=${HIVE_BIN:-}
if [ -z "$hive" ]; then
    for hive in "$home/target/release/hive" "$home/.gpu/bin/hive" "$(command -v hive || true)"; do
        if [ -n "$hive" ] && [ -x "$hive" ]; then break; fi
    done
fi
if [ -z "$hive" ] || [ ! -x "$hive" ]; then
    die "there is no hive; build it with cargo build --release, or set HIVE_BIN"
fi

# Runs a command, or prints it as a shell would read it.
run() {
    if [ "${DRY_RUN:-0}" != 0 ]; then
        printf '%q ' "$@" | sed 's/ $//'
        echo
    else
        "$@"
    fi
}

# Number of GPUs of this machine. To ask takes half a second: who calls count_gpus first lets subshells know.
gpus_here() {
    count_gpus
    echo "$gpu_count"
}

count_gpus() {
    if [ -z "${gpu_count:-}" ]; then
        gpu_count=$("$hive" doctor --json - 2>/dev/null | grep -c '"device": "cuda:' || true)
    fi
}

# devices NUM_GPUS: this host's part of so many GPUs, or of replicas of the host where there is none. A job step of Slurm may have
# several hosts, each with as many.
devices() {
    local hosts=${SLURM_STEP_NUM_NODES:-1}
    set -- $(($1 / hosts))
    if [ -n "${DEVICES:-}" ]; then
        echo "$DEVICES"
    elif [ "$(gpus_here)" -eq 0 ]; then
        echo "host:$1"
    elif [ "$1" -eq 1 ]; then
        echo cuda:0
    else
        echo "cuda:0-$(($1 - 1))"
    fi
}

# The graphs to run on, a line each.
datasets() {
    local graphs
    if [ -n "${DATASETS:-}" ]; then
        read -ra graphs <<<"$DATASETS"
    elif [ "$(gpus_here)" -gt 0 ]; then
        graphs=(rmat:18 rmat:20 rmat:22 rmat:24)
    else
        graphs=(rmat:12 grid:64x64 "$home/tests/data/power.graph.gz")
    fi
    printf '%s\n' "${graphs[@]}"
}

# dataset_name GRAPH: rmat24 of rmat:24, rmat19-ef8 of rmat:19,ef=8, web of data/web.mtx.gz.
dataset_name() {
    local name=$1
    if [ -e "$name" ] || [[ $name != *:* ]]; then
        name=$(basename "$name")
        name=$(sed -E 's/\.(gz|bz2|xz|zst)$//; s/(.)\.(mtx|txt|csv|tsv|el|wel|edges|e|v|bin|hive|dat|gr|graph|metis|sg|wsg|npz|parquet)$/\1/' \
            <<<"$name")
    else
        name=${name/:/}
        name=${name//,/-}
        name=${name//=/}
    fi
    echo "${name//[^A-Za-z0-9._-]/-}"
}

# The workloads of this program, a line each.
workloads() {
    "$hive" list || die "$hive has no command 'list'; build it again, or set HIVE_BIN"
}

# is_workload NAME
is_workload() {
    local names
    names=$(workloads) || exit 2
    grep -qxF -- "$1" <<<"$names"
}

# run_one FILE APP OPTION...: a measured run, its record in FILE.
run_one() {
    local file=$1 app=$2 more=()
    shift 2
    read -ra more <<<"${HIVE_OPTIONS:-}"
    run "$hive" run "$app" "$@" "${more[@]}" --json "$file" </dev/null
}

# run_app APP FOLDER NUM_GPUS OPTION...: a run on every dataset, its record at FOLDER/APP__DATASET__GPU<NUM_GPUS>.json.
# One that fails does not stop the others. An application that takes no graph runs once.
run_app() {
    local app=$1 folder=$2 gpus=$3 graph failed=() on
    shift 3
    count_gpus
    on=$(devices "$gpus")
    run mkdir -p "$folder"
    if ! "$hive" run "$app" --help | grep -- --graph >/dev/null; then
        run_one "$folder/${app}__GPU$gpus.json" "$app" --devices "$on" --benchmark "$@"
        return
    fi
    while read -r graph; do
        run_one "$folder/${app}__$(dataset_name "$graph")__GPU$gpus.json" \
            "$app" --graph "$graph" --devices "$on" --benchmark "$@" || failed+=("$graph")
    done < <(datasets)
    if [ ${#failed[@]} -gt 0 ]; then
        echo "$me: failed on ${failed[*]}" >&2
        exit 1
    fi
}
