#!/usr/bin/env bash
# On a GPU machine: every packed test, then the standing measurements. Everything lands in $OUT as a few
# flat files: check.log (doctor, tables), tests.json, tests.log, and a NAME.json (all cells) and a
# NAME.tar.gz (all records) for each sweep.
# Exits 1 when a test or a cell failed, after doing the rest.
#
#   OUT=results hive-scripts/gpu-check.sh [--tests | --sweeps] [CONFIG.toml ...]
#
# CONFIG.toml: the sweeps to run, default configs/standing.toml.  PACK: default .gpu (gpu-pack.sh).
# TEST_TIMEOUT, SWEEP_TIMEOUT: seconds.  TEST_THREADS: tests at a time, default 1: they share the GPUs.
set -euo pipefail
cd "$(dirname "$0")/.."

pack=${PACK:-.gpu}
out=${OUT:-target/gpu-check}
tests=true sweeps=true configs=()
for argument in "$@"; do
    case $argument in
    --tests) sweeps=false ;;
    --sweeps) tests=false ;;
    -*)
        echo "gpu-check: $argument: use --tests, --sweeps or sweep configurations" >&2
        exit 2
        ;;
    *) configs+=("$argument") ;;
    esac
done
if [ ${#configs[@]} -eq 0 ]; then configs=(configs/standing.toml); fi

# Multicast does harm on shared hosts, and hivegraph does not use it.
export NCCL_NVLS_ENABLE=0
export LD_LIBRARY_PATH="/usr/local/cuda/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export HIVE_BIN="$PWD/$pack/bin/hive" HIVE_DATA="$PWD/$pack/data"
mkdir -p "$out"
failed=0

"$HIVE_BIN" doctor | tee "$out/check.log"

run_tests() {
    local separator='' test name start rc
    : >"$out/tests.log"
    {
        echo '['
        for test in "$pack"/tests/*; do
            name=$(basename "$test") start=$(date +%s%N) rc=0
            echo "== $name" >>"$out/tests.log"
            timeout --kill-after=10 "${TEST_TIMEOUT:-240}" "$test" \
                --test-threads="${TEST_THREADS:-1}" >>"$out/tests.log" 2>&1 || rc=$?
            printf '%s  {"test": "%s", "rc": %d, "ms": %d}' "$separator" "$name" "$rc" \
                $((($(date +%s%N) - start) / 1000000))
            separator=$',\n'
            if [ "$rc" -ne 0 ]; then failed=1; fi
            echo "gpu-check: $name: exit code $rc" >&2
        done
        printf '\n]\n'
    } >"$out/tests.json"
    grep -E '^test result|FAILED|panicked|skipped' "$out/tests.log" || true
}

run_sweep() {
    local config=$1 name folder rc=0
    name=$(basename "$config" .toml)
    folder=$(mktemp -d)
    timeout --kill-after=10 "${SWEEP_TIMEOUT:-420}" \
        "$HIVE_BIN" sweep "$config" --output "$folder/$name" | tee -a "$out/check.log" || rc=$?
    if [ -f "$folder/$name/sweep.json" ]; then cp "$folder/$name/sweep.json" "$out/$name.json"; fi
    tar -C "$folder" -czf "$out/$name.tar.gz" .
    rm -rf "$folder"
    echo "gpu-check: sweep $name: exit code $rc" >&2
    if [ "$rc" -ne 0 ]; then failed=1; fi
}

if $tests; then run_tests; fi
if $sweeps; then
    for config in "${configs[@]}"; do run_sweep "$config"; done
fi
exit "$failed"
