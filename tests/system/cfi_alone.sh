#!/usr/bin/env bash
# cfi_alone.sh LIBRARY: the objects of lib/cfi need nothing but memory functions, so that they can
# run inside a program that is measured. What sanitizers, coverage and stack protection add is
# ignored.
set -euo pipefail
undefined=$(nm -u "$1" | awk '$1 == "U" { print $2 }' | sort -u |
	grep -vE '^(cfi_.*|mem(cpy|set|move|cmp)|_GLOBAL_OFFSET_TABLE_|__(asan|ubsan|sanitizer|gcov|stack_chk|llvm)_.*)$' ||
	true)
nm --defined-only "$1" | grep -qw cfi_rules_apply || { echo "$1: not lib/cfi"; exit 1; }
[[ -z $undefined ]] || { echo "lib/cfi refers to:" "$undefined"; exit 1; }
