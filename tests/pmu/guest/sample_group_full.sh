#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# The PMU has 7 counters: a timebase with 6 siblings works, and each of its samples has them all, in
# their order; with one more it is refused, with the number that fits, and nothing is written.
. "${0%/*}/lib.sh"
seven='fixed:cycle_counter:timebase@10000000 fixed:unhalted_core_cycles arch:unhalted_core_cycles
	arch:cpu_cycles fixed:instructions_retired arch:instructions_retired arch:inst_retired'
spec $seven >seven.cpspec
measure seven 2 300ms
cat seven.log
tell seven
adds_up seven 0x1004 0x1002 0x801 0x831 0x1001 0x802 0x828
rows seven.csv 'share() != 1 { bad("does not always run") }'
awk '$3 == "0x1004" { nr[$1, $2] = $4 }
	{ counts[$1, $2] += $7 }
	END {
		for (i in nr) if (nr[i] < 10 || counts[i] != 6 * nr[i] + 7) {
			print "FAILED: " nr[i] " samples, " counts[i] " counts"; failed++ }
		exit failed > 0
	}' seven.sums || fail "not each sample has all counts"

# An instruction takes four cycles.
awk -F '[:, ]+' '$2 == "Tick" { least = 1e18; most = 0; left = 6 }
	$2 != "Count" || !left { next }
	{ left--; is_cycles = $4 ~ /^0x(1002|801|831)$/ }
	is_cycles && $5 < least { least = $5 }
	!is_cycles && $5 > most { most = $5 }
	!left && most > 1e6 && least < 3 * most { mixed_up++ }
	END { if (mixed_up) { print mixed_up " samples"; exit 1 } }' seven.read ||
	fail "the counts of a sample are mixed up"

spec $seven arch:inst_retired:user >eight.cpspec
status=0
cpuperf --spec-file="$PWD/eight.cpspec" --num-iterations=1 --duration=300ms \
	--output-path-prefix="$PWD/eight" --session-result-spec-path="$PWD/eight.cpsession" \
	>eight.out 2>eight.log || status=$?
cat eight.log
[ $status = 1 ] || fail "cpuperf exits with $status"
grep -q 'arch:inst_retired does not fit .* hold 6 of' eight.log || fail "no number that fits"
[ "$(echo eight.*)" = "eight.cpspec eight.log eight.out" ] || fail "something is written"
[ ! -s eight.out ] || fail "something is printed"
