#!/usr/bin/env bash
# Geolocation, as the HIVE scripts call it:
#
#   hive-scripts/hive-geo-test.sh [OUTPUT_DIR] [NUM_GPUS] [--dry-run]
#
# in at most GEO_ITER (default 10) waves of at most SPATIAL_ITER (default 1000) steps a median, on every graph of
# DATASETS; records go to OUTPUT_DIR/geo-GEO_ITER_spatial-SPATIAL_ITER/geo__DATASET__GPU<NUM_GPUS>.json.
#
# LABELS  a file of places, by the ids of the graph (HIVE_OPTIONS='--labels-first-id 0' where it counts from 0 and the
#         graph does not); without one half of the nodes are placed at random (--locate 0.5:1)
#
# OUTPUT_DIR and NUM_GPUS may also come from the environment; common.sh lists the rest.
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

[ ${#arguments[@]} -le 2 ] || die_usage '[OUTPUT_DIR] [NUM_GPUS] [--dry-run]' "too many arguments"
out=${arguments[0]:-${OUTPUT_DIR:-geo_eval_mgpu/${PARTITION:-local}}}
gpus=${arguments[1]:-${NUM_GPUS:-1}}
waves=${GEO_ITER:-10}
steps=${SPATIAL_ITER:-1000}
number NUM_GPUS "$gpus"
number GEO_ITER "$waves"
number SPATIAL_ITER "$steps"
places=(--locate 0.5:1)
if [ -n "${LABELS:-}" ]; then places=(--labels "$LABELS"); fi
run_app geo "$out/geo-${waves}_spatial-$steps" "$gpus" "${places[@]}" --geo-iter "$waves" --spatial-iter "$steps"
