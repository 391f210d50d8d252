#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# One CPU: a sample every million instructions, none too few and none too many, over a loop of 100
# million; in each of them the counts of the timebase's siblings. And boundaries at which samples
# come so fast that some fall between the reading and the emptying of the ring: they belong to the
# next iteration.
. "${0%/*}/lib.sh"
spec fixed:instructions_retired:timebase+pc@1000000 fixed:cycle_counter \
	arch:instructions_retired:user >exact.cpspec
measure exact 5 300ms &
session=$!
await exact 2
loop 25000000 &
loop=$(printf 0x%x $!)
wait $session || exit 1
cat exact.log
tell exact
adds_up exact 0x1001 0x1004 0x802

# The counter's way to the next sample goes on from one iteration to the next. A sample can come late
# here, by up to a tick of the kernel, which is a million instructions: after a reading that should
# have seen it, but not after two.
rows exact.csv '
	$C["lost"] > 0 || $C["throttled"] > 0 { bad("lost or throttled") }
	$C["label"] !~ /@/ { next }
	{ before = left; left += $C["raw"] - $C["samples"] * 1e6; nr += $C["samples"] }
	left < -slack || left > 2e6 { bad("off by more than a sample") }
	$C["coverage"] != "" && $C["coverage"] < 0.95 { bad("not all is covered") }
	END {
		print nr " samples, " (left < before ? left : before) " instructions left"
		if (nr < 100 || (left > 1e6 + slack && before > 1e6 + slack)) {
			print "FAILED: the number of samples"; failed++ } }' slack=20000

# Most samples of the loop hold as many instructions of user mode as there are in a period, less those
# of the kernel in it, and four cycles for each.
awk -F '[:, ]+' -v pid="$loop" '
	$2 == "PC" { here = $6 == pid; nr += here; next }
	$2 != "Count" || !here { next }
	$4 == "0x1004" && $5 > 3.9e6 && $5 < 4.1e6 { cycles++ }
	$4 == "0x802" && $5 > 0.95e6 && $5 <= 1e6 { user++ }
	END {
		print "the loop: " nr " samples, in " cycles " the cycles, in " user " the user count"
		exit nr < 99 || nr > 103 || cycles < 80 || user < 80
	}' exact.read || fail "the samples of the loop"

spec fixed:cycle_counter:pc@100000 >cut.cpspec
measure cut 10 50ms
tell cut
adds_up cut 0x1004
