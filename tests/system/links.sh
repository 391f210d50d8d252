#!/usr/bin/env bash
# links.sh BUILD_FOLDER: which code is linked where. The objects of lib/cfi need nothing but memory
# functions, so that they can run inside a program that is measured; cpuperf, the recorder, holds
# nothing of the rooms that read. What sanitizers, coverage and stack protection add is ignored.
set -euo pipefail
failed=0
cfi=$1/lib/libroom_cfi.a
undefined=$(nm -u "$cfi" | awk '$1 == "U" { print $2 }' | sort -u |
	grep -vE '^(cfi_.*|mem(cpy|set|move|cmp|chr)|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|sanitizer|sancov|gcov|stack_chk|llvm)_.*)$' ||
	true)
nm --defined-only "$cfi" | grep -w cfi_rules_apply >/dev/null || { echo "$cfi: not lib/cfi" && failed=1; }
[[ -z $undefined ]] || { echo "lib/cfi refers to:" "$undefined" && failed=1; }

# public FILE: the names that it defines for others.
public() { nm --defined-only --extern-only "$1" | awk 'NF == 3 && $3 !~ /^__/ { print $3 }' | sort -u; }

public "$1/bin/cpuperf" | grep -w main >/dev/null || { echo "cpuperf: has no symbols" && exit 77; }
for room in profile import symbol unwind report; do
	linked=$(comm -12 <(public "$1/lib/libroom_$room.a") <(public "$1/bin/cpuperf"))
	[[ -z $linked ]] || { echo "cpuperf links lib/$room:" "$linked" && failed=1; }
done
exit $failed
