#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# A group of seven fits the PMU, and runs until the session's own pinned event is enabled, which
# takes one of the seven counters for good: the group stands still, though it has run. Its events are
# counted one by one instead. And a counter that another user takes in the middle of the session.
. "${0%/*}/lib.sh"
pinned='arch:unhalted_core_cycles:pinned'
spec $seven $pinned >pinned.cpspec
measure pinned 3 500ms
cat pinned.log
grep -q '28 events are counted one by one' pinned.log || fail "the split was not reported"
! grep -q 'never ran' pinned.log || fail "an event never ran"
rows pinned.csv '
	$C["state"] != "ok" { bad("not counted") }
	$C["label"] ~ /pinned/ && share() != 1 { bad("a pinned event is multiplexed") }
	$C["label"] !~ /pinned/ && (share() == 1 || share() < 0.4) { bad("not one by one") }
	END { if (NR != 1 + 3 * (4 + 1) * 8) { print "FAILED: " NR " lines"; failed = 1 } }'

# The group always runs, and stands still from the second iteration on.
spec $seven >late.cpspec
measure late 6 300ms &
session=$!
until [ -e late.0.0.cpuperf ]; do sleep 0.02; done
hog 2 >hog.out &
hog=$!
trap 'kill $hog' EXIT
wait $session || exit 1
cat late.log
grep -q '28 events are counted one by one' late.log || fail "the later split was not reported"
rows late.csv '
	$C["iteration"] == 0 && share() != 1 { bad("multiplexed before there was another user") }
	$C["iteration"] == 5 && ($C["state"] != "ok" || share() == 1 || share() < 0.4) {
		bad("not one by one") }'

# Two counters are taken: of six pinned events one finds none. The others count, and no CPU is gone.
six='arch:unhalted_core_cycles:pinned arch:instructions_retired:pinned
	arch:instructions_retired:pinned+os arch:instructions_retired:pinned+user
	fixed:instructions_retired:pinned fixed:instructions_retired:pinned+os'
spec $six software:context_switches >six.cpspec
measure six 2 200ms
cat six.log
! grep -q offline six.log || fail "a pinned event without a counter passes for a CPU that went away"
grep -q '4 pinned event(s) found no free counter' six.log || fail "not reported"
rows six.csv '
	$C["state"] == "failed" && $C["label"] ~ /pinned/ { nr_failed++; next }
	$C["state"] != "ok" { bad("not counted") }
	$C["label"] ~ /pinned/ && share() != 1 { bad("a pinned event is multiplexed") }
	END { if (nr_failed != 2 * 4) { print "FAILED: " nr_failed " pinned events without a counter"; failed = 1 } }'
