#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# Each CPU has counters of its own: what one does is in its row only. The shipped spec.
. "${0%/*}/lib.sh"
cp "$tree/specs/cycle-counter.cpspec" all.cpspec
busy 2
measure all 2 500ms
idle
rows all.csv '
	{ seen[$C["cpu"]]++ }
	$C["state"] != "ok" { bad("not counted") }
	share() != 1 { bad("multiplexed, though all fits") }
	$C["label"] == "cycle_counter" && ($C["value"] < 0.95 * $C["enabled_ns"] ||
		$C["value"] > 1.05 * $C["enabled_ns"]) { bad("not the cycles of this time at 1 GHz") }
	# an emulated CPU can be late to read its counters
	{ enabled += $C["enabled_ns"]; span += $C["span_ns"] }
	$C["label"] == "user_cycles" { user[$C["cpu"]] += $C["value"]; time[$C["cpu"]] += $C["span_ns"] }
	END {
		if (enabled < 0.7 * span) { print "FAILED: not enabled all the time"; failed = 1 }
		for (cpu = 0; cpu < 4; cpu++) {
			print "CPU " cpu ": user mode in " user[cpu] " of " time[cpu] " cycles"
			if (seen[cpu] != 8) { print "FAILED: " seen[cpu] + 0 " cells"; failed = 1 }
			if (cpu == 2 ? user[2] < 0.6 * time[2] : user[cpu] > 0.5 * user[2]) {
				print "FAILED: the loop is on CPU 2, and only there"; failed = 1 }
		} }'
print all csv
cmp all.csv all.read || fail "the traces say something else than the table"
