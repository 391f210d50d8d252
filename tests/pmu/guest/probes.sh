#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh
# Probes (USDT) of a program of this kind of machine: its notes are read, and hits of 4 threads, of a
# child and of the program executed anew are counted exactly; the part that is guarded runs.
. "${0%/*}/lib.sh"
cpuperf -e usdt:demo:tick,usdt:demo:guarded -o probes -- "$(command -v guest_probes)" 1000 fork exec >program.out 2>&1 ||
	{ cat program.out; fail "cpuperf"; }
grep -q 'guarded 400' program.out || { cat program.out; fail "the guarded part"; }
cpuperf_print --quiet probes --report=summary --output-format=csv >probes.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
	$C["cpu"] == "all" { sum[$C["event"]] += $C["value"] }
	END {
		print "found: " sum["demo:tick"] " ticks, " sum["demo:guarded"] " guarded"
		exit sum["demo:tick"] != 9000 || sum["demo:guarded"] != 900
	}' probes.csv || { cat program.out probes.csv; fail "other counts"; }
