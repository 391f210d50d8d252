#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# Waits are counted by programs in the kernel of another machine and version, and sampled where it has a
# tracepoint for that.
. "${0%/*}/lib.sh"
need_programs sched:off_cpu_time '^  here  *works$'
cpuperf --event=sched:off_cpu_time,sched:run_queue_time,sched:wakeups,software:task_clock \
	--output="$PWD/counted" -- guest_waits naps >said 2>counted.log || { cat counted.log; fail "cpuperf"; }
cat said counted.log
said=$(grep '^threads ' said)
cpuperf_print --quiet --report=summary --output-format=csv counted >counted.csv
# On the machine below this one others run, too: a thread may be away between the start of its sleep
# and the switch, so what is blocked may be shorter than the sleep, but the sum may not.
rows counted.csv '
	$C["state"] != "ok" { bad("not counted") }
	{ value[$C["event"]] += $C["value"]; span = $C["span_ns"] > span ? $C["span_ns"] : span }
	END {
		split(said, w, ":")
		for (i = 1; i < 9; i += 2) own[w[i]] = w[i + 1]
		blocked = value["off_cpu_time"]
		sum = blocked + value["run_queue_time"] + value["task_clock"]
		printf "found: counted: %.0f ms blocked of %.0f asked for; with the run queue and the CPU %.0f of %.0f\n",
			blocked / 1e6, own["asked_ns"] / 1e6, sum / 1e6, own["life_ns"] / 1e6
		if (blocked < 0.8 * own["asked_ns"] || sum < 0.9 * own["life_ns"] || sum > 1.02 * span * own["threads"] ||
			value["wakeups"] < 60) {
			print "FAILED: " sum " of " span ", " value["wakeups"] " wakeups"
			failed = 1
		}
	}' said="$(echo "$said" | tr ' ' :)" || exit
sampled=sched:off_cpu_time@1000000
if grep -q '__traceiter_sched_exit_tp$' /proc/kallsyms; then
	cpuperf --event=$sampled -g --output="$PWD/sampled" -- guest_waits naps >said 2>sampled.log ||
		{ cat sampled.log; fail "sampling"; }
	cpuperf_print --quiet --report=stacks --output-format=csv --top=0 sampled >sampled.csv
	awk -F, -v said="$(grep '^threads ' said)" '
		NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
		{ all += $C["count"] }
		/ nap\(\);/ { napped += $C["count"] }
		END {
			split(said, w, " ")
			printf "found: sampled: %.0f ms blocked in nap() of %.0f asked for\n", napped / 1e6, w[8] / 1e6
			exit !(napped >= 0.7 * w[8] && napped <= 1.02 * w[6])
		}' sampled.csv || { cat sampled.csv; fail "sampled waits"; }
	# added up in the kernel: the same waits
	cpuperf --event=$sampled -g=aggregate --output="$PWD/added" -- guest_waits naps >said 2>added.log ||
		{ cat added.log; fail "waits added up"; }
	cpuperf_print --quiet --report=summary --output-format=csv added >added.csv
	rows added.csv '
		{ weight += $C["weight"]; lost += $C["lost"] }
		END {
			split(said, w, ":")
			printf "found: added up: %.0f ms blocked of %.0f asked for\n", weight / 1e6, w[8] / 1e6
			if (weight < 0.8 * w[8] || weight > 1.2 * w[4] || lost) bad(weight)
		}' said="$(grep '^threads ' said | tr ' ' :)"
else
	! cpuperf --event=$sampled --duration=100ms --output="$PWD/sampled" 2>sampled.log || fail "sampled without sched_exit_tp"
	grep -q 'waits can be counted but not sampled: the kernel has no tracepoint sched_exit_tp' sampled.log ||
		{ cat sampled.log; fail "no reason"; }
	found "sampled: not supported: the kernel has no tracepoint sched_exit_tp"
	# of a command: by records of its switches
	cpuperf --event=$sampled --output="$PWD/switches" -- sleep 0.3 2>switches.log ||
		{ cat switches.log; fail "waits by switches"; }
	grep -q 'by records of switches' switches.log || { cat switches.log; fail "no records of switches"; }
fi
