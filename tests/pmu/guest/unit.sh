#!/bin/sh
# shellcheck shell=dash
# The unit tests that were built, as arm64 programs, two at a time: scripts/pmu-vm/build.

# Not these:
#   test_base_opt    runs bash, which the guest has not
#   test_spec_alloc  fails each allocation in turn: takes minutes on an emulated CPU
#   test_spec_scan   holds a limit of CPU time, which an emulated CPU does not
#   test_session_failures, test_trace_damage, test_trace_pack, test_event_tracepoint,
#   test_event_uncore: as test_spec_alloc
#   test_process_rest: the ticks of /proc/stat that a paused machine skips are no rest
#   test_survey_live: what the kernel tells of a program's mapping differs there from its
#                    /proc in a way that is not yet explained
#   test_elf_finder, test_symbol_elf, test_symbol_lines, test_elf_file, test_unwind_debug: make
#                    programs to look at, with a compiler and binutils
#   test_unwind_step steps through code with the trap flag of x86-64
#   test_report_diff, test_report_stacks fill hundreds of megabytes, to meet their ceilings
#   test_report_engine, test_estimate_interval calculate for minutes on an emulated CPU
#   test_process, test_process_iterator read processes thousands of times: minutes;
#                    test_process_live reads those of the guest
without='test_base_opt|test_spec_alloc|test_spec_scan|test_session_failures|test_trace_damage'
without="$without|test_trace_pack|test_survey_live|test_elf_finder|test_symbol_elf"
without="$without|test_symbol_lines|test_elf_file|test_unwind_debug|test_unwind_step"
without="$without|test_report_diff|test_report_stacks|test_event_tracepoint|test_event_uncore|test_process_rest"
without="$without|test_report_engine|test_estimate_interval"
without="$without|test_process|test_process_iterator"

if [ -n "$1" ]; then
	name=${1##*/}
	status=0 begin=$(date +%s)
	"$1" >"/tmp/$name.log" 2>&1 || status=$?
	[ $status = 0 ] && echo "ok $name $(($(date +%s) - begin)) s" && exit
	cat "/tmp/$name.log"
	[ $status = 77 ] && exit # its reason is the line above
	echo "FAILED: $name"
	exit 1
fi
programs=$(find "$(dirname "$(which cpuperf)")" -name 'test_*' | sort | grep -vE "/($without)$")
nr=$(echo "$programs" | wc -l)
echo "$programs" | xargs -n 1 -P 2 "$0" || exit 1
echo "$nr unit test programs ran"
[ "$nr" -gt 10 ]
