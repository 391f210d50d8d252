#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# A PMU without an instruction counter: cycles are counted, the column of instructions says that it
# is not supported, in the table and in the traces; with --strict nothing starts.
. "${0%/*}/lib.sh"
cp "$tree/specs/cycle-counter.cpspec" all.cpspec
measure all 2 200ms
cat all.log
rows all.csv '
	/instructions/ && ($C["state"] != "not supported" || $C["value"] != "") {
		bad("not said to be unsupported") }
	/instructions/ { next }
	$C["state"] != "ok" { bad("not counted") }
	$C["label"] == "cycle_counter" && $C["value"] == 0 { bad("no cycles") }
	END { if (NR != 1 + 2 * (4 + 1) * 4) { print "FAILED: " NR " lines"; failed = 1 } }'
[ "$(grep -c 'not supported' all.log)" = 1 ] || fail "not said once, on stderr"
print all text
grep -q '^not measured: .*user_instructions' all.read || fail "not said in the traces"
measure all 1 200ms --output-format=text
grep -q '^not measured: ' all.csv || fail "not said in the table"

rm -f all.0.*
status=0
cpuperf --strict --spec-file="$PWD/all.cpspec" --num-iterations=1 --duration=200ms \
	--output-path-prefix="$PWD/strict" >strict.out 2>strict.log || status=$?
cat strict.log
[ $status = 1 ] || fail "--strict exits with $status"
grep -q -- '--strict' strict.log || fail "--strict gives no reason"
{ [ ! -s strict.out ] && [ ! -e strict.0.0.cpuperf ]; } || fail "--strict measured all the same"

# What the kernel lists and this PMU does not count is not said to work.
cpuperf --list-events=arch:llc_misses >list.out 2>&1
grep -q '^llc_misses: .*\[not supported\]$' list.out || fail "the list says: $(cat list.out)"
cpuperf --list-events=fixed:cycle_counter --quiet | grep -q '\[' && fail "cycles do not work"
cpuperf --describe-event=arch:llc_misses >describe.out
grep -q '^  here  *not supported$' describe.out || fail "the description says: $(cat describe.out)"
grep -q '^  reason  *the kernel rejects ' describe.out || fail "no reason: $(cat describe.out)"
spec arch:llc_misses fixed:cycle_counter >misses.cpspec
cpuperf --check-spec --spec-file="$PWD/misses.cpspec" >check.out || fail "the spec is valid"
grep -q '^1 of 2 event(s) work here' check.out || fail "the plan says: $(cat check.out)"
cpuperf --check-spec --strict --spec-file="$PWD/misses.cpspec" >/dev/null &&
	fail "--check-spec --strict: all of it works"

# Samples at the pace of an event that does not count: refused before the start.
spec fixed:instructions_retired:timebase+pc@1000000 fixed:cycle_counter >timebase.cpspec
status=0
cpuperf --spec-file="$PWD/timebase.cpspec" --num-iterations=1 --duration=200ms \
	--output-path-prefix="$PWD/timebase" >timebase.out 2>timebase.log || status=$?
cat timebase.log
[ $status = 1 ] || fail "a timebase that does not count: exit status $status"
grep -q 'fixed:instructions_retired cannot be the timebase here: ' timebase.log || fail "no reason"
{ [ ! -s timebase.out ] && [ ! -e timebase.0.0.cpuperf ]; } || fail "it sampled all the same"
