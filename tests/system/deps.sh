#!/usr/bin/env bash
# scripts/deps on machines that this one is not: each case is a PATH of its own that holds the
# tools of that machine, with a package manager that only writes down how it was called.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-deps.XXXXXX")
trap 'rm -rf "$work"' EXIT
failed=0

# machine NAME: a bin/ with what any Linux has, and nothing to build with.
machine() {
	bin=$work/$1/bin calls=$work/$1/calls
	mkdir -p "$bin"
	: >"$calls"
	local tool
	for tool in bash env dirname basename awk cut paste sort sed head tr cat nproc; do
		ln -sf "$(command -v $tool)" "$bin/$tool"
	done
}
# Never writes through a link of machine(): those lead to the real tools.
fake() {
	rm -f "$bin/$1"
	printf "#!%s\n%s\n" "$(command -v bash)" "$2" >"$bin/$1"
	chmod +x "$bin/$1"
}
user() { fake id "echo $1"; }
manager() { fake "$1" "echo $1 \"\$@\" >>'$calls'; ${2:-exit 0}"; }

# expect NAME CODE PATTERN [ARGUMENT...]: runs deps there; its output and the calls must match.
expect() {
	local name=$1 code=$2 pattern=$3 got=0 output
	shift 3
	output=$(env -u CC PATH="$bin" "$top/scripts/deps" "${@:-build}" 2>&1) || got=$?
	output+=$'\n'$(cat "$calls")
	if [[ $got != "$code" || ! $output =~ $pattern ]]; then
		printf 'FAILED %s: exit %s, wanted %s and /%s/\n%s\n' "$name" "$got" "$code" \
			"$pattern" "$output"
		failed=1
	else
		echo "ok $name"
	fi
}

machine none && user 0
expect "no package manager" 1 'missing: compiler,cmake.*no package manager'

machine nosudo && user 1000 && manager apt-get
expect "no sudo" 1 'no sudo here. As root: apt-get install'
[[ ! -s $calls ]] || { echo "FAILED no sudo: installed all the same" && failed=1; }

machine sudo && user 1000 && manager apt-get && fake sudo "echo sudo >>'$calls'; exec \"\$@\""
expect "sudo" 1 'still not found.*sudo.*apt-get install'

machine nocc && user 0 && manager apt-get
expect "asks for a compiler when there is none" 1 \
	'apt-get install -y -q --no-install-recommends cmake gcc'
# The first try worked, so the lists were not fetched.
if grep -q 'update' "$calls"; then echo "FAILED: needless update" && failed=1; fi

# shellcheck disable=SC2016 # expanded when it runs
machine newer && user 0 && manager apt-get && fake apt-cache 'case $2 in *-14) exit 100 ;; esac'
expect "another release of Debian" 1 \
	'apt-get install [^/]* clang-format clang-tidy cmake [^/]* zsh' test

machine stale && user 0
manager apt-get "[[ \$1 == update ]] && : >'$work/updated'; [[ -e '$work/updated' ]]"
expect "stale lists are fetched" 1 'apt-get update -q'
[[ $(grep -c update "$calls") == 1 ]] || { echo "FAILED: updated more than once" && failed=1; }

machine broken && user 0 && manager apt-get 'exit 100'
expect "a manager that fails" 1 'apt-get could not install: '

for row in 'dnf|libpfm-devel' 'pacman|libpfm' 'zypper|libjansson-devel'; do
	machine "${row%|*}" && user 0 && manager "${row%|*}"
	expect "${row%|*}" 1 "${row%|*} .*${row#*|}"
done

machine oldcmake && user 0 && manager apt-get && fake cmake 'echo cmake version 3.9.2'
expect "an old cmake" 1 'apt-get install.* cmake '
machine newcmake && user 0 && manager apt-get && fake cmake 'echo cmake version 3.100.0'
expect "a new cmake" 0 $'^(gcc libc6-dev\nninja-build\n)' build --print

# A package and what it needs, unpacked; nothing is installed, nor left beside it.
machine peers && user 0 && export HOME=$work/peers && unset XDG_CACHE_HOME
for tool in mkdir rm; do ln -sf "$(command -v $tool)" "$bin/$tool"; done
manager apt-get "case \"\$*\" in -s*) echo 'Inst prometheus (1 all)'; echo 'Inst libq (2 all)'; echo 'Conf libq (2 all)' ;;
download*|*download*) shift 2; for p; do : >\$p.deb; done ;; *) exit 9 ;; esac"
fake dpkg-deb "echo dpkg-deb \"\$@\" >>'$calls'; mkdir -p \$3/usr/bin; for p in prometheus promtool pminfo pmlogger pmrep sshd ssh-keygen slurmctld-wlm slurmd-wlm srun sinfo; do : >\$3/usr/bin/\$p; \
$(command -v chmod) +x \$3/usr/bin/\$p; done"
expect "peers" 0 'download prometheus libq.*dpkg-deb -x [^ ]*libq.deb .*dpkg-deb -x [^ ]*prometheus.deb ' peers
[[ $(ls "$HOME/.cache/cpuperf") == peers ]] || { echo "FAILED peers: leaves files" && failed=1; }
: >"$calls"
expect "peers that are there" 0 $'^\n$' peers

machine wrongcc
expect "usage" 2 'usage: ' nonsense

if env CC=no-such-compiler "$top/scripts/deps" build >/dev/null 2>&1; then
	echo "FAILED: CC that is not there" && failed=1
fi
exit $failed
