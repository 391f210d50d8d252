#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# A process that came and went between two readings has a row with its whole CPU time, by programs in
# the kernel of another machine and version.
. "${0%/*}/lib.sh"
need_programs misc:process_cpu_time 'a process that ends has a line'
cpuperf --event=misc:process_cpu_time --duration=100s --output="$PWD/all" >all.log 2>&1 &
until [ -e all/cpuperf.cpsession ]; do
	kill -0 $! || { cat all.log; fail "cpuperf"; }
	sleep 0.1
done
sleep 1
said=$(guest_waits busy)
sleep 1
kill -INT $!
wait $! || { cat all.log; fail "cpuperf"; }
cpuperf_print --quiet --report=summary --output-format=csv all >all.csv
echo "$said"
awk -F, -v said="$said" '
	NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
	$C["thing"] ~ / guest_waits$/ { used += $C["value"]; nr++ }
	END {
		split(said, w, " ")
		printf "found: %.0f ms of CPU time of a process that ended, by itself %.0f\n", used / 1e6, w[6] / 1e6
		exit !(nr == 1 && used >= w[6] && used < 3 * w[6])
	}' all.csv || { cat all.csv; fail "CPU time of a process that ended"; }
