#!/usr/bin/env bash
# links.sh BUILD_FOLDER: which code is linked where. The objects of lib/cfi and lib/patch need nothing but memory
# functions, so that they can run inside a program that is measured; cpuperf, the recorder, holds
# nothing of the rooms that read. What sanitizers, coverage and stack protection add is ignored.
set -euo pipefail
failed=0

# alone BUILD_FOLDER ROOM NAME: its objects, which define the name, need nothing but their own functions and those of memory.
alone() {
	local library=$1/lib/libroom_$2.a undefined
	undefined=$(nm -u "$library" | awk '$1 == "U" { print $2 }' | sort -u |
		grep -vE "^($2_.*|mem(cpy|set|move|cmp|chr)|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|sanitizer|sancov|gcov|stack_chk|llvm)_.*)\$" ||
		true)
	nm --defined-only "$library" | grep -w "$3" >/dev/null || { echo "$library: not lib/$2" && failed=1; }
	[[ -z $undefined ]] || { echo "lib/$2 refers to:" "$undefined" && failed=1; }
}

alone "$1" cfi cfi_rules_apply
alone "$1" patch patch_move

# public FILE: the names that it defines for others.
public() { nm --defined-only --extern-only "$1" | awk 'NF == 3 && $3 !~ /^__/ { print $3 }' | sort -u; }

public "$1/bin/cpuperf" | grep -w main >/dev/null || { echo "cpuperf: has no symbols" && exit 77; }
for room in profile import symbol report; do
	linked=$(comm -12 <(public "$1/lib/libroom_$room.a") <(public "$1/bin/cpuperf"))
	[[ -z $linked ]] || { echo "cpuperf links lib/$room:" "$linked" && failed=1; }
done
exit $failed
