#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh
# Heap and resources of programs of 32 bits, by the agent for them: alone, executed by a program of 64 bits, and executing
# one; without that agent they are refused by name. Many kernels of hosts execute no such programs, so it is checked here.
. "${0%/*}/lib.sh"
build=$(dirname "$(command -v cpuperf)")/..
build=$(realpath "$build")
agent=$build/lib/cpuperf/libcpuperf-agent-i386.so narrow=$build/narrow/narrow_32 wide=$build/bin/guest_narrow
[ -e "$narrow" ] || { found 'not built: the compiler makes no programs of 32 bits'; exit 0; }
[ -e "$agent" ] || fail "no agent"
[ -e /lib/ld-linux.so.2 ] || ln -s "$build/narrow/ld-linux.so.2" /lib/ld-linux.so.2
export LD_LIBRARY_PATH="$LD_LIBRARY_PATH:$build/narrow"
"$narrow" || fail "this kernel executes no programs of 32 bits: $?"
events=heap:allocated@1,heap:allocations,heap:freed,heap:live,resource:fd_opened,resource:fd_live,resource:io_read
events=$events,resource:io_written,resource:thread_created

# known NAME TIMES COMMAND...: in the session NAME so many programs did what is known.
known() {
	local name=$1 times=$2
	shift 2
	cpuperf -g --output="$name" --event="$events" -- "$@" >"$name.log" 2>&1 || { cat "$name.log"; fail "$name: cpuperf"; }
	! grep -E 'ld\.so|not measured' "$name.log" || fail "$name: the loader, or a note"
	cpuperf_print --quiet "$name" --report=tree --event=allocated >"$name.tree"
	grep -q ' allocate$' "$name.tree" || { cat "$name.tree"; fail "$name: no function"; }
	cpuperf_print --quiet "$name" --report=summary --output-format=csv >"$name.csv"
	awk -F, -v times="$times" -v name="$name" '
		BEGIN {
			split("freed 400 fd_opened 6 fd_live 3 io_read 50 io_written 30 thread_created 1", w, " ")
			for (i = 1; i in w; i += 2) want[w[i]] = w[i + 1] * times
		}
		NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
		$C["cpu"] == "all" { got[$C["event"]] = $C["value"] }
		END {
			for (event in want)
				if (got[event] != want[event]) {
					print "FAILED: " name ": " event ": " got[event] ", not " want[event]
					failed++
				}
			print "found: " name ": allocated " got["allocated"] ", live " got["live"] ", " got["fd_opened"] " descriptors"
			exit failed > 0
		}' "$name.csv" || { cat "$name.csv"; exit 1; }
	# what the C library allocates for a thread is beside it
	cpuperf_print --quiet "$name" --report=flat --event=allocated --output-format=csv >"$name.flat"
	awk -F, -v want=$((1000 * times)) '
		NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
		$C["function"] == "allocate" { got = $C["self_count"] }
		END { exit got != want }' "$name.flat" || { cat "$name.flat"; fail "$name: bytes of allocate"; }
}

known alone 1 "$narrow"
known time_64 1 "$build/narrow/narrow_time_64"
timeout 60 cpuperf --quiet --output=old --event=heap:allocations -- "$narrow" old >old.log 2>&1 ||
	{ cat old.log; fail "functions of before glibc 2.3.2: $?"; }
known executed 1 "$wide" exec "$narrow"
known executes 1 "$narrow" exec "$wide"
known both_ways 1 "$wide" exec "$narrow" exec "$wide" exec "$narrow"
# What a filter of system calls says of the other kind's numbers is not known, also of one of before.
known filtered 1 "$narrow" filter "$narrow"
cpuperf --output=not_known --event=heap:allocated -- "$narrow" filter "$narrow" exec "$wide" >not_known.log 2>&1 ||
	{ cat not_known.log; fail "a filter"; }
grep -q 'not measured (guest_narrow; 1): they cannot make system calls' not_known.log || { cat not_known.log; fail "a filter is not seen"; }
# A shell of 64 bits, which the C library of 32 bits starts.
cp "$wide" other_sh
ln -sf "$PWD/other_sh" /bin/sh
known shell 1 "$narrow" system x
ln -sf busybox /bin/sh

mv "$agent" "$agent.away"
! cpuperf --output=refused --event=heap:allocated -- "$narrow" >refused.log 2>&1 || fail "not refused"
grep -q 'narrow_32 is a program for another kind of machine' refused.log || { cat refused.log; fail "another reason"; }
cpuperf --output=without --event=heap:allocated -- "$wide" exec "$narrow" >without.log 2>&1 || { cat without.log; fail "without it"; }
mv "$agent.away" "$agent"
! grep 'ld\.so' without.log || fail "the loader complains"
grep -q 'not measured (narrow_32; 1): they are for another kind of machine' without.log || { cat without.log; fail "not named"; }
