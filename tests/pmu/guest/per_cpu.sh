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
	$C["enabled_ns"] < 0.8 * $C["span_ns"] { bad("not enabled all the time") }
	$C["label"] == "user_cycles" && $C["cpu"] == 2 && $C["value"] < 0.8 * $C["span_ns"] {
		bad("the loop on this CPU is missing") }
	$C["label"] == "user_cycles" && $C["cpu"] != 2 && $C["value"] > 0.1 * $C["span_ns"] {
		bad("this CPU was idle") }
	END { for (cpu = 0; cpu < 4; cpu++) if (seen[cpu] != 8) {
		print "FAILED: CPU " cpu ": " seen[cpu] + 0 " cells"; failed = 1 } }'
print all csv
cmp all.csv all.read || fail "the traces say something else than the table"
