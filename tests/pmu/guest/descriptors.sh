#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# 64 CPUs and 7 events need 448 descriptors. A low soft limit is raised; a low hard limit is told,
# in the table too, and what could be opened is counted and written.
. "${0%/*}/lib.sh"
spec $seven >seven.cpspec
ulimit -Sn 64
measure seven 1 100ms
rows seven.csv '$C["state"] != "ok" { bad("not counted") }
	END { if (NR != 1 + (64 + 1) * 7) { print "FAILED: " NR " lines"; failed = 1 } }'
ulimit -Hn 200
measure seven 1 100ms
cat seven.log
rows seven.csv '{ nr[$C["state"]]++ }
	$C["state"] != "ok" && $C["state"] != "limit reached" { bad("an unknown trouble") }
	END { print nr["ok"] " counted, " nr["limit reached"] " not"
		if (nr["ok"] < 100 || nr["ok"] + nr["limit reached"] != 64 * 7) {
			print "FAILED: too few"; failed = 1 } }'
grep -q 'ulimit -n' seven.log || fail "no word of what to do"
print seven csv
cmp seven.csv seven.read || fail "the traces say something else than the table"
status=0
cpuperf --strict --spec-file="$PWD/seven.cpspec" --num-iterations=1 --duration=100ms \
	--output-path-prefix= --session-result-spec-path= >strict.log 2>&1 || status=$?
[ $status = 1 ] || fail "--strict exits with $status"
