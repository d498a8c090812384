#!/usr/bin/env bash
# Breadth-first search from the lowest id of the largest component, called as the HIVE scripts are:
#
#   hive-scripts/hive-bfs-test.sh [OUTPUT_DIR] [NUM_GPUS] [--dry-run]
#
# on every graph of DATASETS; records go to OUTPUT_DIR/default/bfs__DATASET__GPU<NUM_GPUS>.json. OUTPUT_DIR and NUM_GPUS
# may also come from the environment; common.sh lists the rest.
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

plain_app bfs
