#!/usr/bin/env bash
# left_out.sh BUILD_FOLDER: what scripts/test --all leaves to other commits are tests of the kinds of which a part runs,
# and never what others need.
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"
build=$1
may=$(names_of_tests "$build" -FA . -L '^(system|sanitized|pmu)$' | sort)
failed=0
newest=$(git log --since='1 day ago' --name-only --format= -- 'tests/system/test_*' |
	sed -n 's|.*/test_\(.*\)\..*|system_\1|p' |
	awk 'NR == FNR { cost[$1] = $2; next } cost[$0] <= 40 && !n++ { sub(/system/, "sanitized"); print }' tests/costs.tsv -)
for seed in 0 31 62; do
	left=$(CPUPERF_TEST_SEED=$seed scripts/test-left-out "$build" | sort)
	for kind in system sanitized pmu; do
		grep -q "^${kind}_" <<<"$left" || { echo "FAILED seed $seed: of $kind all run" && failed=1; }
	done
	[[ -n $newest ]] && grep -qxF "$newest" <<<"$left" && echo "FAILED seed $seed: left out: $newest, which changed last" && failed=1
	other=$(comm -23 <(echo "$left") <(echo "$may"))
	[[ -z $other ]] || { echo "FAILED seed $seed: left out: $other" && failed=1; }
done
exit $failed
