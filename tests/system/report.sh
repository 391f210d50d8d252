#!/usr/bin/env bash
# scripts/test-report must fail when it should: over budget, nothing ran, skipped without a reason.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-report.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

cat >"$work/CTestTestfile.cmake" <<'END'
add_test(quick true)
set_tests_properties(quick PROPERTIES LABELS unit)
add_test(slow true)
set_tests_properties(slow PROPERTIES LABELS "fuzz;extra")
END

# case_of NAME SECONDS STATUS OUTPUT [ELEMENT]
case_of() {
	echo "<testcase name='$1' time='$2' status='$3'>${5:-}"
	echo "<system-out>$4</system-out></testcase>"
}

# expect NAME CODE PATTERN JUDGED CASES...
expect() {
	local name=$1 code=$2 pattern=$3 judged=$4 got=0 output
	shift 4
	echo "<testsuite>$*</testsuite>" >"$work/test.xml"
	output=$("$top/scripts/test-report" "$work/test.xml" "$work" 50 "$judged" \
		$'unit 60\nfuzz 60\nwhole 900' 2>&1) || got=$?
	if [[ $got != "$code" || ! $output =~ $pattern ]]; then
		printf 'FAILED %s: exit %s, wanted %s and /%s/\n%s\n' "$name" "$got" "$code" \
			"$pattern" "$output"
		failed=1
	fi
}

quick=$(case_of quick 1.5 run fine)
expect "all well" 0 'unit +1 +1.5 +60' 0 "$quick"
expect "over budget" 1 'fuzz took 61.0 s, its budget is 60 s' 1 "$quick" "$(case_of slow 61 run x)"
expect "budgets are not judged" 0 'fuzz +1 +61.0' 0 "$quick" "$(case_of slow 61 run x)"
expect "nothing ran" 1 'no test ran' 0 ''
expect "all skipped" 1 'no test ran' 0 "$(case_of slow 0 notrun 'skip: no PMU' '<skipped/>')"
expect "a reason" 0 'slow: no PMU' 0 "$quick" "$(case_of slow 0 notrun 'skip: no PMU' '<skipped/>')"
expect "no reason" 1 'slow was skipped without' 0 "$quick" "$(case_of slow 0 notrun x '<skipped/>')"
expect "a case of a program" 1 'quick: test_it was skipped without' 0 \
	"$(case_of quick 1 run '
[  SKIPPED ] test_it
')"
ended='[  SKIPPED ] 1 test(s), listed below:
[  SKIPPED ] test_it'
for streams in "$ended
@" "@
$ended"; do # the program tells at its end, and maybe before what is still in its buffer
	expect "a case with its reason" 0 'quick: test_it: no perf here' 0 "$(case_of quick 1 run "${streams/@/
[ RUN      ] test_it
skip: no perf here
[  SKIPPED ] test_it}")"
done
expect "a part of a case" 0 'quick: test_it: no gold' 0 "$(case_of quick 1 run '
[ RUN      ] test_it
skip: no gold
[       OK ] test_it
[ RUN      ] test_other
[       OK ] test_other
')"
expect "a part of a script" 0 'quick: sampling: no permission' 0 "$(case_of quick 1 run '
  skip: sampling: no permission
check_other: ok')"
expect "unknown label" 1 'label none has no budget' 0 "$(case_of other 1 run x)"
rm -f "$work/test.xml"
"$top/scripts/test-report" "$work/nothing.xml" "$work" 1 0 'whole 900' 2>/dev/null && failed=1
exit $failed
