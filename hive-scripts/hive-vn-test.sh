#!/usr/bin/env bash
# Vertex nomination, as the HIVE scripts call it:
#
#   hive-scripts/hive-vn-test.sh [OUTPUT_DIR] [NUM_GPUS] [NUM_SEEDS] [--dry-run]
#
# from the NUM_SEEDS (default 10) nodes of the lowest ids, on every graph of DATASETS; records go to
# OUTPUT_DIR/NUM_SEEDS/vn__DATASET__GPU<NUM_GPUS>.json. OUTPUT_DIR, NUM_GPUS and NUM_SEEDS may also come from the
# environment; common.sh lists the rest.
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

[ ${#arguments[@]} -le 3 ] || die_usage '[OUTPUT_DIR] [NUM_GPUS] [NUM_SEEDS] [--dry-run]' "too many arguments"
out=${arguments[0]:-${OUTPUT_DIR:-vn_eval_mgpu/${PARTITION:-local}}}
gpus=${arguments[1]:-${NUM_GPUS:-1}}
seeds=${arguments[2]:-${NUM_SEEDS:-10}}
number NUM_GPUS "$gpus"
number NUM_SEEDS "$seeds"
run_app vn "$out/$seeds" "$gpus" --seeds "first:$seeds"
