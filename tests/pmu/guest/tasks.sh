#!/bin/sh
# shellcheck shell=dash source-path=SCRIPTDIR source=lib.sh
# What an iterator in the kernel of another machine and version says of processes is what /proc says.
. "${0%/*}/lib.sh"
status=0
test_process_iterator >tasks.log 2>&1 || status=$?
cat tasks.log
[ $status = 0 ] || [ $status = 77 ] || fail "the unit test of the iterator ended with $status"
if is_before 5.12; then
	grep -q '^skip: programs in the kernel need Linux 5.12' tasks.log || fail "another reason, or none"
	found "not supported: programs in the kernel need Linux 5.12"
	exit
fi
! grep '^skip: .*\(kernel\|program\)' tasks.log || fail "the iterator does not work here"
found "$(grep -c '^\[ *OK *\]' tasks.log) tests against /proc pass"
