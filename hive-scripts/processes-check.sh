#!/usr/bin/env bash
# Several processes against one: every workload has the same answer, to the bit, also where processes are killed.
#
#   hive-scripts/processes-check.sh same | hosts | kills [N] | host-kills [N]
#
# same    each workload on DATASETS, by each of COLLECTIVES, in one process a replica and in two: the output is that of one process,
#         and verified
# hosts   each workload in two processes that take each other for hosts of their own, since each has its own host name. They merge
#         through NCCL with a GPU each; and hierarchically, with two replicas on that GPU, and with a replica on each of both GPUs.
#         The output is that of one process, and verified. Needs the right to change a name (unshare --uts)
# kills   N times (100): in the middle of a run, at a random time, a random process is killed with -9, or two of four; the others
#         go on (--on-failure continue), and the output is that of a run in which nobody died
# host-kills   the same with two processes as of `hosts`, which merge hierarchically. Where the one that is left is not process 0 it may
#         end instead, in a line: of two hosts, each of which may live, only that of process 0 goes on
#
# DEVICES      default: "cuda:0-1 cuda:0,0,1,1" where there are two GPUs, "host:2 host:4" elsewhere; a process a replica
# DATASETS     default: "rmat:14 grid:300x300"; kills take the first
# WORKLOADS    default: all
# COLLECTIVES  default of same: peer, nccl where each replica has a GPU of its own, and host; of hosts: nccl and hierarchical; of
#              kills: auto
# OPTIONS      more options of every run, as "--merge dense"
# SEED         of the random times and processes; default 1
# One line of JSON at the end, or when it is told to end; exits 1 if an answer was wrong, missing or late, or a process was left.
# shellcheck source=hive-scripts/common.sh
source "$(dirname "$0")/common.sh"

form="processes-check.sh same | hosts | kills [N] | host-kills [N]"
what=${arguments[0]:-}
count=${arguments[1]:-100}
number "the number of kills" "$count"
gpus=$("$hive" doctor --json - 2>/dev/null | grep -c '"device": "cuda:' || true)
if [ "$gpus" -ge 2 ]; then lists=(cuda:0-1 "cuda:0,0,1,1"); else lists=(host:2 host:4); fi
if [ -n "${DEVICES:-}" ]; then read -ra lists <<<"$DEVICES"; fi
read -ra graphs <<<"${DATASETS:-rmat:14 grid:300x300}"
read -ra workloads <<<"${WORKLOADS:-$("$hive" list | tr '\n' ' ')}"
RANDOM=${SEED:-1}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

# The replicas of each device list.
declare -A replicas
for devices in "${lists[@]}"; do
    "$hive" run filter --elements 64 --devices "$devices" --json "$scratch/world.json" >/dev/null
    replicas[$devices]=$(sed -nE 's/^ *"world": ([0-9]+).*/\1/p' "$scratch/world.json" | head -1)
done

own_options() {
    case $1 in
    vn) echo "--seeds 1,5" ;;
    bc) echo "--sources connected:8:1 --batch 8" ;; # as many lanes everywhere: the same bits
    closeness) echo "--sources connected:512:1" ;;
    hops | distances) echo "--sources connected:64:1 --targets first:1000" ;;
    geo) echo "--locate 0.5:1" ;;
    filter) echo "--elements 3000000" ;;
    project) echo "--side 0,2,4,6,8" ;;
    sample) echo "--sources first:64" ;;
    ppr | cluster) echo "--sources connected:16:1 --epsilon 1e-4" ;;
    esac
}

# The options of a workload on a graph; nothing where they do not go together.
options_of() {
    case $1:$2 in
    filter:"${graphs[0]}") echo "filter" ;;
    filter:* | bc:grid:*) return ;; # more than 2^1000 shortest paths
    project:"${graphs[0]}") echo "project --graph chain:9" ;; # these are not bipartite
    project:*) return ;;
    *) echo "$1 --graph $2" ;;
    esac
}

collectives_of() {
    case $1 in
    host:*) echo host ;;
    *0,0* | *x*) echo "peer host" ;;
    *) echo "peer nccl host" ;;
    esac
}

wrong() {
    bad=$((bad + 1))
    echo "$me: $*" >&2
    tail -3 "$scratch/said" >&2
}

same() {
    local runs=0 devices world procs collective workload graph options one
    for devices in "${lists[@]}"; do
        world=${replicas[$devices]}
        for collective in ${COLLECTIVES:-$(collectives_of "$devices")}; do
            for workload in "${workloads[@]}"; do
                for graph in "${graphs[@]}"; do
                    options=$(options_of "$workload" "$graph")
                    if [ -z "$options" ]; then continue; fi
                    options="run $options $(own_options "$workload") ${OPTIONS:-} --devices $devices --collective $collective"
                    one=$scratch/one.csv
                    # shellcheck disable=SC2086  # options are words
                    "$hive" $options --output "$one" >/dev/null
                    for procs in $(printf '%s\n' "$world" 2 | sort -u); do
                        runs=$((runs + 1))
                        # shellcheck disable=SC2086
                        timeout 60 "$hive" launch --procs "$procs" -- $options --verify --output "$scratch/several.csv" \
                            >"$scratch/said" 2>&1 || wrong "$options: exit code $?, $procs processes"
                        cmp -s "$one" "$scratch/several.csv" || wrong "$options: another answer, $procs processes"
                        rm -f "$scratch/several.csv"
                    done
                done
            done
        done
    done
    echo "{\"commit\": \"$("$hive" --version | sed 's/.*(\(.*\))/\1/')\", \"devices\": \"${lists[*]}\", \"runs\": $runs, \"bad\": $bad}"
}

# Process $1 of two, as on a host of its own: the GPU of its number is its first. What follows are arguments.
alone_on_a_host() {
    local rank=$1
    shift
    # shellcheck disable=SC2016  # the inner shell's
    HIVE_RANK=$rank HIVE_WORLD_SIZE=2 HIVE_ADDR=127.0.0.1:$port HIVE_TOKEN=check CUDA_VISIBLE_DEVICES=$rank,$((1 - rank)) \
        timeout 90 unshare --uts sh -c 'hostname "$(basename "$0")" && echo $$ >"$0" && exec "$@"' "$scratch/host-$rank" "$hive" "$@"
}

hosts() {
    local runs=0 collective own all workload graph options port=21000 first
    if [ "$gpus" -lt 2 ]; then die "hosts needs two GPUs; this machine has $gpus"; fi
    # The collective, a host's devices, and all of them in one process.
    while read -r collective own all; do
        if [[ " ${COLLECTIVES:-nccl hierarchical} " != *" $collective "* ]]; then continue; fi
        for workload in "${workloads[@]}"; do
            for graph in "${graphs[@]}"; do
                options=$(options_of "$workload" "$graph")
                if [ -z "$options" ]; then continue; fi
                options="run $options $(own_options "$workload") ${OPTIONS:-}"
                # shellcheck disable=SC2086
                "$hive" $options --devices "$all" --output "$scratch/one.csv" >/dev/null
                runs=$((runs + 1)) port=$((port + 1))
                options+=" --devices $own --verify --json $scratch/record.json --output $scratch/several.csv"
                # shellcheck disable=SC2086
                alone_on_a_host 1 $options >/dev/null 2>&1 </dev/null &
                # shellcheck disable=SC2086
                alone_on_a_host 0 $options >"$scratch/said" 2>&1 </dev/null || wrong "$options: exit code $?"
                first=$(grep -c "\"collective\": \"$collective\"" "$scratch/record.json" 2>/dev/null || true)
                wait
                if [ "$first" != 1 ]; then wrong "$options: not by $collective"; fi
                cmp -s "$scratch/one.csv" "$scratch/several.csv" || wrong "$options: another answer"
                rm -f "$scratch/several.csv" "$scratch/record.json"
            done
        done
    done <<<"nccl cuda:0 cuda:0-1
hierarchical cuda:0x2 cuda:0,0,1,1
hierarchical cuda:0-1 cuda:0,1,1,0"
    echo "{\"commit\": \"$("$hive" --version | sed 's/.*(\(.*\))/\1/')\", \"hosts\": 2, \"runs\": $runs, \"bad\": $bad}"
}

# Milliseconds since $1 (nanoseconds).
since() { echo $((($(date +%s%N) - $1) / 1000000)); }

# Runs of a workload that take some half a second on a device of these.
runs_of() {
    case $2:$1 in
    host:*) echo 40 ;;
    *x* | *0,0*) echo 20 ;; # processes take turns on a GPU
    *:kcore | *:katz | *:geo | *:closeness | *:hops | *:distances | *:cdlp | *:louvain | *:leiden | *:similar) echo 150 ;;
    *:bc | *:pagerank | *:triangles) echo 800 ;;
    *) echo 3000 ;;
    esac
}

# Judges kill $at: a run with $options, begun at $began, ended with $rc. It should have written what $1 has.
judge() {
    local late=$(($(since "$began") - 2 * took))
    if [ "$late" -gt "$worst" ]; then worst=$late; fi
    if grep -q lost "$scratch/said"; then lost=$((lost + 1)); fi
    if [ "$rc" -ne 0 ]; then
        wrong "kill $at, $options: exit code $rc"
    elif ! cmp -s "$1" "$scratch/several.csv"; then
        wrong "kill $at, $options: another answer"
    elif [ "$late" -gt 5000 ]; then
        wrong "kill $at, $options: $late ms more than two runs"
    fi
}

kills() {
    local at world workload options began took pid children child victims lost=0 worst=0 rc
    local -A alone
    trap 'kills_so_far; exit 1' TERM
    for ((at = 0; at < count; at++)); do
        workload=${workloads[at % ${#workloads[@]}]}
        devices=${lists[at / ${#workloads[@]} % ${#lists[@]}]}
        world=${replicas[$devices]}
        options="run $(options_of "$workload" "${graphs[0]}") $(own_options "$workload") ${OPTIONS:-} --devices $devices --deadline 1"
        options+=" --runs $(runs_of "$workload" "$devices") --collective ${COLLECTIVES:-auto}"
        if [ -z "${alone[$workload $devices]:-}" ]; then
            # shellcheck disable=SC2086
            "$hive" $options --output "$scratch/$workload.$devices.csv" >/dev/null
            began=$(date +%s%N)
            # shellcheck disable=SC2086
            "$hive" launch --procs "$world" -- $options --output "$scratch/several.csv" >"$scratch/said" 2>&1 ||
                wrong "$options: exit code $?"
            alone[$workload $devices]=$(since "$began")
        fi
        took=${alone[$workload $devices]}
        rm -f "$scratch/several.csv"
        began=$(date +%s%N)
        # shellcheck disable=SC2086
        timeout 60 "$hive" launch --procs "$world" -- $options --on-failure continue --output "$scratch/several.csv" \
            >"$scratch/said" 2>&1 &
        pid=$!
        sleep "$(awk "BEGIN { print 0.2 + ($took / 1000 - 0.2) * $RANDOM / 32768 }")"
        # The launcher is the child of timeout.
        child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null || true)
        children=$(cat "/proc/${child% }/task/${child% }/children" 2>/dev/null || true)
        victims=1
        if [ "$world" -gt 2 ] && [ $((RANDOM % 4)) -eq 0 ]; then victims=2; fi
        # shellcheck disable=SC2086
        for child in $(shuf -n "$victims" --random-source=<(yes "$RANDOM") -e $children); do
            kill -9 "$child" 2>/dev/null || true
        done
        rc=0
        wait "$pid" || rc=$?
        judge "$scratch/$workload.$devices.csv"
        for child in $children; do
            if [ -d "/proc/$child" ] && ! grep -q ') Z' "/proc/$child/stat"; then wrong "kill $at: process $child is left"; fi
        done
    done
    kills_so_far
}

# Both processes of two hosts with the options $1; the one of host $3 is killed after $2 seconds. The exit code is the other's.
two_hosts() {
    local pids=() rank victim=${3:-}
    port=$((port + 1))
    for rank in 0 1; do
        rm -f "$scratch/host-$rank"
        # shellcheck disable=SC2086
        alone_on_a_host "$rank" $1 >"$scratch/said-$rank" 2>&1 </dev/null &
        pids+=($!)
    done
    if [ -n "$victim" ]; then
        sleep "$2"
        kill -9 "$(cat "$scratch/host-$victim")" 2>/dev/null || true
    fi
    rc=0
    {
        for rank in 0 1; do
            if [ "$rank" = "$victim" ]; then wait "${pids[rank]}" || true; else wait "${pids[rank]}" || rc=$?; fi
        done
    } 2>/dev/null # who was killed
    cat "$scratch"/said-? >"$scratch/said"
}

host_kills() {
    local at workload options port=21000 began took lost=0 worst=0 rc victim
    local -A alone
    if [ "$gpus" -lt 2 ]; then die "host-kills needs two GPUs; this machine has $gpus"; fi
    lists=(cuda:0x2)
    trap 'kills_so_far; exit 1' TERM
    for ((at = 0; at < count; at++)); do
        workload=${workloads[at % ${#workloads[@]}]}
        options="run $(options_of "$workload" "${graphs[0]}") $(own_options "$workload") ${OPTIONS:-} --deadline 1"
        options+=" --runs $(runs_of "$workload" "${lists[0]}")"
        if [ -z "${alone[$workload]:-}" ]; then
            # shellcheck disable=SC2086
            "$hive" $options --devices cuda:0-1 --output "$scratch/$workload.csv" >/dev/null
        fi
        options+=" --devices ${lists[0]} --collective hierarchical --on-failure continue --output $scratch/several.csv"
        if [ -z "${alone[$workload]:-}" ]; then
            began=$(date +%s%N)
            two_hosts "$options"
            alone[$workload]=$(since "$began")
            if [ "$rc" -ne 0 ]; then wrong "$options: exit code $rc"; fi
        fi
        took=${alone[$workload]}
        rm -f "$scratch/several.csv"
        began=$(date +%s%N)
        victim=$((RANDOM % 4 > 0)) # the first of the two now and then
        two_hosts "$options" "$(awk "BEGIN { print 0.2 + ($took / 1000 - 0.2) * $RANDOM / 32768 }")" "$victim"
        if [ "$victim" = 0 ] && [ "$rc" -ne 0 ] && [ "$(grep -c '^error: ' "$scratch/said-1")" = 1 ]; then continue; fi
        judge "$scratch/$workload.csv"
    done
    kills_so_far
}

kills_so_far() {
    echo "{\"commit\": \"$("$hive" --version | sed 's/.*(\(.*\))/\1/')\", \"devices\": \"${lists[*]}\", \"kills\": $at," \
        "\"in the middle of a run\": $lost, \"bad\": $bad, \"most ms beyond two runs\": $worst}"
}

case $what in
same) same ;;
hosts) hosts ;;
kills) kills ;;
host-kills) host_kills ;;
*) die_usage "$form" "'$what' is not understood" ;;
esac
[ "$bad" -eq 0 ]
