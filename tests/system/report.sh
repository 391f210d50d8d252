#!/usr/bin/env bash
# scripts/test-report must fail when it should: a test or a label over its budget, nothing ran, skipped without
# a reason. And what it lists, and the table of costs that it writes.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-report.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0
unset CPUPERF_RENEW

cat >"$work/CTestTestfile.cmake" <<'END'
add_test(quick true)
set_tests_properties(quick PROPERTIES LABELS unit)
add_test(slow true)
set_tests_properties(slow PROPERTIES LABELS "fuzz;extra")
add_test(unlucky sh -c "echo 19 >costs/unlucky")
add_test(slower sh -c "echo 21 >costs/slower")
add_test(fails sh -c "echo 1 >costs/fails; false")
set_tests_properties(unlucky slower fails PROPERTIES LABELS system)
END

# case_of NAME SECONDS STATUS OUTPUT [ELEMENT]
case_of() {
	echo "<testcase name='$1' time='$2' status='$3'>${5:-}"
	echo "<system-out>$4</system-out></testcase>"
}

mkdir "$work/costs"
printf '# head\nquick\t15.0\tcpu\nother\t7.0\twaits\nunlucky\t10.0\tcpu\nslower\t10.0\tcpu\n' >"$work/table"
export CPUPERF_COSTS=$work/table CPUPERF_TEST_LONG=0
reference=$(sed -n 's/^REFERENCE = //p' "$top/scripts/test-report")

# took TEST SECONDS: of CPU
took() { echo "$2" >"$work/costs/$1"; }

# expect NAME CODE PATTERN JUDGED CASES...
expect() {
	local name=$1 code=$2 pattern=$3 judged=$4 got=0 output
	shift 4
	echo "<testsuite>$*</testsuite>" >"$work/test.xml"
	output=$("$top/scripts/test-report" "$work/test.xml" "$work" 50 "$judged" 0 \
		"$reference" "${after:-$reference}" 2>&1) || got=$?
	if [[ $got != "$code" || ! $output =~ $pattern ]]; then
		printf 'FAILED %s: exit %s, wanted %s and /%s/\n%s\n' "$name" "$got" "$code" \
			"$pattern" "$output"
		failed=1
	fi
}

quick=$(case_of quick 1.5 run fine)
took quick 1.5
expect "all well" 0 'unit +1 +1.5 +150 +1.5' 0 "$quick"
took slow 161
slow="$(case_of slow 9 run x)"
expect "over budget" 1 'fuzz took 161.0 s of CPU, its budget is 100 s' 1 "$quick" "$slow"
expect "a test over twice its budget" 1 'slow took 161.0 s of CPU, more than twice its budget of 1.0 s' 0 "$slow"
took quick 29
expect "a test below it" 0 'quick +29.0 +15.0 +1.5' 0 "$quick"
took quick 31
expect "a test above it" 1 'quick took 31.0' 0 "$quick"
took unlucky 25
expect "one that is unlucky once" 0 'unlucky took 25.0 .*; once more, alone: 19.0 s' 0 "$(case_of unlucky 1 run x)"
took slower 25
expect "one that is not" 1 'FAILED: slower took 25.0 s of CPU, more than twice its budget of 10.0' 0 "$(case_of slower 1 run x)"
took fails 25
expect "one that fails then" 1 'FAILED: fails took 25.0 s' 0 "$(case_of fails 1 run x)"
rm "$work"/costs/{unlucky,slower,fails}
after=$(awk '{ print 2 * $1 }' <<<"$reference") expect "a slower machine" 0 'quick +31.0 +30.0' 0 "$quick"
took slow 9.9
expect "a small test has no budget" 0 'slow +9.9 +1.0' 0 "$slow"
took slow 161
CPUPERF_TEST_LONG=1 expect "the whole of it" 0 'slow +161' 0 "$slow"
CPUPERF_RENEW=1 expect "the table is renewed" 0 'slow +161' 0 "$quick" "$slow"
diff "$work/table" - <<<$'# head\nother\t7.0\twaits\nquick\t31.0\tcpu\nslow\t161.0\tcpu\nslower\t10.0\tcpu\nunlucky\t10.0\tcpu' || failed=1
rm "$work/costs/slow"
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
expect "nothing was tried again" 0 $'wall s\nquick [^\n]*$' 0 "$(case_of quick 1 run 'not again: x
again:')"
expect "what was tried again" 0 $'tried again: 2\n  quick: check_a: turns\n  quick: check_b: late' 0 "$(case_of quick 1 run '
again: check_a: turns
  again: check_b: late')"
expect "unknown label" 1 'label none has no budget' 0 "$(case_of other 1 run x)"
rm -f "$work/test.xml"
"$top/scripts/test-report" "$work/nothing.xml" "$work" 1 0 0 1 1 2>/dev/null && failed=1
exit $failed
