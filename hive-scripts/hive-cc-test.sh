#!/usr/bin/env bash
# Connected components, called as the HIVE scripts are:
#
#   hive-scripts/hive-cc-test.sh [OUTPUT_DIR] [NUM_GPUS] [--dry-run]
#
# on every graph of DATASETS; records go to OUTPUT_DIR/default/cc__DATASET__GPU<NUM_GPUS>.json. OUTPUT_DIR and NUM_GPUS
# may also come from the environment; common.sh lists the rest.
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

plain_app cc
