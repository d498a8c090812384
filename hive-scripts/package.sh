#!/usr/bin/env bash
# Makes one archive of hive for Linux on x86-64 that runs on any distribution with glibc 2.28 or newer (2018 on): the program,
# README, licenses, completions, manual pages and configs/.
#
#   hive-scripts/package.sh [OUTPUT_DIR]     by default target/package
#
# It links with Zig, which has the symbols of old C libraries; pip installs it into target/package/tools. CUDA's libraries are not
# in the archive: the program finds those of the machine.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
-h | --help)
    sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
    exit 0
    ;;
-*)
    echo "package.sh: there is no option $1; see package.sh --help" >&2
    exit 2
    ;;
esac
glibc=2.28
target=${CARGO_TARGET_DIR:-target}
out=${1:-$target/package}
tools=$target/package/tools
mkdir -p "$out" "$tools"
tools=$(cd "$tools" && pwd)

if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m pip install --quiet --target "$tools" ziglang==0.15.2 cargo-zigbuild==0.24.1
fi
rustup --quiet target add x86_64-unknown-linux-gnu
PATH="$tools/bin:$PATH" PYTHONPATH="$tools${PYTHONPATH:+:$PYTHONPATH}" \
    cargo zigbuild --release --locked --target "x86_64-unknown-linux-gnu.$glibc" --bin hive

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=hivegraph-$version-linux-x86_64
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
root=$stage/$name
mkdir -p "$root/bin" "$root/completions" "$root/manuals"
install -s "$target/x86_64-unknown-linux-gnu/release/hive" "$root/bin/hive"
for shell in bash zsh fish; do "$root/bin/hive" completions "$shell" >"$root/completions/hive.$shell"; done
"$root/bin/hive" man "$root/manuals" >/dev/null
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$root/"
cp -r configs hive-scripts "$root/"

# What it asks of the C library is what it was linked for.
newest=$(objdump -T "$root/bin/hive" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -V | tail -1)
if [ "$(printf '%s\n' "$newest" "$glibc" | sort -V | tail -1)" != "$glibc" ]; then
    echo "package.sh: the program asks for glibc $newest; $glibc was wanted" >&2
    exit 1
fi
tar -C "$stage" --sort=name --owner=0 --group=0 -czf "$out/$name.tar.gz" "$name"
echo "$out/$name.tar.gz: $(du -h "$out/$name.tar.gz" | cut -f1), glibc $newest"
