#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh
# The dashboard of 64 CPUs on a terminal: folded into as many rows as fit, and each by itself; what it
# shows is what the traces say. S saves what is on the screen.
. "${0%/*}/lib.sh"
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts 2>/dev/null || true
spec fixed:cycle_counter software:cpu_clock software:context_switches misc:cpu_utilization \
	misc:memory_available >all.cpspec
TERM=xterm LC_ALL=C pmu_screen 120 40 cycle_counter SfSq cpuperf --spec-file="$PWD/all.cpspec" --live \
	--num-iterations=1000 --duration=250ms --output-path-prefix="$PWD/all" \
	--session-result-spec-path="$PWD/all.cpsession" --log-file=all.log ||
	{ cat all.log; fail "cpuperf --live"; }
set -- cpuperf-*.txt
[ $# = 2 ] || fail "not two screens: $*"
grep -q ' 64 CPUs' "$1" || fail "not 64 CPUs"
# 64 do not fit into 40 lines: two by two, or more
[ "$(grep -cE '^[0-9]+-[0-9]+ ' "$1")" -ge 8 ] || { cat "$1"; fail "not folded"; }
grep -qE '^(56|60|62)-63 ' "$1" || { cat "$1"; fail "the last CPU is missing"; }
[ "$(grep -cE '^[0-9]+-[0-9]+ ' "$2")" = 0 ] || { cat "$2"; fail "still folded"; }
[ "$(grep -cE '^[0-9]+ ' "$2")" -ge 16 ] || { cat "$2"; fail "not each CPU"; }
grep -qE '^all .*6[34][0-9][0-9]\.[0-9] %' "$1" || { cat "$1"; fail "the clocks of 64 CPUs"; }
# the iteration of the first screen, by the traces
iteration=$(sed -n '1s/.* iteration \([0-9]*\) .*/\1/p' "$1")
shown=$(sed -n 's/^ all - fixed:cycle_counter .* - \([0-9,]*\) .*/\1/p' "$1" | tr -d ,)
cpuperf_print --session=all.cpsession --output-format=csv --iteration="$iteration" >all.csv 2>/dev/null
awk -F, -v shown="$shown" 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i }
	$c["event"] == "cycle_counter" && $c["cpu"] == "all" { all = $c["value"] }
	$c["event"] == "cycle_counter" && $c["cpu"] != "all" { sum += $c["value"]; n++ }
	END { printf "iteration: %d CPUs, %.0f cycles, shown %.0f\n", n, sum, shown
		if (n != 64 || sum != shown || all != shown) exit 1 }' all.csv || fail "other numbers than the traces'"
cat "$1"
