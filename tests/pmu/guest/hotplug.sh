#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# A CPU goes away in mid-session and comes back. Its counts end where it left and start again with
# new groups; the gap is in the table, in the notes and in the traces; the other CPUs do not notice.
. "${0%/*}/lib.sh"

# session NAME AWAY BACK: 8 iterations of 500 ms; CPU 3 leaves in the middle of iteration 2, is away
# for AWAY seconds, and is counted again from iteration BACK on.
session() {
	measure "$1" 8 500ms &
	session=$!
	# the manifest comes when measuring begins
	until [ -e "$1.cpsession" ]; do kill -0 $session || exit 1; sleep 0.02; done
	sleep 1.25
	echo 0 >/sys/devices/system/cpu/cpu3/online
	sleep "$2"
	echo 1 >/sys/devices/system/cpu/cpu3/online
	wait $session || exit 1
	cat "$1.log"
	rows "$1.csv" '
		{ at = $C["iteration"] }
		$C["label"] == "arch:llc_misses" { next }
		$C["cpu"] != 3 && ($C["state"] != "ok" || $C["span_ns"] > 0.6e9) {
			bad("another CPU suffers") }
		$C["label"] == "fixed:cycle_counter" && $C["cpu"] != 3 && $C["value"] < 0.4e9 {
			bad("another CPU lost cycles") }
		$C["cpu"] != 3 { next }
		at == 2 { if ($C["state"] != "offline") bad("not marked as cut off"); left = 1 }
		at == 2 && $C["enabled_ns"] > 0.4e9 { bad("counted beyond its end") }
		at == 2 && $C["label"] == "fixed:cycle_counter" && $C["value"] < 0.05e9 {
			bad("what it counted before it went is lost") }
		at > 2 && at < back { bad("counts of a CPU that is away") }
		(at < 2 || at >= back) && ($C["state"] != "ok" || $C["running_ns"] == 0) {
			bad("not counted") }
		at >= back && $C["label"] == "fixed:cycle_counter" && $C["value"] < 0.4e9 {
			bad("the new groups do not count") }
		at == 7 { came = 1 }
		END { if (!left || !came) { print "FAILED: CPU 3 left " left + 0 " came " came + 0
			failed = 1 } }' back="$3"
	grep -q 'CPU 3 went offline in iteration 2' "$1.log" || fail "nobody told that it left"
	grep -q 'CPU 3 is online' "$1.log" || fail "nobody told that it came back"
	print "$1" csv
	cmp "$1.csv" "$1.read" || fail "the traces say something else than the table"
	print "$1" text
	grep -q 'CPU 3 went offline in iteration 2' "$1.read" || fail "no note of it in the trace"
	grep -q 'CPU 3 is online' "$1.read" || fail "no note in the trace that it came back"
	[ -e "$1.4.3.cpuperf" ] || fail "no trace of CPU 3 while it was away"
}

# Groups that come back short; one event alone, whose reading only stands still; an event that is
# refused everywhere beside one that works; and an absence that ends before the next reading.
case $1 in
groups | blink) spec $seven software:cpu_clock software:context_switches >groups.cpspec ;;
single) spec fixed:cycle_counter >single.cpspec ;;
mixed) spec arch:llc_misses fixed:cycle_counter misc:cpu_user >mixed.cpspec ;;
esac
case $1 in
blink) session groups 0.1 3 ;;
*) session "$1" 1.5 6 ;;
esac
