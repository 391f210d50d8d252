#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh
# The agent of the heap in programs that run already, on this machine: what tests/system/test_agent_attach.py checks on
# the host. A program prints "ready", what is wrong with itself, and "end".
. "${0%/*}/lib.sh"
agent=$(dirname "$(command -v cpuperf)")/../lib/libcpuperf-agent.so
agent=$(realpath "$agent")
[ -e "$agent" ] || fail "no agent"

# begin WHAT: the program runs, as $pid.
begin() {
	rm -f in out
	mkfifo in
	attached "$1" <in >out 2>&1 &
	pid=$!
	exec 3>in
	until grep -q ready out; do sleep 0.05; done
}

# end_well TEXT: it ends, and says nothing else.
end_well() {
	[ "$1" = itself ] || kill -TERM "$pid"
	wait "$pid" || fail "$2: exit status $?: $(cat out)"
	[ "$(grep -v -e '^slept [3-9]' -e '^slept [1-9][0-9]' out | tr '\n' ' ')" = 'ready end ' ] || fail "$2: $(cat out)"
	exec 3>&-
}

# again WHAT TIMES: is attached to so often.
again() {
	begin "$1"
	attaches "$pid" "$agent" "$2" >log 2>&1 || { cat log; fail "$1: attaches"; }
	sed -n "s/^attached/$1: attached/p; s/^refused: process [0-9]*/$1: refused/p" log | sort | uniq -c
	# shellcheck disable=SC2016
	awk '/^[0-9.]+ [0-9]+ [0-9.]+ [0-9]+$/ { if ($1 > max) max = $1; if ($3 > max) max = $3; nr++ }
		END { printf "the longest stop of %d attachments: %.1f ms\n", nr, max }' log
	grep -q "^attached [1-9]" log || fail "$1: never"
}

again registers 10
end_well '' registers
again threads 12
end_well '' threads
for what in sleep poll epoll select pause; do
	again "$what" 2
	end_well '' "$what"
done
again long 2
end_well itself long

# Known numbers: 13 blocks of 2,016 bytes and one of 5,000; of which 608 are freed.
begin lines
tries=0
while :; do
	rm -rf s
	cpuperf --verbose "--pid=$pid" --attach --event=heap:allocated,heap:allocations,heap:freed,heap:live --output=s \
		2>log &
	recorder=$!
	until grep -q 'are rewritten' log || ! kill -0 $recorder 2>/dev/null; do sleep 0.1; done
	grep -q 'are rewritten' log && break
	[ $((tries += 1)) -lt 5 ] || { cat log; fail "cannot attach"; }
done
printf x >&3
until grep -q "done" out; do sleep 0.05; done
kill -INT "$recorder"
wait "$recorder" || { cat log; fail "cpuperf"; }
cpuperf_print s --quiet --report=summary >summary
for pair in allocated:7,016 allocations:14 freed:608 live:6,408; do
	grep -qE "^  ${pair%:*} +${pair#*:} " summary || { cat summary; fail "not $pair"; }
done
grep -E '^  (allocated|allocations|freed|live) ' summary
kill "$pid"
