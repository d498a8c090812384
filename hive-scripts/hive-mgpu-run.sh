#!/usr/bin/env bash
# Applications on 1 to NUM_GPUS GPUs, as the HIVE scripts sweep them:
#
#   hive-scripts/hive-mgpu-run.sh [NUM_GPUS] [PARTITION] [--dry-run]
#
# Where there is srun (Slurm), every run is a job step of its own, all at once, on partition PARTITION. More than GPUS_PER_HOST
# GPUs are those of several hosts, a process and as many GPUs each; numbers that these cannot share equally are left out. Else they run
# here, one after another: on GPUs, or on replicas of the host where there is none. Records go to
# OUTPUT_DIR/APP_eval_mgpu/PARTITION/OPTIONS/APP__DATASET__GPUn.json, which `hive report OUTPUT_DIR` reads.
#
# NUM_GPUS      default: the GPUs of this machine; without any 16 under Slurm, else 4
# GPU_COUNTS    numbers of GPUs in place of 1 to NUM_GPUS, as in "1 2 4 8"
# GPUS_PER_HOST what a host of the partition has; default 8, 16 on a DGX-2
# PARTITION     default: without -p for srun, and `slurm`, `cuda` or `host` in the layout
# APPS          as in "vn geo"; default all that `hive list` names
# NUM_SEEDS     numbers of seeds of vn; default "10 100 1000"
# OUTPUT_DIR    default: the current folder
# SRUN_OPTIONS  further options of srun, as in "-w dgx2-000"
#
# An application with a script of its own (vn, geo) is run by that, every other by hive-test.sh. GEO_ITER, SPATIAL_ITER,
# DATASETS and whatever else common.sh and these scripts read goes on to them.
# shellcheck source=hive-scripts/common.sh
. "$(dirname "$0")/common.sh"

[ ${#arguments[@]} -le 2 ] || die_usage '[NUM_GPUS] [PARTITION] [--dry-run]' "too many arguments"
scripts=$(cd "$(dirname "$0")" && pwd)
slurm=$(command -v srun || true)
count_gpus
# Job steps of Slurm may run elsewhere.
if [ -z "$slurm" ]; then export gpu_count; fi

most=${arguments[0]:-${NUM_GPUS:-}}
if [ -z "$most" ]; then
    most=$(gpus_here)
    if [ "$most" -eq 0 ]; then
        most=4
        if [ -n "$slurm" ]; then most=16; fi
    fi
fi
number NUM_GPUS "$most"
partition=${arguments[1]:-${PARTITION:-}}
[[ $partition =~ ^[A-Za-z0-9._-]*$ ]] || die "PARTITION '$partition': use letters, digits, '.', '_' and '-'"
if [ -n "$partition" ]; then
    name=$partition
elif [ -n "$slurm" ]; then
    name=slurm
elif [ "$(gpus_here)" -gt 0 ]; then
    name=cuda
else
    name=host
fi
if [ -n "${GPU_COUNTS:-}" ]; then read -ra counts <<<"$GPU_COUNTS"; else mapfile -t counts < <(seq 1 "$most"); fi
for count in "${counts[@]}"; do number GPU_COUNTS "$count"; done
# Hosts have an equal share.
if [ -n "$slurm" ]; then
    per_host=${GPUS_PER_HOST:-8}
    number GPUS_PER_HOST "$per_host"
    shared=()
    for count in "${counts[@]}"; do
        if [ $((count % ((count + per_host - 1) / per_host))) -eq 0 ]; then
            shared+=("$count")
        else
            echo "$me: $count GPUs are left out: hosts of $per_host cannot share them equally" >&2
        fi
    done
    counts=("${shared[@]}")
fi
names=${APPS:-$(workloads)} || exit 2
read -ra apps <<<"${names//$'\n'/ }"
for app in "${apps[@]}"; do
    is_workload "$app" || die "APPS: there is no workload '$app'; \`hive list\` names them"
done
read -ra all_seeds <<<"${NUM_SEEDS:-10 100 1000}"
for seeds in "${all_seeds[@]}"; do number NUM_SEEDS "$seeds"; done
read -ra srun_options <<<"${SRUN_OPTIONS:-}"
if [ -n "$partition" ]; then srun_options=(-p "$partition" "${srun_options[@]}"); fi

failed=()
jobs=()
names=()

# launch GPUS SCRIPT ARGUMENT...: as a job step, or here. The scripts inherit DRY_RUN, and print what they would run.
launch() {
    local count=$1 script=$2 what
    shift 2
    what="$script $*"
    # Its own arguments say these.
    unset OUTPUT_DIR
    if [ -n "$slurm" ]; then
        local hosts=$(((count + per_host - 1) / per_host)) shares
        shares=(-G "$count" -N 1)
        if [ "$hosts" -gt 1 ]; then
            shares=(--gpus-per-node $((count / hosts)) -N "$hosts" --ntasks-per-node 1 --kill-on-bad-exit 0)
        fi
        local command=(srun --cpus-per-gpu 1 "${shares[@]}" "${srun_options[@]}" "$scripts/$script" "$@")
        if [ "${DRY_RUN:-0}" != 0 ]; then
            run "${command[@]}"
        else
            "${command[@]}" </dev/null &
            jobs+=($!)
            names+=("$what")
        fi
    elif ! "$scripts/$script" "$@"; then
        failed+=("$what")
    fi
}

root=${OUTPUT_DIR:-.}
for app in "${apps[@]}"; do
    out=$root/${app}_eval_mgpu/$name
    for count in "${counts[@]}"; do
        if [ "$app" = vn ]; then
            for seeds in "${all_seeds[@]}"; do launch "$count" hive-vn-test.sh "$out" "$count" "$seeds"; done
        elif [ -x "$scripts/hive-$app-test.sh" ]; then
            launch "$count" "hive-$app-test.sh" "$out" "$count"
        else
            launch "$count" hive-test.sh "$app" "$out" "$count"
        fi
    done
done
for at in "${!jobs[@]}"; do
    wait "${jobs[$at]}" || failed+=("${names[$at]}")
done
if [ ${#failed[@]} -gt 0 ]; then
    printf "$me: failed: %s\n" "${failed[@]}" >&2
    exit 1
fi
