#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016,SC2086
# A program that runs during a session of cpuperf: its instructions are in the table, no more.
. "${0%/*}/lib.sh"
spec fixed:instructions_retired:user fixed:instructions_retired:os >run.cpspec

# count TURNS: user instructions of an iteration in which the loop runs.
count() {
	measure run 1 1s &
	sleep 0.4
	loop "$1"
	wait $! || exit 1
	rows run.csv '$C["label"] ~ /:user$/ { print $C["value"] }'
}

count 1 >/dev/null
one=$(count 5000000)
two=$(count 10000000)
echo "loops of 20,000,000 and 40,000,000 instructions: $one, $two"
near "$one" 20000000 5 || fail "the loop is not what was counted"
near $((two - one)) 20000000 0.1 || fail "the difference of the loops is $((two - one))"
