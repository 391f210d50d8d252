# shellcheck shell=dash disable=SC2016,SC2034,SC2086
# Sourced by the checks, in the guest: how to make a spec, to measure, and to ask about results.
set -eu
tree=$(cd "${0%/*}/../../.." && pwd)
cd "$(mktemp -d)"

fail() { echo "FAILED: $*"; exit 1; }

# spec EVENT...: a spec of events like fixed:cycle_counter or, with a flag, fixed:cycle_counter:user;
# the whole word is the column's label.
spec() {
	echo '{ "events": ['
	for event; do
		echo "$event" | awk -F: '{
			printf "{ \"group_name\": \"%s\", \"event_name\": \"%s\", \"label\": \"%s\"", $1, $2, $0
			if ($3) printf ", \"flags\": [\"%s\"]", $3
			print " }," }'
	done
	echo '] }'
}

# measure NAME ITERATIONS DURATION [OPTION...]: the session NAME of NAME.cpspec: table in NAME.csv,
# log in NAME.log, traces as NAME.0.0.cpuperf.
measure() {
	local name=$1 iterations=$2 duration=$3
	shift 3
	cpuperf --spec-file="$PWD/$name.cpspec" --num-iterations="$iterations" \
		--duration="$duration" --output-path-prefix="$PWD/$name" \
		--session-result-spec-path="$PWD/$name.cpsession" --output-format=csv "$@" \
		>"$name.csv" 2>"$name.log" ||
		{ cat "$name.log"; fail "cpuperf: $name"; }
}

# print NAME FORMAT: the session as it is read back, in NAME.read.
print() {
	cpuperf_print --session="$1.cpsession" --output-format="$2" >"$1.read" 2>"$1.read.log" ||
		{ cat "$1.read.log"; fail "cpuperf_print: $1"; }
}

# rows FILE PROGRAM [NAME=VALUE...]: awk over the cells of a CSV file, its columns by name in C[]:
# $C["value"]. In the program, bad(TEXT) reports the row and fails.
rows() {
	local file=$1 program=$2
	shift 2
	[ -s "$file" ] || fail "$file is empty"
	local assign=
	for pair; do assign="$assign -v $pair"; done
	awk -F, $assign '
		function bad(text) { if (failed++ < 3) print "FAILED: " text ": " $0 }
		function share() { return $C["running_ns"] / $C["enabled_ns"] }
		NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
		'"$program"'
		END { exit failed > 0 }' "$file" || exit 1
}

# near A B PERCENT
near() {
	awk -v a="$1" -v b="$2" -v percent="$3" \
		'BEGIN { d = a > b ? a - b : b - a; exit !(b > 0 && d * 100 <= b * percent) }'
}

# busy CPU: an endless loop there, until idle. Beside it every fork and every call to another CPU
# takes some 20 ms of the guest's time, so there is little between the two.
busy() {
	taskset $((1 << $1)) loop &
	busy=$!
	trap idle EXIT
}
idle() {
	[ -z "$busy" ] || kill "$busy"
	busy=
}
busy=

seven='fixed:cycle_counter fixed:instructions_retired fixed:instructions_retired:os
	fixed:instructions_retired:user arch:instructions_retired arch:instructions_retired:os
	arch:instructions_retired:user'
