#!/usr/bin/env bash
# changed.sh BUILD_FOLDER: what scripts/test-changed chooses, and that its table names every room and only tests that
# there are.
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"
build=$1
top=$PWD
failed=0
work=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-changed.XXXXXX")
told=$work/told
trap 'rm -rf "$work"' EXIT
known=$(names_of_tests "$build")

# chosen FILE YES NO [SECONDS]: for a change of the file a test of the regex YES, and none of NO.
chosen() {
	local got
	got=$("$top/scripts/test-changed" "$build" HEAD "${4:-150}" "$1" 2>"$told")
	grep -qxE "$2" <<<"$got" || { echo "FAILED $1: no $2" && failed=1; }
	! grep -qxE "$3" <<<"$got" || { echo "FAILED $1: $(grep -xE "$3" <<<"$got" | head -n 1)" && failed=1; }
}

chosen lib/spec/scan.c 'test_spec_scan' 'test_dashboard.*|system_heap'
chosen lib/spec/scan.c 'fuzz_spec' 'fuzz_trace'
chosen lib/spec/scan.c 'check_format' 'check_tidy|check_shell'
chosen lib/screen/grid.h 'test_screen_.*' 'system_target'
chosen lib/screen/grid.h 'system_top_keys' 'system_heap'
chosen lib/trace/trace.h 'test_profile_.*' 'system_push' # of another room, by what it includes
chosen tests/unit/test_base_str.c 'test_base_str' 'test_base_dict|system_.*'
chosen tests/system/test_push.py 'system_push' 'system_target|test_.*'
chosen cpuperf_print/page/page.c 'system_navigator' 'system_print_output'
chosen scripts/deps 'check_shell' 'test_.*|system_.*'
chosen lib/trace/trace.h 'test_profile_begins' 'system_push' 1000 # by a header that includes it
chosen lib/session/surveyor.c 'system_survey_hangs' 'system_push' # only a mutation of that file knows
chosen tests/data/jobs/example/a 'test_hosts_part' 'test_base_.*'
chosen tests/system/idle.c 'system_idle' 'system_push'
chosen tests/system/marks.py 'system_guests' 'test_.*'
chosen lib/report/counter.c 'check_names' 'system_.*' 1
grep -q '^[0-9]* tests more can tell, in [0-9]* s of CPU: --all$' "$told" || { echo "FAILED: what is left is not told" && failed=1; }

# What git says is changed, of a repository that has what is read here: chosen_of WHAT COMMIT YES [NO].
repository=$work/repository
in_repository() { git -C "$repository" -c init.defaultBranch=main -c user.name=test -c user.email=test@localhost "$@" &>/dev/null; }
mkdir -p "$repository/lib/cfi" "$repository/lib/screen" "$repository/tests"
cp -r "$top/scripts" "$repository"
cp -r "$top"/tests/{costs.tsv,reach.tsv,mutations} "$repository/tests"
cp "$top"/lib/screen/grid.[ch] "$repository/lib/screen"
in_repository init -q
in_repository add .
in_repository commit -m first
chosen_of() {
	local got
	got=$(timeout 60 "$repository/scripts/test-changed" "$build" "$2" 150 2>&1) || true
	grep -qxE "$3" <<<"$got" || { echo "FAILED $1: no $3" && failed=1; }
	! grep -qxE "${4:-none}" <<<"$got" || { echo "FAILED $1: $(grep -xE "$4" <<<"$got" | head -n 1)" && failed=1; }
}
chosen_of 'nothing, and no commit before' HEAD '.*no commit before it' '(check|test|system)_.*'
in_repository commit --allow-empty -m second
in_repository mv lib/screen/grid.c lib/cfi/grid.c
chosen_of 'a renamed file' HEAD 'test_screen_.*' 'test_profile_.*'
chosen_of 'its other name' HEAD 'test_cfi_.*'
in_repository commit -m third
chosen_of 'the last commit' HEAD 'test_screen_.*'
chosen_of 'a range without it' HEAD~0 '' '(check|test|system)_.*'
rm "$repository/lib/cfi/grid.c"
chosen_of 'a deleted file' HEAD 'test_cfi_.*' 'test_screen_.*'
in_repository checkout lib/cfi/grid.c
printf '#include "screen/grid.h"\n' >"$repository/lib/screen/ring.h"
printf '#include "screen/ring.h"\n' >"$repository/lib/screen/grid.h"
in_repository add .
in_repository commit -m fourth
printf '#include "screen/ring.h"\n\n' >"$repository/lib/screen/grid.h"
chosen_of 'headers that include each other' HEAD 'test_screen_.*' 'test_cfi_.*'
in_repository checkout lib/screen/grid.h
: >"$repository/lib/cfi/$(printf '\303\244 b.c')"
chosen_of 'a new file with signs and spaces' HEAD 'test_cfi_.*' 'test_screen_.*'

while IFS=$'\t' read -r folder tests; do
	[[ -e $top/$folder ]] || { echo "FAILED tests/reach.tsv: there is no $folder" && failed=1; }
	grep -qxE "$tests" <<<"$known" || { echo "FAILED tests/reach.tsv: $folder: no test is called $tests" && failed=1; }
	for name in $(grep -oE 'system_\([^)]*\)' <<<"$tests" | tr -d '()' | sed 's/^system_//; s/|/ /g'); do
		grep -qxF "system_$name" <<<"$known" ||
			{ echo "FAILED tests/reach.tsv: $folder: no test is called system_$name" && failed=1; }
	done
done < <(grep -v '^#' "$top/tests/reach.tsv")
for room in "$top"/lib/*/; do
	grep -qP "^lib/$(basename "$room")\t" "$top/tests/reach.tsv" ||
		{ echo "FAILED tests/reach.tsv: no row for lib/$(basename "$room")" && failed=1; }
done
exit $failed
