#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# Waits are counted by programs in the kernel of another machine and version; sampling needs a tracepoint
# that this kernel does not have.
. "${0%/*}/lib.sh"
cpuperf --describe-event=sched:off_cpu_time >describe.out
grep -q '^  here  *works$' describe.out || fail "the description says: $(cat describe.out)"
cpuperf --event=sched:off_cpu_time,sched:run_queue_time,sched:wakeups,software:task_clock \
	--output="$PWD/counted" -- sleep 0.3 2>counted.log || { cat counted.log; fail "cpuperf"; }
cat counted.log
cpuperf_print --quiet --report=summary --output-format=csv counted >counted.csv
rows counted.csv '
	$C["state"] != "ok" { bad("not counted") }
	{ value[$C["event"]] += $C["value"]; span = $C["span_ns"] > span ? $C["span_ns"] : span }
	END {
		sum = value["off_cpu_time"] + value["run_queue_time"] + value["task_clock"]
		print "blocked " value["off_cpu_time"] ", all " sum " of " span
		if (value["off_cpu_time"] < 290000000 || sum > 1.02 * span || value["wakeups"] < 1) {
			print "FAILED: blocked for 0.3 s"
			failed = 1
		}
	}'
if cpuperf --event=sched:off_cpu_time@1000000 --duration=100ms --output="$PWD/sampled" 2>sampled.log; then
	grep -q sched_exit_tp /proc/kallsyms || fail "sampled without sched_exit_tp"
else
	grep -q 'waits can be counted but not sampled: the kernel has no tracepoint sched_exit_tp' sampled.log ||
		{ cat sampled.log; fail "no reason"; }
fi
# of a command: by records of its switches
cpuperf --event=sched:off_cpu_time@1000000 --output="$PWD/switches" -- sleep 0.3 2>switches.log ||
	{ cat switches.log; fail "waits by switches"; }
grep -q 'waits are found by records of switches' switches.log || { cat switches.log; fail "no records of switches"; }
