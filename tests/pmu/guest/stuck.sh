#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# Somebody else has two counters of each CPU: a group of seven opens and never runs. After 100 ms
# its events are counted one by one, which is said; nothing is lost in silence.
. "${0%/*}/lib.sh"
hog 2 >hog.out &
hog=$!
trap 'kill $hog' EXIT
until grep -q ready hog.out; do sleep 0.1; done
spec $seven >seven.cpspec
measure seven 3 500ms
cat seven.log
grep -q '28 events are counted one by one' seven.log || fail "the split was not told"
rows seven.csv '
	$C["state"] != "ok" || share() == 1 || share() < 0.4 { bad("not multiplexed one by one") }
	$C["label"] == "fixed:cycle_counter" && $C["iteration"] > 0 &&
		($C["value"] < 0.45e9 || $C["value"] > 0.55e9) { bad("wrong after the split") }
	END { if (NR != 1 + 3 * (4 + 1) * 7) { print "FAILED: " NR " lines"; failed = 1 } }'
measure seven 1 80ms
cat seven.log
rows seven.csv '$C["state"] != "not counted" || $C["value"] != "" {
	bad("a group that never ran has a count") }'
grep -q 'never ran' seven.log || fail "nobody told that the group never ran"
