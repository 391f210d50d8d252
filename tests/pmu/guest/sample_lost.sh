#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# A recorder that stands still while its ring of 1 MiB fills up: what the kernel had no room for is
# counted, and makes all that was due together with the samples. Told by the event's reading, or,
# where samples hold the counts of a group, by the ring's own records. And an event that the kernel
# pauses at each tick, because it is too fast: that is counted, too.
. "${0%/*}/lib.sh"

# session NAME ID...: one iteration, stopped in its middle.
session() {
	local name=$1
	shift
	measure "$name" 1 1s --buffer-size-in-mb=1 &
	session=$!
	await "$name" 0
	busy 0
	kill -STOP "$(pidof cpuperf)"
	sleep 0.4
	kill -CONT "$(pidof cpuperf)"
	wait $session || exit 1
	idle
	cat "$name.log"
	tell "$name"
	adds_up "$name" "$@"
	lost=$(awk -F '[:, ]+' '$2 == "Lost" { nr += $(NF - 1) } END { print nr + 0 }' "$name.read")
	rows "$name.csv" '
		$C["label"] !~ /@/ { next }
		{ off = $C["raw"] - ($C["samples"] + lost) * 1e6 }
		{ print $C["samples"] " samples, " lost " lost, by the table " $C["lost"] ", off by " off }
		lost < 50 || $C["lost"] != lost { bad("what was lost") }
		off < -3e6 || off > 3e6 { bad("samples and lost are not all") }
		$C["coverage"] > 0.95 { bad("coverage") }' lost="$lost"
	grep -q "lost: $lost" "$name.log" || fail "nobody told"
}

spec fixed:cycle_counter:pc+user_stack@1000000 >alone.cpspec
session alone 0x1004
spec fixed:cycle_counter:pc+user_stack+timebase@1000000 fixed:instructions_retired >group.cpspec
session group 0x1004 0x1001

spec fixed:cycle_counter:pc@100000 >fast.cpspec
max_rate 1000
measure fast 1 200ms
max_rate 100000
cat fast.log
tell fast
adds_up fast 0x1004
paused=$(grep -c ' Throttle: ' fast.read)
rows fast.csv '{ print paused " times paused, by the table " $C["throttled"] }
	paused < 5 || $C["throttled"] != paused { bad("how often it was paused") }' paused="$paused"
