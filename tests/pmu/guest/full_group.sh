#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# The PMU has 7 counters: 7 events are one group that always runs; with one more there are two, and
# each runs half of the time.
. "${0%/*}/lib.sh"
spec $seven >seven.cpspec
spec $seven arch:unhalted_core_cycles >eight.cpspec
measure seven 2 500ms
rows seven.csv '$C["state"] != "ok" || share() != 1 { bad("does not always run") }
	END { if (NR != 1 + 2 * (4 + 1) * 7) { print "FAILED: " NR " lines"; failed = 1 } }'
measure eight 2 500ms
rows eight.csv '$C["state"] != "ok" || share() < 0.3 || share() > 0.7 {
	bad("does not run half of the time") }
	END { if (NR != 1 + 2 * (4 + 1) * 8) { print "FAILED: " NR " lines"; failed = 1 } }'
