#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# As hotplug.sh, while samples are taken: those of a CPU end where it leaves and begin again in a new
# ring. CPU 3 is away from the middle of iteration 2 until iteration 5, CPU 2 for a moment of
# iteration 2 only; the others lose no sample.
. "${0%/*}/lib.sh"
max_rate 10000000
spec fixed:cycle_counter:timebase+pc@5000000 arch:instructions_retired \
	arch:unhalted_core_cycles@10000019 >hotplug.cpspec
measure hotplug 7 500ms &
session=$!
await hotplug 2
sleep 0.15
echo 0 >/sys/devices/system/cpu/cpu3/online
echo 0 >/sys/devices/system/cpu/cpu2/online
echo 1 >/sys/devices/system/cpu/cpu2/online
await hotplug 4
echo 1 >/sys/devices/system/cpu/cpu3/online
wait $session || exit 1
cat hotplug.log
tell hotplug 20000000
grep -v '^cpuperf_print: [^we]' hotplug.read.log && fail "cpuperf_print complains"
adds_up hotplug 0x1004 0x802 0x801

# While the session looks through /proc, in iteration 0, the emulation lets some overflows of idle
# CPUs pass.
rows hotplug.csv '
	BEGIN { back[2] = 3; back[3] = 5 }
	{ at = $C["iteration"]; cpu = $C["cpu"]; state = at == 2 && cpu in back ? "offline" : "ok" }
	$C["state"] != state { bad("not " state) }
	cpu in back && at > 2 && at < back[cpu] { bad("a CPU that is away") }
	cpu in back && at >= back[cpu] { came[cpu]++ }
	$C["label"] !~ /@/ { next }
	at > 0 && $C["coverage"] < 0.7 { bad("not all is covered") }
	{ split($C["label"], w, "@"); ns = state == "ok" ? 0.3e9 : 0.06e9 }
	at > 0 && $C["samples"] * w[2] < ns { bad("too few samples") }
	state == "offline" && $C["samples"] * w[2] > 0.4e9 { bad("samples of a CPU that is away") }
	END { if (came[2] != 4 * 3 || came[3] != 2 * 3) {
		print "FAILED: came back: CPU 2 " came[2] + 0 ", CPU 3 " came[3] + 0; failed++ } }'
for cpu in 2 3; do
	grep -q "CPU $cpu went offline in iteration 2" hotplug.log || fail "nobody told that it left"
	grep -q "CPU $cpu is online" hotplug.log || fail "nobody told that it came back"
done
awk '$2 == 3 && ($1 == 3 || $1 == 4) { exit 1 }' hotplug.sums || fail "records of a CPU that is away"
print hotplug csv
cmp hotplug.csv hotplug.read || fail "the traces say something else than the table"
