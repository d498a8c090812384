#!/usr/bin/env bash
# Filter, an array's values below a share of all, called as the HIVE scripts are:
#
#   hive-scripts/hive-filter-test.sh [OUTPUT_DIR] [NUM_GPUS] [--dry-run]
#
# on an array of ELEMENTS values (default 16777216); the record goes to
# OUTPUT_DIR/default/filter__array-ELEMENTS__GPU<NUM_GPUS>.json. OUTPUT_DIR and NUM_GPUS may also come from the
# environment; common.sh lists the rest.
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

[ ${#arguments[@]} -le 2 ] || die_usage '[OUTPUT_DIR] [NUM_GPUS] [--dry-run]' "too many arguments"
out=${arguments[0]:-${OUTPUT_DIR:-filter_eval_mgpu/${PARTITION:-local}}}/default
gpus=${arguments[1]:-${NUM_GPUS:-1}}
elements=${ELEMENTS:-16777216}
number NUM_GPUS "$gpus"
number ELEMENTS "$elements"
read -ra more <<<"${HIVE_OPTIONS:-}"
run mkdir -p "$out"
run "$hive" run filter --devices "$(devices "$gpus")" --elements "$elements" "${more[@]}" \
    --json "$out/filter__array-${elements}__GPU$gpus.json"
