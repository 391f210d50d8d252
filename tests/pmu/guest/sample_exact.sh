#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# One CPU: a sample every million instructions, none too few and none too many, over a loop of 100
# million; in each of them the counts of the timebase's siblings. And boundaries at which samples
# come so fast that some fall between the reading and the emptying of the ring: they belong to the
# next iteration.
. "${0%/*}/lib.sh"
spec fixed:instructions_retired:timebase+pc@1000000 fixed:cycle_counter \
	arch:instructions_retired:user arch:inst_retired:os >exact.cpspec
measure exact 5 300ms &
session=$!
await exact 2
loop 25000000 &
loop=$(printf 0x%x $!)
wait $session || exit 1
cat exact.log
tell exact
adds_up exact 0x1001 0x1004 0x802 0x828

# The counter's way to the next sample goes on from one iteration to the next. A sample can come late
# here, by up to a tick of the kernel, which is a million instructions: after a reading that should
# have seen it, but not after two.
rows exact.csv '
	$C["lost"] > 0 || $C["throttled"] > 0 { bad("lost or throttled") }
	$C["label"] !~ /@/ { next }
	{ before = left; left += $C["raw"] - $C["samples"] * 1e6; nr += $C["samples"] }
	left < -slack || left > 2e6 { bad("off by more than a sample") }
	{ due = int($C["raw"] / 1e6); part = $C["samples"] < due ? $C["samples"] / due : 1 }
	due && ($C["coverage"] < part - 0.001 || $C["coverage"] > part + 0.001) { bad("coverage is not " part) }
	END {
		print nr " samples, " (left < before ? left : before) " instructions left"
		if (nr < 100 || (left > 1e6 + slack && before > 1e6 + slack)) {
			print "FAILED: the number of samples"; failed++ } }' slack=20000

# From the loop's first sample to its last the CPU is never idle: a sample holds the cycles of the time
# since the one before it, less those of the interrupt, and an instruction for each four of them. How
# many of these the kernel and other programs execute depends on the machine. What the loop executes is
# in its own samples and in those behind them.
awk -F '[:, ]+' -v pid="$loop" '
	function bad(text) { if (failed++ < 3) print "FAILED: the sample at " time[i] ": " text }
	$2 == "Time" { now = $3; is_sample = 0 }
	$2 == "PC" { is_sample = 1; n++; time[n] = now; is_loop[n] = $6 == pid }
	$2 == "PC" && $6 == pid { last = n; if (!first) first = n }
	# what a reading holds, at a boundary, belongs to the sample behind it
	$2 == "Count" { count[n + !is_sample, $4] += $5 }
	END {
		for (i = first; i <= last; i++) {
			cycles = count[i, "0x1004"]; user = count[i, "0x802"]; os = count[i, "0x828"]
			if (is_loop[i]) { nr++; in_user += user } else { others += is_loop[i - 1] }
			if (i == first) continue
			all += user + os
			off = cycles - 4 * (user + os)
			if (off < -1000 || off > 1000) bad("off by " off " cycles")
			span = time[i] - time[i - 1]
			# a sample that came late is followed by the next within a few interrupts
			if (cycles > span + 1000 || cycles < 0.95 * span - 20000) bad(cycles " cycles in " span " ns")
		}
		off = all - (last - first) * 1e6
		print "the loop: " nr + 0 " samples, " in_user + 0 " instructions in user mode, " \
			others + 0 " samples of others behind them; from the first to the last " \
			last - first " samples, off by " off " instructions"
		# a sample can be late by its period
		if (off < -2e6 || off > 2e6 || in_user < 100e6 - 2e6 * (2 + others)) failed++
		exit failed > 0
	}' exact.read || fail "the samples of the loop"

spec fixed:cycle_counter:pc@100000 >cut.cpspec
measure cut 10 50ms
tell cut
adds_up cut 0x1004
