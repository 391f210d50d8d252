#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# held.sh machine|cgroup: a flight recorder whose samples are those of a hardware counter. Its rings are
# larger than what is sampled here, so that samples and what is left make each count, over all
# snapshots; no sample is in two of them.
. "${0%/*}/lib.sh"
is_held=1

# Until the iteration has begun: those before it are written then.
reach() {
	until [ -e "held.$1.0.cpuperf" ]; do
		kill -0 "$session" || { cat held.log; fail "cpuperf: held"; }
		sleep 0.02
	done
}

# record OPTION...
record() {
	max_rate 10000000
	spec fixed:cycle_counter:pc@5000000 arch:instructions_retired >held.cpspec
	cpuperf --spec-file="$PWD/held.cpspec" --flight-recorder=1000s --output-path-prefix="$PWD/held" \
		--session-result-spec-path="$PWD/held.cpsession" --output-format=csv "$@" \
		>held.csv 2>held.log &
	session=$!
	nr=0
	reach 0
}

snapshot() {
	kill -USR2 "$session"
	reach $((nr += 1))
}

finish() {
	kill -TERM "$session"
	wait "$session" || { cat held.log; fail "cpuperf: held"; }
	cat held.log
	print held csv
	cmp held.csv held.read || fail "the traces say something else than the table"
	tell held 100000000
	# a recorder that gets no CPU for a second stores what others recorded meanwhile later
	grep -v -e '^cpuperf_print: [^we]' -e 'too late in the file' held.read.log && fail "cpuperf_print complains"
	adds_up held 0x1004 0x802
	awk -F '[:, ]+' '
		$1 == "Iteration" { iteration = $2 }
		$1 == "Trace" { trace = $2 }
		$1 == "Common" { exit }
		$2 == "PC" { nr[$6 " " trace " " iteration]++ }
		END { for (k in nr) print k, nr[k] }' held.read >held.tasks
}

# samples PID CPU ITERATION: how many there are.
samples() { awk -v key="$(printf 0x%x "$1") $2 $3" 'index($0, key " ") == 1 { n = $4 } END { print n + 0 }' held.tasks; }

# CPU 3 goes offline and comes back. What it recorded before is in the next snapshot, and in no later
# one; then it records into a new ring. The other CPUs do not notice. The emulation lets overflows of
# a CPU pass, the more the busier its host is: some CPU has nearly all.
machine() {
	busy 3
	loop=$busy
	record
	sleep 0.3
	echo 0 >/sys/devices/system/cpu/cpu3/online
	snapshot
	snapshot
	echo 1 >/sys/devices/system/cpu/cpu3/online
	snapshot
	taskset -p 8 "$loop" # it was moved to another CPU
	sleep 0.3
	idle
	finish
	rows held.csv '
		{ at = $C["iteration"]; cpu = $C["cpu"] }
		$C["state"] != (cpu == 3 && at < 3 ? "offline" : "ok") { bad("another state is due") }
		$C["throttled"] > 0 || $C["lost"] > 0 { bad("throttled or lost") }
		cpu == 3 && (at == 1 || at == 2) && $C["raw"] != "" { bad("a CPU that is offline") }
		$C["label"] !~ /@/ { next }
		$C["coverage"] != "" { bad("a flight recorder has no coverage") }
		{ raw[cpu] += $C["raw"]; enabled[cpu] += $C["enabled_ns"]; weight[cpu] += $C["weight"]
		  first = first ? first : $C["start_ns"]; last = $C["end_ns"] }
		# CPU 3 leaves before the iteration ends; its first reading may take 20 ms beside the loop.
		cpu == 3 && at == 0 { most = ($C["raw"] > $C["enabled_ns"] ? $C["raw"] : $C["enabled_ns"]) + 30e6
				      if ($C["weight"] > most) bad("too many samples"); next }
		{ span[cpu] += $C["span_ns"]; of_span[cpu] += $C["weight"] }
		END { for (cpu in raw) {
			print "CPU " cpu ": " raw[cpu] " cycles in " enabled[cpu] " ns, sampled " weight[cpu]
			if (raw[cpu] < 0.9 * enabled[cpu] || raw[cpu] > 1.05 * enabled[cpu]) {
				print "FAILED: not the cycles of this time at 1 GHz"; failed++ }
			if (cpu != 3 && enabled[cpu] < 0.7 * (last - first)) {
				print "FAILED: not enabled all the time"; failed++ }
			# A sample is due each 5 ms at 1 GHz, and lies between its readings: the first one may be due
			# at once, and may itself be late by less than a period.
			if (of_span[cpu] > span[cpu] + 10e6) {
				print "FAILED: " of_span[cpu] " sampled in " span[cpu] " ns"; failed++ }
			if (weight[cpu] / raw[cpu] > best) best = weight[cpu] / raw[cpu] }
			if (best < 0.8) { print "FAILED: not all is sampled: " best; failed++ } }'
	cat held.tasks
	[ "$(samples "$loop" 3 0)" -gt 10 ] || fail "no samples from before CPU 3 went offline"
	[ "$(samples "$loop" 3 3)" -gt 10 ] || fail "no samples since CPU 3 is back"
	grep -q 'CPU 3 went offline in iteration 0' held.log || fail "no message that it went offline"
	grep -q 'CPU 3 is online' held.log || fail "no message that it came back"
}

# What runs in the group, and nothing else.
cgroup() {
	mkdir group
	mount -t cgroup2 none group
	echo +cpu >group/cgroup.subtree_control # without a controller the group has no events either
	mkdir group/held
	trap 'kill $loop $other' EXIT
	sh -c 'echo $$ >group/held/cgroup.procs; exec taskset 2 loop' &
	loop=$!
	taskset 4 loop &
	other=$!
	record --cgroup=/held
	sleep 0.3
	snapshot
	sleep 0.3
	kill $loop $other
	trap - EXIT
	finish
	rows held.csv '
		$C["throttled"] > 0 || $C["lost"] > 0 { bad("throttled or lost") }
		$C["label"] !~ /@/ { next }
		$C["cpu"] != 1 && $C["raw"] > 0 { bad("it runs on CPU 1 only") }
		{ weight += $C["weight"]; raw += $C["raw"] }
		END { print raw " cycles, sampled " weight; if (weight > raw + 30e6) failed++ }'
	cat held.tasks
	for at in 0 1; do
		[ "$(samples "$loop" 1 $at)" -gt 10 ] || fail "no samples of the group in snapshot $at"
		[ "$(samples "$other" 2 $at)" = 0 ] || fail "samples of a process outside the group"
	done
}

"$1"
