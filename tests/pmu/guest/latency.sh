#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# Latencies are measured by programs in the kernel of another machine and version: of system calls as
# a program measures them itself, of requests and soft interrupts as often as /proc counts them.
. "${0%/*}/lib.sh"

latencies() { cpuperf_print --quiet --report=latency --output-format=csv "$1" >"$1.csv"; }
# softirqs and reads of the disk so far
proc() {
	awk '/:/ { for (i = 2; i <= NF; i++) n += $i } END { printf "%d ", n }' /proc/softirqs
	awk '$3 == "vda" { print $4 }' /proc/diskstats
}

need_programs latency:syscall.readv '^  here  *works$'
need=latency:irq,latency:softirq,latency:block
proc >before
cpuperf --event=$need --duration=1h --output="$PWD/machine" >machine.log 2>&1 &
until [ -e machine/cpuperf.cpsession ]; do
	kill -0 $! || { cat machine.log; fail "cpuperf"; }
	sleep 0.1
done
sleep 1
proc >first
dd if=/dev/vda of=/dev/null bs=65536 count=64 2>/dev/null
sleep 0.5
proc >last
kill -INT $!
wait $! || { cat machine.log; fail "cpuperf"; }
proc >after
latencies machine
awk -F, -v numbers="$(cat before first last after | tr '\n ' '::')" '
	NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
	$C["event"] == "softirq" && $C["what"] != "" { seen[1] += $C["count"] }
	$C["event"] == "block" && $C["part"] == "device" && $C["what"] == "vda read" { seen[2] += $C["count"] }
	$C["event"] == "irq" && $C["what"] != "" { irqs += $C["count"] }
	END {
		split(numbers, n, ":")
		for (i = 1; i <= 2; i++) {
			least = n[i + 4] - n[i + 2]
			most = n[i + 6] - n[i]
			printf "found: %d %s, by /proc %d to %d\n", seen[i], i == 1 ? "soft interrupts" : "reads", least, most
			if (seen[i] < 0.9 * least - 10 || seen[i] > most || (i == 2 && least == 0)) failed = 1
		}
		exit failed || !irqs
	}' machine.csv || { cat machine.csv; fail "not as /proc counts"; }

cpuperf --event=latency:syscall.readv,latency:syscall.clock_nanosleep,latency:run_queue --output="$PWD/calls" \
	-- guest_latency 2 20 >said 2>calls.log || { cat calls.log; fail "cpuperf"; }
latencies calls
for call in readv:2000000 clock_nanosleep:1000000; do
	awk -F, -v call="${call%:*}" -v least="${call#*:}" -v said="$(grep "^${call%:*} " said)" '
		NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
		$C["event"] == "syscall." call && $C["what"] == "" {
			n = split(said, w, " ") - 1
			for (i = 2; i <= n + 1; i++) sum += w[i]
			seen = 1
			printf "found: %d %s(2) of %d, mean %.2f ms, by itself %.2f\n", $C["count"], call, n,
				$C["mean_ns"] / 1e6, sum / n / 1e6
			if ($C["count"] != n || $C["sum_ns"] < n * least || $C["sum_ns"] > sum || $C["max_ns"] > w[n + 1]) failed = 1
		}
		END { exit failed || !seen }' calls.csv || { cat said calls.csv; fail "$call"; }
done
grep -q '^run_queue,' calls.csv || { cat calls.csv; fail "no run queue"; }
