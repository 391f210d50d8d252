#!/usr/bin/env bash
# install.sh BUILD_FOLDER CC SANITIZERS LIBDIR: installs to a folder of its own and uses what is
# there: the programs, the library by its .pc file, the specs, the pages, the completions.
set -euo pipefail
build=$1 cc=$2 sanitizers=$3 libdir=$4
here=$(cd "$(dirname "$0")" && pwd)
top=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-install.XXXXXX")
trap 'rm -rf "$top"' EXIT
prefix=$top/prefix

fail() { printf 'install: %s\n' "$*" >&2; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$top/log" || fail "cmake --install"
for file in bin/cpuperf bin/cpuperf_print "$libdir/libcpuperf.a" "$libdir/pkgconfig/cpuperf.pc" \
	share/man/man1/cpuperf.1 share/man/man1/cpuperf_print.1 share/man/man5/cpspec.5 \
	share/cpuperf/specs/basic.cpspec share/cpuperf/schemas/cpspec.schema.json \
	share/cpuperf/python/cpuperf.py share/cpuperf/fortran/likwid.f90 \
	share/cpuperf/schemas/cpsession.schema.json share/cpuperf/schemas/trace-format.md \
	share/bash-completion/completions/cpuperf share/bash-completion/completions/cpuperf_print \
	share/zsh/site-functions/_cpuperf share/zsh/site-functions/_cpuperf_print; do
	[[ -s $prefix/$file ]] || fail "$file was not installed"
done
# Only public names, so that ours cannot meet those of the program that links the library.
foreign=$(nm -g --defined-only "$prefix/$libdir/libcpuperf.a" |
	awk 'NF == 3 && $3 !~ /^cpuperf_/ { print $3 }' | head -n 5)
[[ -z $foreign ]] || fail "libcpuperf.a has global names that are not public: ${foreign//$'\n'/ }"
nm -g --defined-only "$prefix/$libdir/libcpuperf.a" | grep -q ' T cpuperf_read$' ||
	fail "libcpuperf.a lacks cpuperf_read"
[[ ! -e $prefix/bin/cpuperf_generate ]] || fail "a developer's tool was installed"

# Complete as bash would: the file loads and offers an option.
bash -c ". '$prefix/share/bash-completion/completions/cpuperf'
	COMP_WORDS=(cpuperf --spec-f) COMP_CWORD=1
	compopt() { :; }
	\$(complete -p cpuperf | sed 's/.*-F \([^ ]*\).*/\1/')
	[[ \${COMPREPLY[*]} == --spec-file* ]]" || fail "bash completion offers no --spec-file"

# From a folder that has nothing of ours: the spec is found by name, the session is read back.
cd "$top"
for program in cpuperf cpuperf_print; do
	"$prefix/bin/$program" --version | grep -q '[0-9]\.[0-9]' || fail "$program --version"
	"$prefix/bin/$program" --help | grep -q -- --output-format || fail "$program --help"
done
env -u CPUPERF_SPEC_PATH "$prefix/bin/cpuperf" --spec-file=basic.cpspec \
	--num-iterations=1 --duration=100ms --output-path-prefix="$top/out" \
	--session-result-spec-path="$top/out.cpsession" || fail "cpuperf does not measure"
"$prefix/bin/cpuperf_print" --session="$top/out.cpsession" || fail "cpuperf_print does not read"

# Marks of other tools: the library that cpuperf finds beside itself, the headers by their .pc file.
library=$(realpath "$prefix/$libdir/libcpuperf_marks.so.1")
env -u INTEL_LIBITTNOTIFY64 "$prefix/bin/cpuperf" --regions -o - -- env >"$top/variables" || fail "--regions"
grep -qFx "INTEL_LIBITTNOTIFY64=$library" "$top/variables" || fail "the library of marks is not found"
# shellcheck disable=SC2046 # words
"$cc" "$here/guests_likwid.c" -o "$top/likwid" \
	$(PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --cflags cpuperf-compat) || fail "likwid-marker.h"

# A stranger's program, with the public header and the .pc file only. The whole archive, so that
# a library that the .pc file forgets is found here.
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
# shellcheck disable=SC2046 # words
"$cc" -std=c11 -Wall -Wextra -Werror ${sanitizers:+-fsanitize=$sanitizers} \
	"$here/consumer.c" -o "$top/consumer" -Wl,--whole-archive \
	$(pkg-config --static --cflags --libs cpuperf | sed 's/-lcpuperf/& -Wl,--no-whole-archive/')
cat >"$top/two.cpspec" <<SPEC
{"events": [{"group_name": "software", "event_name": "cpu_clock"},
            {"group_name": "misc", "event_name": "memory_used"}],
 "metrics": [{"name": "half", "expr": "{memory_used} / 2"}],
 "duration": 0, "num_iterations": 2, "output_path_prefix": "$top/two",
 "session_result_spec_path": "$top/two.cpsession"}
SPEC
"$top/consumer" record "$top/two.cpspec" >"$top/recorded" || fail "the consumer does not record"
"$top/consumer" read "$top/two.cpsession" >"$top/read" || fail "the consumer does not read"
grep -q '^1 memory_used [1-9]' "$top/read" || fail "no memory in use?"
awk '$2 == "memory_used" { used = $3 } $2 == "half" { bad += 2 * $3 < used - 1 || 2 * $3 > used + 1 }
	END { exit !used || bad }' "$top/read" || fail "the metric is not half of the memory in use"
cmp "$top/recorded" "$top/read" || fail "recorded and read differ"
! "$top/consumer" read "$top/none.cpsession" 2>"$top/error" || fail "read what is not there"
grep -q 'none.cpsession' "$top/error" || fail "the error does not name the file"
