#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh disable=SC2016
# Samples are added up by stack in the kernel of another machine and version: each page fault once.
. "${0%/*}/lib.sh"
if is_before 5.12; then
	! cpuperf --event=page_faults@1 -g=aggregate --output="$PWD/faults" -- guest_faults 2000 8 2>faults.log || fail "works"
	grep -q 'programs in the kernel need Linux 5.12' faults.log || { cat faults.log; fail "another reason, or none"; }
	found "not supported: programs in the kernel need Linux 5.12"
	exit
fi
cpuperf --event=page_faults@1 -g=aggregate --output="$PWD/faults" -- guest_faults 2000 8 2>faults.log ||
	{ cat faults.log; fail "cpuperf"; }
cpuperf_print --quiet --report=summary --output-format=csv faults >faults.csv
rows faults.csv '
	{ counted += $C["value"]; samples += $C["samples"]; lost += $C["lost"] + $C["throttled"] }
	END { if (counted < 2000 || (samples != counted && !lost)) bad(samples " samples of " counted ", lost " lost) }'
cpuperf_print --quiet --report=flat --top=0 --output-format=csv faults >flat.csv
touched=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) C[$i] = i; next }
	$C["function"] == "touch_page" { print $C["self_samples"] }' flat.csv)
[ "$touched" = 2000 ] || { cat faults.csv flat.csv; fail "$touched of 2000 faults"; }
cpuperf_print --report=records faults >records 2>&1
grep -q 'its samples were added up by stack' records || { cat records; fail "the ring has them all"; }
singles=$(grep -c touch_page records || true)
[ "$singles" -lt 200 ] || fail "$singles of 2000 faults are in the ring"
found "$touched page faults of 2000, $singles of them in the ring"
