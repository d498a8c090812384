#!/usr/bin/env bash
# Builds hive and the tests that have something to do on a GPU, and collects what a GPU machine without
# a compiler or a network needs in .gpu/: bin/hive, tests.tar.xz, data/*. At most 64 MiB, with the tree that
# travels along: test executables have most of their bytes in common, and go as one archive.
#
#   hive-scripts/gpu-pack.sh                 real graphs from ../shared/data, or from $HIVE_DATA
#   hive-scripts/gpu-pack.sh --no-tests      the program and the data only
set -euo pipefail
cd "$(dirname "$0")/.."

pack=.gpu
limit_mib=60
# `lib` is the crate's own unit tests, those of the collectives among them; of `program` it is calls to a GPU that fail.
tests=(lib workloads device fleet verify program)
data=${HIVE_DATA:-../shared/data}

rm -rf "$pack"
mkdir -p "$pack/bin" "$pack/tests" "$pack/data/road" "$pack/data/social" "$pack/data/small" "$pack/data/web"

cargo build --release --locked
install -s "${CARGO_TARGET_DIR:-target}/release/hive" "$pack/bin/hive"

# Cargo names each test executable in its JSON messages: target/debug/deps/NAME-HASH. (The profile's
# "test", not the target's, tells a test executable from the program itself.)
if [ "${1:-}" != --no-tests ]; then
    targets=()
    for name in "${tests[@]}"; do
        if [ "$name" = lib ]; then targets+=(--lib); else targets+=(--test "$name"); fi
    done
    messages=$(mktemp)
    trap 'rm -f "$messages"' EXIT
    cargo test --locked --no-run --message-format=json "${targets[@]}" >"$messages"
    grep '"test":true},"features"' "$messages" | grep -o '"executable":"[^"]*"' | cut -d'"' -f4 |
        while read -r test; do
            name=$(basename "$test")
            name=${name%-*}
            # The crate's own.
            if [ "$name" = hivegraph ]; then name=lib; fi
            install -s "$test" "$pack/tests/$name"
        done
    mkdir -p "$pack/failing"
    mv "$pack/tests/program" "$pack/failing/"
    "${RUSTC:-rustc}" --edition 2024 --crate-type cdylib -C opt-level=1 -C panic=abort -C strip=symbols \
        -o "$pack/failing/libfailing.so" tests/failing/shim.rs
fi

# The benchmark of operators, as it is built for `cargo bench`.
if [ "${1:-}" != --no-tests ]; then
    mkdir -p "$pack/bench"
    cargo bench --bench forall --locked --no-run --message-format=json |
        grep -o '"executable":"[^"]*forall-[^"]*"' | cut -d'"' -f4 | tail -1 |
        while read -r bench; do install -s "$bench" "$pack/bench/forall"; done
fi

count=0
if [ "${1:-}" != --no-tests ]; then
    count=$(find "$pack/tests" -type f | wc -l)
    tar -C "$pack" -cf - tests failing bench | xz --lzma2=preset=3,dict=192MiB >"$pack/tests.tar.xz"
fi
rm -rf "$pack/tests" "$pack/failing" "$pack/bench"

copy() { # copy FOLDER FILE...: data that is not there is left out, and said
    local folder=$1 file
    shift
    for file in "$@"; do
        if [ -f "$data/$folder/$file" ]; then
            cp "$data/$folder/$file" "$pack/data/$folder/"
        else
            echo "gpu-pack: no $data/$folder/$file" >&2
        fi
    done
}
copy small chesapeake.mtx
copy social email-Enron.txt.gz wiki-Vote.txt.gz soc-Slashdot0902.mtx.gz
copy road USA-road-d.NY.gr.gz
copy web cnr-2000.mtx.gz
mkdir -p "$pack/data/geo"
copy geo openflights-routes.mtx.gz openflights-airports.csv loc-gowalla-p4515.mtx.gz loc-gowalla-p4515-home.csv.gz

# DIMACS arcs (`a FROM TO LENGTH`, ids from 1) as an edge list with ids from 0.
road=$pack/data/road/USA-road-d.NY
if [ -f "$road.gr.gz" ]; then
    gzip -dc "$road.gr.gz" | awk '$1 == "a" { print $2 - 1, $3 - 1, $4 }' | gzip -9n >"$road.txt.gz"
fi
chmod -R u+w "$pack"

size=$(du -sm "$pack" | cut -f1)
echo "gpu-pack: $pack is $size MiB: $count tests, hive and data"
if [ "$size" -gt "$limit_mib" ]; then
    echo "gpu-pack: more than $limit_mib MiB; leave data out" >&2
    exit 1
fi
