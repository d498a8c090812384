#!/usr/bin/env bash
# Any workload of `hive list`, called as the HIVE scripts are:
#
#   hive-scripts/hive-test.sh WORKLOAD [OUTPUT_DIR] [NUM_GPUS] [OPTION ...] [--dry-run]
#
# It runs on every graph of DATASETS. Records go to OUTPUT_DIR/default/WORKLOAD__DATASET__GPU<NUM_GPUS>.json. A workload
# that takes no graph runs once, and its record is OUTPUT_DIR/default/WORKLOAD__GPU<NUM_GPUS>.json. OPTIONs go to
# `hive run`, as in --iterations 10. OUTPUT_DIR and NUM_GPUS may also come from the environment; common.sh lists the
# rest.
# shellcheck disable=SC2034  # common.sh reads it: what `hive run` takes goes on to it
pass_options=1
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

form='WORKLOAD [OUTPUT_DIR] [NUM_GPUS] [OPTION ...] [--dry-run]'
places=()
while [ ${#arguments[@]} -gt 0 ] && [[ ${arguments[0]} != -* ]]; do
    places+=("${arguments[0]}")
    arguments=("${arguments[@]:1}")
done
[ ${#places[@]} -ge 1 ] || die_usage "$form" "no WORKLOAD"
[ ${#places[@]} -le 3 ] || die_usage "$form" "too many arguments"
app=${places[0]}
out=${places[1]:-${OUTPUT_DIR:-${app}_eval_mgpu/${PARTITION:-local}}}
gpus=${places[2]:-${NUM_GPUS:-1}}
is_workload "$app" || die "there is no workload '$app'; \`hive list\` names them"
number NUM_GPUS "$gpus"
run_app "$app" "$out/default" "$gpus" "${arguments[@]}"
