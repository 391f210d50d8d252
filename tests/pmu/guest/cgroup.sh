#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# Control groups of a live kernel against what is done in them: a loop has one CPU, one under a limit
# of 20 % has that and is paused for the rest, a file in memory has its size; and what a group lacks is
# said with the way to get it.
. "${0%/*}/lib.sh"
top=$PWD/cgroup
mkdir "$top"
mount -t cgroup2 none "$top"
echo '+cpu +memory' >"$top/cgroup.subtree_control"
mkdir "$top/burn" "$top/slow" "$top/memory" "$top/burn/lacks"
echo '20000 100000' >"$top/slow/cpu.max"

# in_group GROUP COMMAND...: begins there.
in_group() {
	local group=$top/$1
	shift
	sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$@"
}
in_group burn loop &
in_group slow loop &
# killing what the shell began would leave the loops to the next checks
trap 'echo 1 >"$top/burn/cgroup.kill"; echo 1 >"$top/slow/cgroup.kill"; rm -f /dev/shm/block' EXIT
in_group memory dd if=/dev/zero of=/dev/shm/block bs=1M count=32 2>/dev/null

event() { echo "{ \"group_name\": \"misc\", \"event_name\": \"$1\", \"cgroups\": [\"$2\"], \"label\": \"$3\" },"; }
{
	echo '{ "events": ['
	event cgroup_cpu_usage /burn burn_usage
	event cgroup_cpu_throttled /burn burn_throttled
	event cgroup_cpu_usage /slow slow_usage
	event cgroup_cpu_throttled /slow slow_throttled
	event cgroup_memory_current /memory memory
	event cgroup_memory_current /burn/lacks lacks
	echo '] }'
} >cgroup.cpspec
grep cgroup /proc/self/mountinfo
# of the kernel itself, which adds up a pause when it ends: one of a loaded host may last for seconds
paused_us() { sed -n 's/^throttled_usec //p' "$top/slow/cpu.stat"; }
before_us=$(paused_us)
measure cgroup 5 1s
after_us=$(paused_us)
cat cgroup.csv cgroup.log
grep -q 'cgroup /burn/lacks: .*cgroup.subtree_control' cgroup.log || fail "no word of subtree_control"
rows cgroup.csv '
	$C["thing"] == "" { next }
	{ seen[$C["label"]]++ }
	$C["state"] != "ok" { bad("no number") }
	{ value[$C["label"]] += $C["value"]; span[$C["label"]] += $C["span_ns"] }
	$C["label"] == "burn_throttled" && $C["value"] { bad("nothing limits it") }
	$C["label"] == "memory" && ($C["value"] < 32 * 1048576 || $C["value"] > 36 * 1048576) {
		bad("it has 32 MiB") }
	# over all of them: an emulated CPU that waits is not always told of in the second in which it did
	function held(label, low, high, why) {
		part = span[label] ? value[label] / span[label] : -1
		if (part < low || part > high) { print "FAILED: " label ": " part ": " why; failed = 1 } }
	END { held("burn_usage", 0.8, 1.05, "a loop has one CPU")
		held("slow_usage", 0.1, 0.3, "it may have 20 %")
		paused = value["slow_throttled"]
		if (!paused || paused > 1000 * paused_us) {
			print "FAILED: slow_throttled: " paused " ns of " paused_us " us"; failed = 1 }
		n = split("burn_usage burn_throttled slow_usage slow_throttled memory", label, " ")
		for (i = 1; i <= n; i++) if (seen[label[i]] != 5) {
			print "FAILED: " label[i] ": " seen[label[i]] + 0 " cells"; failed = 1 } }' paused_us=$((after_us - before_us))
print cgroup csv
cmp cgroup.csv cgroup.read || fail "the traces say something else than the table"
