#!/usr/bin/env bash
# Runs workloads on the host beside those of the GAP benchmark suite, on the same graphs and cores, and prints a JSON line for
# each: medians of the runs, and, as GAP's shortest paths want a delta, the delta that was best. GAP and hive take turns, as a
# machine may be slower for a while.
#
#   git clone https://github.com/sbeamer/gapbs && make -C gapbs bfs sssp cc bc pr_spmv tc
#   hive-scripts/beside-gap.sh gapbs [GRAPH ...] > gap.jsonl
#
# GRAPH is what `hive run --graph` takes; default rmat:20, uniform:2^20 and road:20. GAP's files are made in TMPDIR.
# Neither side's loading and preparing are counted: hive sorts rows by weight, and labels by degree where they are skewed; GAP
# has sorted rows, and its tc sorts nodes by degree within its time where it thinks that it pays. PageRank makes ten iterations.
#
# RUNS     timed runs of a turn, default 5
# TURNS    turns of each, default 3: the median turn counts
# HIVE_BIN the program; default target/release/hive
# shellcheck source=hive-scripts/common.sh
source "$(dirname "$0")/common.sh"
set -- "${arguments[@]}"
if [ $# -lt 1 ]; then die_usage "GAP_DIR [GRAPH ...]" "no GAP_DIR"; fi
gap=$1
shift
if [ $# -eq 0 ]; then set -- rmat:20 uniform:2^20 road:20; fi
runs=${RUNS:-5}
number RUNS "$runs"
turns=${TURNS:-3}
number TURNS "$turns"
for program in bfs sssp cc bc pr_spmv tc; do
    [ -x "$gap/$program" ] || die "$gap/$program is not there; make -C $gap $program"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The median of numbers, one a line.
median() { sort -g | awk '{ all[NR] = $1 } END { if (NR) print all[int((NR + 1) / 2)] }'; }

# gap_ms PROGRAM OPTION ...: the median of GAP's trials, in ms.
gap_ms() {
    local program=$1
    shift
    "$gap/$program" -n "$runs" "$@" | awk '/^Trial Time/ { print 1000 * $3 }' | median
}

# hive_ms WORKLOAD OPTION ...: the median of hive's runs, in ms.
hive_ms() {
    local workload=$1
    shift
    "$hive" run "$workload" --graph "$graph" --devices host:1 --runs "$runs" --quiet --json - "$@" |
        tr -d ' \n' | sed -n 's/.*"process-time":{"median":\([0-9.e-]*\).*/\1/p'
}

commit=unknown
if [ -e "$gap/.git" ]; then commit=$(git -C "$gap" rev-parse --short=12 HEAD); fi

# line WORKLOAD PROGRAM GAP_OPTIONS HIVE_OPTIONS [DELTA]: options are words.
line() {
    local turn ours=() theirs=()
    for ((turn = 0; turn < turns; turn++)); do
        # shellcheck disable=SC2086
        theirs+=("$(gap_ms "$2" $3)")
        # shellcheck disable=SC2086
        ours+=("$(hive_ms "$1" $4)")
    done
    printf '{"graph":"%s","workload":"%s","gap_ms":%s,"hive_ms":%s,"gap_delta":%s,"cores":%s,"gap":"%s","hive":"%s"}\n' \
        "$graph" "$1" "$(printf '%s\n' "${theirs[@]}" | median)" "$(printf '%s\n' "${ours[@]}" | median)" \
        "${5:-null}" "$(nproc)" "$commit" "$("$hive" --version | head -1)"
}

for graph in "$@"; do
    "$hive" convert "$graph" "$scratch/plain.sg" --weights unit --quiet
    "$hive" convert "$graph" "$scratch/weighted.wsg" --quiet
    source=$("$hive" run bfs --graph "$graph" --devices host:1 | sed -n 's/.*from node \([0-9]*\).*/\1/p' | head -1)
    plain="-f $scratch/plain.sg" weighted="-f $scratch/weighted.wsg"
    line bfs bfs "$plain -r $source" ""
    best='' delta=''
    for tried in 1 4 16 64 256 1024 4096; do
        # shellcheck disable=SC2086
        took=$(gap_ms sssp $weighted -r "$source" -d "$tried")
        if [ -z "$best" ] || awk "BEGIN { exit !($took < $best) }"; then best=$took delta=$tried; fi
    done
    line sssp sssp "$weighted -r $source -d $delta" "" "$delta"
    line cc cc "$plain" ""
    line bc bc "$plain -r $source -i 1" ""
    line pagerank pr_spmv "$plain -i 10 -t 0" "--iterations 10"
    line triangles tc "$plain" ""
done
