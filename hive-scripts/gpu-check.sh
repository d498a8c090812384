#!/usr/bin/env bash
# On a GPU machine, with what gpu-pack.sh collected: the tests, the sanitizers, the measurements.
#
#   hive-scripts/gpu-check.sh OUT_DIR [WHAT ...]
#
# WHAT, default the first three:
#   tests      every packed test              -> tests.json, tests.log
#   sanitize   every kernel under memcheck, initcheck, synccheck, racecheck -> sanitize.json, .log
#   standing   configs/standing.toml          -> standing.json (cells), standing.tar.gz (records)
#   failing    every call to a GPU fails once -> failing.log. It takes over twenty minutes on 32 cores; with HIVE_FAIL_PART=0/4,
#              1/4, 2/4 or 3/4 it is a quarter of the calls
#   forall     benches/forall.rs: transforms, launches, schemes, compiling -> forall.json
#   FILE.toml  another sweep                  -> NAME.json, NAME.tar.gz
# Beside them check.log: the doctor's findings and all tables. Exits 1 when anything failed, after
# doing the rest.
#
# DEVICES    device lists of the sweeps, as in "cuda:0 cuda:0-1 cuda:0-3"; default for `standing`:
#            1, 2, 4 and 8 GPUs, as far as they are there; other sweeps: their own
# RESUME     a folder with NAME.tar.gz of before: the sweep NAME goes on from there, cells that are finished do not run
# TESTS      names of tests to run, lib or modules, as in "replicas faults"; default all
# SANITIZE   workloads to sanitize, as in "bfs bc"; default all, with the generator and the operators' tests
# PACK       default .gpu; its tests.tar.xz is unpacked elsewhere
# TEST_TIMEOUT, SANITIZE_TIMEOUT (one run), SWEEP_TIMEOUT: seconds
# TEST_THREADS  tests at a time, default 1: they share the GPUs.  SANITIZE_JOBS: default 4
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    echo "gpu-check: $1; use: gpu-check.sh OUT_DIR [tests | sanitize | standing | failing | forall | FILE.toml ...]" >&2
    exit 2
}

out=${1:-}
if [ -z "$out" ]; then usage "no OUT_DIR"; fi
shift
if [ $# -eq 0 ]; then set -- tests sanitize standing; fi
for what in "$@"; do
    case $what in
    tests | sanitize | standing | failing | forall) ;;
    *.toml) [ -f "$what" ] || usage "$what is not here" ;;
    *) usage "$what is not understood" ;;
    esac
done
pack=${PACK:-.gpu}
[ -x "$pack/bin/hive" ] || usage "$pack/bin/hive is not here (gpu-pack.sh makes it)"

# Multicast does harm on shared hosts, and hivegraph does not use it.
export NCCL_NVLS_ENABLE=0
export LD_LIBRARY_PATH="/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export HIVE_BIN="$PWD/$pack/bin/hive" HIVE_DATA="$PWD/$pack/data"
mkdir -p "$out"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
if [ -f "$pack/tests.tar.xz" ]; then
    tar -C "$scratch" -xJf "$pack/tests.tar.xz"
    pack=$scratch
fi

"$HIVE_BIN" doctor | tee "$out/check.log"

say() { echo "gpu-check: $*" | tee -a "$out/check.log"; }

# Milliseconds since $1 (nanoseconds).
since() { echo $((($(date +%s%N) - $1) / 1000000)); }

# Lines `NAME PROGRAM FILTER`: `lib`, and the modules of the other programs. Each runs in a process of its own, since an
# error of a GPU lasts as long as the process. Modules that use no GPU are left out.
packed_tests() {
    local path program
    for path in "$pack"/tests/*; do
        program=$(basename "$path")
        if [ "$program" = lib ]; then
            echo lib lib
        else
            "$path" --list | sed -n 's/::.*: test$//p' | sort -u | sed "s/.*/& $program &::/"
        fi
    done | grep -vE '^(kernels|spatial_median) '
}

run_tests() {
    local separator='' name program filter start rc
    packed_tests >"$scratch/packed"
    if [ -n "${TESTS:-}" ]; then
        # shellcheck disable=SC2086  # names are words
        for name in $TESTS; do
            grep "^$name " "$scratch/packed" || usage "TESTS: there is no test $name" >&2
        done >"$scratch/asked"
        mv "$scratch/asked" "$scratch/packed"
    fi
    : >"$out/tests.log"
    echo '[' >"$out/tests.json"
    while read -r name program filter; do
        start=$(date +%s%N) rc=0
        echo "== $name" >>"$out/tests.log"
        # shellcheck disable=SC2086  # a filter or none
        timeout --kill-after=10 "${TEST_TIMEOUT:-240}" "$pack/tests/$program" $filter \
            --test-threads="${TEST_THREADS:-1}" >>"$out/tests.log" 2>&1 </dev/null || rc=$?
        printf '%s  {"test": "%s", "rc": %d, "ms": %d}' "$separator" "$name" "$rc" \
            "$(since "$start")" >>"$out/tests.json"
        separator=$',\n'
        if [ "$rc" -ne 0 ]; then failed=1; fi
        say "test $name: exit code $rc, $(since "$start") ms"
    done <"$scratch/packed"
    printf '\n]\n' >>"$out/tests.json"
    grep -E '^test result|FAILED|panicked|skipped' "$out/tests.log" || true
}

# Graphs small enough for a sanitizer that between them need every kernel in every form: skewed and
# flat (push-pull and near-far), integer weights (packed arcs), fractional weights, no weights, and a
# node of large degree.
sanitize_graphs() {
    awk 'BEGIN { for (i = 1; i < 3000; i++) print int(i / 7), i "\n" i, int(i / 7) }' >"$scratch/unit.txt"
    awk 'BEGIN { for (i = 1; i < 3000; i++) { w = i % 11 + 0.37; j = i % 3 ? int(i / 9) : 0;
                 print j, i, w "\n" i, j, w } }' >"$scratch/float.txt"
    awk 'BEGIN { for (i = 1; i < 300; i++) { w = i % 5 + 0.25; print i - 1, i, w "\n" i, i - 1, w } }' \
        >"$scratch/float-path.txt"
    awk 'BEGIN { for (i = 1; i < 300; i++) print i - 1, i "\n" i, i - 1 }' >"$scratch/unit-path.txt"
}

# One tool over one command: a line `tool rc errors ms graph mode` in $scratch/sanitized.
sanitize_one() {
    local tool=$1 graph=$2 mode=$3 more rc=0 log start errors command
    log=$(mktemp -p "$scratch" log.XXXXXX)
    start=$(date +%s%N)
    case $tool in
    memcheck) more=(--leak-check no) ;;
    *) more=() ;;
    esac
    # shellcheck disable=SC2206  # $mode is words
    case $mode in
    generate*) command=(generate "$graph" ${mode#generate} --check) ;;
    geo*) command=(run geo --graph "$graph" --locate 0.5:1 ${mode#geo} --runs 1 --warmup 0 --verify) ;;
    run*) command=(${mode} --graph "$graph" --runs 1 --warmup 0 --verify) ;;
    *) command=(run sssp --graph "$graph" $mode --runs 1 --warmup 0 --verify) ;;
    esac
    timeout --kill-after=10 "${SANITIZE_TIMEOUT:-90}" compute-sanitizer --tool "$tool" "${more[@]}" \
        --error-exitcode 86 "$HIVE_BIN" "${command[@]}" --deadline 80 >"$log" 2>&1 || rc=$?
    # racecheck ends in `RACECHECK SUMMARY: N hazards`, the others in `ERROR SUMMARY: N errors`.
    errors=$(sed -nE 's/.* SUMMARY: ([0-9]+) .*/\1/p' "$log" | tail -1)
    {
        echo "== $tool: $graph $mode: exit code $rc"
        if [ "$rc" -eq 0 ]; then tail -3 "$log"; else head -c 20000 "$log"; fi
    } >"$log.kept"
    echo "$tool $rc ${errors:--} $(since "$start") $(basename "$graph") $mode" >"$log.line"
}

# The operators' tests on few fleets, but for those that end in an error.
sanitize_operators() {
    local tool=$1 rc=0 log start errors
    if [ ! -x "$pack/tests/device" ]; then return; fi
    log=$(mktemp -p "$scratch" log.XXXXXX)
    start=$(date +%s%N)
    HIVE_FLEETS="cuda:0 cuda:0x2" timeout --kill-after=10 "${OPERATORS_TIMEOUT:-240}" compute-sanitizer --tool "$tool" \
        --error-exitcode 86 "$pack/tests/device" operators:: --test-threads=1 --skip end --skip refused --skip told \
        >"$log" 2>&1 || rc=$?
    errors=$(sed -nE 's/.* SUMMARY: ([0-9]+) .*/\1/p' "$log" | tail -1)
    {
        echo "== $tool: operators' tests: exit code $rc"
        if [ "$rc" -eq 0 ]; then tail -3 "$log"; else head -c 20000 "$log"; fi
    } >"$log.kept"
    echo "$tool $rc ${errors:--} $(since "$start") operators tests" >"$log.line"
}

# Whether a workload's kernels are to be sanitized.
wanted() { [[ -z "${SANITIZE:-}" || " $SANITIZE " == *" $1 "* ]]; }

# Until fewer than SANITIZE_JOBS are in the background.
turn() { while [ "$(jobs -rp | wc -l)" -ge "${SANITIZE_JOBS:-4}" ]; do wait -n || true; done; }

run_sanitizers() {
    local tool graph mode what
    if ! command -v compute-sanitizer >/dev/null; then
        say "sanitize: compute-sanitizer is not on the PATH (CUDA toolkit's bin)"
        failed=1
        return
    fi
    sanitize_graphs
    # Kernels into the cache first, so that four tools do not compile them at once.
    "$HIVE_BIN" run sssp --graph rmat:10 --devices cuda:0 --runs 1 >/dev/null || true
    "$HIVE_BIN" generate rmat:10 --devices cuda:0 >/dev/null || true
    for tool in memcheck initcheck synccheck racecheck; do
        if wanted sssp; then
            for graph in rmat:10 grid:64x64 "$scratch"/{unit,float,unit-path,float-path}.txt; do
                for mode in '--devices cuda:0' '--devices cuda:0x2 --merge split --delta inf' \
                    '--devices cuda:0x2 --merge dense'; do
                    turn; sanitize_one "$tool" "$graph" "$mode" &
                done
            done
        fi
        if wanted generate; then
            for mode in 'generate --devices cuda:0' \
                'generate --devices cuda:0 --keys-per-pass 20000 --edges-per-launch 30000'; do
                turn; sanitize_one "$tool" rmat:12 "$mode" &
            done
        fi
        if wanted geo; then
            for mode in 'geo --devices cuda:0' 'geo --devices cuda:0x2 --merge split'; do
                turn; sanitize_one "$tool" rmat:12 "$mode" &
            done
        fi
        if wanted operators; then turn; sanitize_operators "$tool" & fi
        # The workloads over graphs without weights: whole, and cut over two replicas of the GPU.
        for graph in rmat:10 grid:40x40; do
            for what in bfs cc scc kcore triangles 'pagerank --iterations 3' 'bc --sources connected:3:1'; do
                if ! wanted "${what%% *}"; then continue; fi
                for mode in "run $what --devices cuda:0" "run $what --devices cuda:0x2 --merge split"; do
                    turn; sanitize_one "$tool" "$graph" "$mode" &
                done
            done
        done
    done
    wait
    cat "$scratch"/log.*.kept >"$out/sanitize.log"
    sort "$scratch"/log.*.line >"$scratch/sanitized"
    awk 'BEGIN { printf "[" }
         { separator = NR == 1 ? "" : ","; mode = $6; for (i = 7; i <= NF; i++) mode = mode " " $i
           errors = $3 == "-" ? "null" : $3
           printf "%s\n  {\"tool\": \"%s\", \"graph\": \"%s\", \"mode\": \"%s\", \"rc\": %d, " \
               "\"errors\": %s, \"ms\": %d}", separator, $1, $5, mode, $2, errors, $4 }
         END { print "\n]" }' "$scratch/sanitized" >"$out/sanitize.json"
    # A run without a count did not get as far as its summary: that is no clean run.
    awk '{ runs[$1]++; if ($3 == "-") lost[$1]++; else errors[$1] += $3; if ($2 || $3 != "0") bad[$1]++ }
         END { printf "%-10s %5s %7s %9s %7s\n", "tool", "runs", "errors", "no count", "failed"
               for (t in runs)
                   printf "%-10s %5d %7d %9d %7d\n", t, runs[t], errors[t], lost[t], bad[t] }' \
        "$scratch/sanitized" | tee -a "$out/check.log"
    awk '$2 || $3 != "0"' "$scratch/sanitized" >"$scratch/not-clean"
    head -20 "$scratch/not-clean" | tee -a "$out/check.log"
    if [ -s "$scratch/not-clean" ]; then
        failed=1
    fi
}

# 1, 2, 4 and 8 GPUs, as far as they are there.
all_devices() {
    local here count
    here=$("$HIVE_BIN" doctor --json - | grep -c '"device": "cuda:' || true)
    for count in 1 2 4 8; do
        if [ "$count" -le "$here" ]; then
            [ "$count" -eq 1 ] && echo cuda:0 || echo "cuda:0-$((count - 1))"
        fi
    done
}

run_sweep() {
    local config=$1 name rc=0 devices=()
    shift
    name=$(basename "$config" .toml)
    if [ $# -gt 0 ]; then devices=(--devices "$@"); fi
    if [ -f "${RESUME:-}/$name.tar.gz" ]; then tar -C "$scratch" -xzf "$RESUME/$name.tar.gz"; fi
    timeout --kill-after=10 "${SWEEP_TIMEOUT:-540}" \
        "$HIVE_BIN" sweep "$config" --output "$scratch/$name" "${devices[@]}" |
        tee -a "$out/check.log" || rc=$?
    if [ -f "$scratch/$name/sweep.json" ]; then cp "$scratch/$name/sweep.json" "$out/$name.json"; fi
    if [ -d "$scratch/$name" ]; then tar -C "$scratch" -czf "$out/$name.tar.gz" "$name"; fi
    say "sweep $name: exit code $rc"
    if [ "$rc" -ne 0 ]; then failed=1; fi
}

read -ra asked <<<"${DEVICES:-}"
for what in "$@"; do
    case $what in
    tests) run_tests ;;
    sanitize) run_sanitizers ;;
    failing)
        HIVE_FAILING=$(realpath "$pack/failing/libfailing.so") "$pack/failing/program" every_call_to_a_gpu --nocapture \
            >"$out/failing.log" 2>&1 </dev/null || failed=1
        grep -E '^[0-9]+ of [0-9]+ calls failed|^test result' "$out/failing.log" | tee -a "$out/check.log" || true
        # Without a GPU the test has nothing to say, and passes.
        grep -q 'calls failed' "$out/failing.log" || failed=1
        ;;
    forall)
        timeout --kill-after=10 300 "$pack/bench/forall" --json "$out/forall.json" | tee -a "$out/check.log" || failed=1
        ;;
    standing)
        mapfile -t there < <(all_devices)
        if [ ${#asked[@]} -gt 0 ]; then there=("${asked[@]}"); fi
        if [ ${#there[@]} -eq 0 ]; then
            say "standing: no CUDA device here"
            failed=1
        else
            run_sweep configs/standing.toml "${there[@]}"
        fi
        ;;
    *.toml) run_sweep "$what" "${asked[@]}" ;;
    esac
done
exit "$failed"
