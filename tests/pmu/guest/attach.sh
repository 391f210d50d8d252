#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh
# attach.sh PROGRAM: the agent of the heap in programs that run already, on this machine: what
# tests/system/test_agent_attach.py checks on the host. The program, attached or attached_protected, prints "ready",
# what is wrong with itself, and "end".
. "${0%/*}/lib.sh"
agent=$(dirname "$(command -v cpuperf)")/../lib/cpuperf/libcpuperf-agent.so
agent=$(realpath "$agent")
[ -e "$agent" ] || fail "no agent"
program=$1

# begin WHAT...: the program runs, as $pid.
begin() {
	rm -f in out
	mkfifo in
	$program "$@" <in >out 2>&1 &
	pid=$!
	exec 3>in
	until grep -q ready out; do sleep 0.05; done
}

# end_well TEXT: it ends, and says nothing else.
end_well() {
	[ "$1" = itself ] || kill -TERM "$pid"
	wait "$pid" || fail "$2: exit status $?: $(cat out)"
	[ "$(grep -v -e '^slept 1[5-9]' -e '^slept [2-9][0-9]' out | tr '\n' ' ')" = 'ready end ' ] || fail "$2: $(cat out)"
	exec 3>&-
}

# again TIMES WHAT...: is attached to so often.
again() {
	local times=$1
	shift
	begin "$@"
	attaches "$pid" "$agent" "$times" >log 2>&1 || { cat log; fail "$1: attaches"; }
	sed -n "s/^attached/$1: attached/p; s/^refused: process [0-9]*/$1: refused/p" log | sort | uniq -c
	# shellcheck disable=SC2016
	awk '/^[0-9.]+ [0-9]+ [0-9.]+ [0-9]+$/ { if ($1 > max) max = $1; if ($3 > max) max = $3; nr++ }
		END { printf "the longest stop of %d attachments: %.1f ms\n", nr, max }' log
	grep -q "^attached [1-9]" log || fail "$1: never"
	! grep -q "cannot be followed to its end" log || fail "$1: a stack cannot be followed"
}

again 10 registers
end_well '' registers
again 12 threads
end_well '' threads
waits='sleep poll epoll select pause'
[ "$program" = attached ] || waits="sleep" # they are the kernel's: the same for each program
for what in $waits; do
	again 2 "$what"
	end_well '' "$what"
done
again 1 long 15 # in which it can be attached to
end_well itself long

# Known numbers: 13 blocks of 2,016 bytes and one of 5,000; of which 608 are freed.
begin lines
tries=0
while :; do
	rm -rf s
	cpuperf --verbose "--pid=$pid" --attach -g --output=s \
		--event=heap:allocated@1,heap:allocations,heap:freed,heap:live 2>log &
	recorder=$!
	until grep -q 'are rewritten' log || ! kill -0 $recorder 2>/dev/null; do sleep 0.1; done
	grep -q 'are rewritten' log && break
	[ $((tries += 1)) -lt 5 ] || { cat log; fail "cannot attach"; }
done
printf x >&3
until grep -q "done" out; do sleep 0.05; done
sleep 5 # until what is mapped was read
kill -INT "$recorder"
wait "$recorder" || { cat log; fail "cpuperf"; }
cpuperf_print s --quiet --report=summary --each-iteration >summary
for pair in allocated:7,016 allocations:14 freed:608 live:6,408; do
	grep -qE "^  ${pair%:*} +${pair#*:} " summary || { cat summary; fail "not $pair"; }
done
grep -E '^  (allocated|allocations|freed|live) ' summary
cpuperf_print s --quiet --report=tree >tree
for name in main allocate_known; do
	grep -q "\<$name\>" tree || { cat tree; fail "no $name in a stack"; }
done
kill "$pid"
