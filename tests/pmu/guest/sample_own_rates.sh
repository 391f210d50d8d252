#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# Four CPUs; in one ring a timebase with a sibling, two events with rates of their own, and one by
# frequency, whose period the kernel adapts. What is sampled and what is left is, of each, on each
# CPU, all that was counted.
. "${0%/*}/lib.sh"
max_rate 10000000
spec fixed:cycle_counter:timebase+pc@1000000 arch:inst_retired fixed:unhalted_core_cycles:pc@2000003 \
	arch:instructions_retired@700001 arch:unhalted_core_cycles:pc@1000Hz >rates.cpspec
measure rates 2 400ms
cat rates.log
tell rates 20000000
adds_up rates 0x1004 0x828 0x1002 0x802 0x801

# The emulation lets overflows of a CPU pass, the more the busier its host is: what comes then is said,
# and some CPU has nearly all.
rows rates.csv '
	$C["state"] != "ok" || $C["throttled"] > 0 || $C["lost"] > 0 { bad("not as it should be") }
	{ split($C["label"], w, "@") }
	w[2] == "" { next }
	{ due = $C["raw"] - (w[2] ~ /Hz/ ? 0 : $C["raw"] % w[2])
	  part = $C["weight"] < due ? $C["weight"] / due : 1
	  if (!($C["label"] in best) || part > best[$C["label"]]) best[$C["label"]] = part }
	$C["coverage"] < part - 0.001 || $C["coverage"] > part + 0.001 { bad("coverage is not " part) }
	$C["weight"] > $C["raw"] + 30e6 { bad("more samples than the count says") }
	END { for (label in best) {
		print label ": covered " best[label] " on the best CPU"
		if (best[label] < 0.95) { print "FAILED: not all is covered"; failed++ } } }'
print rates csv
cmp rates.csv rates.read || fail "the traces say something else than the table"
