#!/usr/bin/env bash
# The general sweep: `hive sweep` of a configuration, under Slurm where there is srun, else here.
#
#   hive-scripts/hive-run.sh CONFIG.toml [OUTPUT_DIR] [OPTION ...] [--dry-run]
#
# CONFIG may be the name of a preset: `smoke` is configs/smoke.toml. OUTPUT_DIR: default results/NAME, or the
# environment's. OPTIONs go to `hive sweep`: --isolate, --rerun, --devices cuda:0 cuda:0-3, --only workload=bfs, --set runs=3, ...
#
# NUM_GPUS      GPUs that srun asks for; default 8
# PARTITION     srun's -p, and the partition in the layout of records
# SRUN_OPTIONS  further options of srun, as in "-t 60"
# shellcheck disable=SC2034  # common.sh reads it: what `hive sweep` takes goes on to it
pass_options=1
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

form='CONFIG.toml [OUTPUT_DIR] [OPTION ...] [--dry-run]'
config=${arguments[0]:-}
[ -n "$config" ] || die_usage "$form" "no CONFIG"
if [ ! -f "$config" ]; then
    [ -f "$home/configs/$config.toml" ] || die_usage "$form" "$config is neither a file nor a preset of configs/"
    config=$home/configs/$config.toml
fi
rest=("${arguments[@]:1}")
out=${OUTPUT_DIR:-results/$(basename "$config" .toml)}
if [ ${#rest[@]} -gt 0 ] && [[ ${rest[0]} != -* ]]; then
    out=${rest[0]}
    rest=("${rest[@]:1}")
fi
command=("$hive" sweep "$config" --output "$out" "${rest[@]}")
if [ -n "${PARTITION:-}" ]; then command+=(--partition "$PARTITION"); fi
if command -v srun >/dev/null; then
    read -ra srun_options <<<"${SRUN_OPTIONS:-}"
    if [ -n "${PARTITION:-}" ]; then srun_options=(-p "$PARTITION" "${srun_options[@]}"); fi
    number NUM_GPUS "${NUM_GPUS:-8}"
    command=(srun --cpus-per-gpu 1 -G "${NUM_GPUS:-8}" -N 1 "${srun_options[@]}" "${command[@]}")
fi
run "${command[@]}"
