#!/usr/bin/env bash
# run_test.sh RUN_TEST: what run_test returns, counts and leaves running.
# shellcheck disable=SC2016 # expanded by the shell that is started
set -euo pipefail
run_test=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-run-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

# expect NAME CODE LIMIT COMMAND...: what it prints goes to $work/out.
expect() {
	local name=$1 code=$2 limit=$3 got=0
	shift 3
	"$run_test" "$limit" "$work" cost "$@" >"$work/out" 2>&1 || got=$?
	[[ $got == "$code" ]] || { echo "FAILED $name: exit $got, wanted $code" && failed=1; }
}
# gone NAME: the process whose number is in $work/pid has ended.
gone() { ! kill -0 "$(<"$work/pid")" 2>/dev/null || { echo "FAILED $1: it still runs" && failed=1; }; }
# costs NAME FROM TO
costs() {
	awk -v from="$2" -v to="$3" '{ exit !($1 >= from && $1 <= to) }' "$work/cost" ||
		{ echo "FAILED $1: $(<"$work/cost") s of CPU, wanted $2 to $3" && failed=1; }
}

expect "passes" 0 60 true
expect "fails" 3 60 sh -c 'exit 3'
expect "is skipped" 77 60 sh -c 'exit 77'
expect "is killed" 139 60 sh -c 'kill -SEGV $$'
expect "is not there" 127 60 "$work/none"
expect "waits" 124 1 sh -c 'echo $$ >"$1"; exec sleep 1000' sh "$work/pid"
gone "beyond its limit"
costs "waits" 0 0.5
expect "leaves a daemon" 0 60 sh -c 'setsid sh -c "echo \$\$ >$1; sleep 1000 & wait" >/dev/null 2>&1 &
	until [ -s "$1" ]; do sleep 0.01; done' sh "$work/pid"
gone "left running"
# A loop of so many CPU seconds by its own clock, in an orphan that has ended before the test.
expect "an orphan's time" 0 60 python3 -c '
import os, time
read, write = os.pipe()
if os.fork() == 0:
    if os.fork() == 0:
        while time.process_time() < 0.5: pass
    os._exit(0)
os.close(write)
os.read(read, 1)'
costs "an orphan's time" 0.5 5
"$run_test" 60 "$work" cost sh -c 'echo $$ >"$1"; sleep 1000' sh "$work/pid" &
until [[ -s $work/pid ]] && kill -0 "$(<"$work/pid")" 2>/dev/null; do sleep 0.01; done
kill -TERM $!
wait $! || [[ $? == 124 ]] || failed=1
gone "ended from outside"
awk '{ exit !($1 > 0) }' <<<"$("$run_test" --calibrate)" || { echo "FAILED --calibrate" && failed=1; }
exit $failed
