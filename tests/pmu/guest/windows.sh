#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# Windows with hardware counters: counts and samples are of the captures. The emulation lets overflows
# of a CPU pass, the more the busier its host is: some CPU has nearly all.
. "${0%/*}/lib.sh"

# windows NAME WINDOWS [COMMAND...]: a session of NAME.cpspec, in NAME.csv.
windows() {
	local name=$1 list=$2
	shift 2
	cpuperf --spec-file="$PWD/$name.cpspec" --windows="$list" --output-path-prefix="$PWD/$name" \
		--session-result-spec-path="$PWD/$name.cpsession" --output-format=csv \
		--output-file="$name.csv" "$@" >"$name.out" 2>"$name.log" ||
		{ cat "$name.log"; fail "cpuperf: $list"; }
	cat "$name.log"
}

max_rate 10000000
spec fixed:cycle_counter:pc@2000000 arch:instructions_retired >machine.cpspec
windows machine realtime:0.2:0.2:2,realtime:0.1:0.1:1
tell machine 100000000
adds_up machine 0x1004 0x802
rows machine.csv '
	$C["state"] != "ok" || $C["lost"] > 0 || $C["throttled"] > 0 { bad("not as it should be") }
	$C["cause"] == "window" { captures[$C["iteration"]] = 1 }
	$C["label"] !~ /@/ { next }
	{ cpu = $C["cpu"]; raw[cpu] += $C["raw"]; weight[cpu] += $C["weight"]; enabled[cpu] += $C["enabled_ns"]
	  at = $C["iteration"]; first = first ? first : $C["start_ns"]; last = $C["end_ns"]
	  if (!(at in span)) { span[at] = last - $C["start_ns"]; spans += span[at] } }
	END {
		for (at in captures) nr++
		if (nr != 3) { print "FAILED: " nr + 0 " captures"; failed++ }
		print "captures of " spans " ns in " last - first
		if (last - first - spans < 0.2e9) { print "FAILED: there are no gaps"; failed++ }
		for (cpu in raw) {
			print "CPU " cpu ": " raw[cpu] " cycles in " enabled[cpu] " ns, sampled " weight[cpu]
			if (raw[cpu] < 0.9 * enabled[cpu] || raw[cpu] > 1.05 * enabled[cpu] ||
				enabled[cpu] > spans + 0.1e9) {
				print "FAILED: not the cycles of the captures at 1 GHz"; failed++ }
			if (weight[cpu] > raw[cpu] + 30e6) { print "FAILED: too many samples"; failed++ }
			if (weight[cpu] / raw[cpu] > best) best = weight[cpu] / raw[cpu] }
		if (best < 0.8) { print "FAILED: not all is sampled: " best; failed++ } }'

# The CPU time of two processes counts as a whole; one of them does not reach the second capture. In user
# mode nothing else has these cycles, and an instruction takes four of them.
spec software:task_clock fixed:cycle_counter:user arch:instructions_retired:user >tree.cpspec
windows tree process_cputime:0.4:0.2:2 -- sh -c 'taskset 2 loop 80000000 & exec taskset 4 loop 80000000'
cat tree.csv
awk -F, '
	NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
	$C["label"] == "fixed:cycle_counter:user" { enabled[$C["iteration"]] = $C["enabled_ns"] }
	$C["cause"] == "window" && $C["state"] == "ok" { value[$C["iteration"] " " $C["label"]] = $C["raw"] }
	END { for (at = 0; at < 2; at++) {
		clock = value[at " software:task_clock"]; cycles = value[at " fixed:cycle_counter:user"]
		instructions = value[at " arch:instructions_retired:user"]
		print "capture " at ": " clock " ns, " cycles " cycles, " instructions " instructions"
		if (clock < 0.1e9) { print "FAILED: not 200 ms of CPU time"; failed++ }
		all_clock += clock; all_cycles += cycles
		if (cycles > 1.05 * enabled[at]) { print "FAILED: other cycles"; failed++ }
		if (4 * instructions < 0.95 * cycles || 4 * instructions > 1.05 * cycles) {
			print "FAILED: other instructions"; failed++ } }
		# the emulation spends much of the time in the kernel
		if (all_cycles < 0.1 * all_clock) { print "FAILED: too few cycles"; failed++ }
		exit failed > 0 }' tree.csv || fail "the windows of a command"
