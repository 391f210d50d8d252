#!/usr/bin/env bash
# install.sh BUILD_FOLDER CC LIBDIR: installs to a folder of its own and uses what is
# there: the programs, the library by its .pc file, the specs, the pages, the completions.
set -euo pipefail
build=$1 cc=$2 libdir=$3
here=$(cd "$(dirname "$0")" && pwd)
top=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-install.XXXXXX")
trap 'rm -rf "$top"' EXIT
prefix=$top/prefix

fail() { printf 'install: %s\n' "$*" >&2; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$top/log" || fail "cmake --install"
list=$here/../data/installed
without=none
[[ -e $prefix/bin/cpuperf-srun ]] || without+='|slurm'
[[ -e $prefix/share/doc/cpuperf/manual ]] || without+='|mkdocs'
grep -q libcpuperf-agent-i386 "$build/cmake_install.cmake" || without+='|i386' # the compiler makes none
# A page of the manual for each of the source.
pages() { [[ $without == *mkdocs* ]] || (cd "$here/../../doc/manual" && printf 'share/doc/cpuperf/manual/%s.html\n' *.md | sed 's/\.md\.html$/.html/'); }
diff <({ pages; grep -v '^#' "$list"; } | grep -vP "\t($without)\$" | cut -f 1 | sed "s|^LIBDIR/|$libdir/|" | LC_ALL=C sort) \
	<(cd "$prefix" && find . \( -type f -o -type l \) -printf '%P\n' | LC_ALL=C sort) ||
	fail "what is installed (>) differs from tests/data/installed (<)"
grep -q "^ExecStart=$prefix/bin/cpuperf " "$prefix/lib/systemd/system/cpuperf@.service" ||
	fail "cpuperf@.service: $(grep ^ExecStart= "$prefix/lib/systemd/system/cpuperf@.service")"
# Moved: nothing else in it knows where it was, and nothing is left there.
mv "$prefix" "$top/moved"
prefix=$top/moved
# Only public names, so that ours cannot meet those of the program that links the library.
foreign=$(nm -g --defined-only "$prefix/$libdir/libcpuperf.a" |
	awk 'NF == 3 && $3 !~ /^cpuperf_/ { print $3 }' | head -n 5)
[[ -z $foreign ]] || fail "libcpuperf.a has global names that are not public: ${foreign//$'\n'/ }"
nm -g --defined-only "$prefix/$libdir/libcpuperf.a" | grep -q ' T cpuperf_read$' ||
	fail "libcpuperf.a lacks cpuperf_read"
# Both libraries offer what the headers declare, and nothing else.
declared=$(cat "$prefix"/include/cpuperf/*.h | tr '\n' ' ' | grep -oE 'CPUPERF_(PUBLIC|EAGER) [^;(]*\(' |
	grep -oE 'cpuperf_[a-z_0-9]+\($' | tr -d '(' | sort -u)
offered=$(nm -gD --defined-only "$prefix/$libdir/libcpuperf.so" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort -u)
archived=$(nm -g --defined-only "$prefix/$libdir/libcpuperf.a" | awk 'NF == 3 { print $3 }' | sort -u)
[[ $declared == "$offered" ]] ||
	fail "libcpuperf.so: $(diff <(echo "$declared") <(echo "$offered") | tr '\n' ' ')"
[[ $declared == "$archived" ]] ||
	fail "libcpuperf.a: $(diff <(echo "$declared") <(echo "$archived") | tr '\n' ' ')"
nm -gD --defined-only "$prefix/$libdir/libcpuperf.so" | awk '$2 == "T" && $3 !~ /@@CPUPERF_[0-9.]+$/ { bad = 1 } END { exit bad }' ||
	fail "libcpuperf.so: names without a version"
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

# An event of each group that works here, and what the agent measures of a program that runs already.
"$prefix/bin/cpuperf" --quiet --list-events --output-format=csv >"$top/events" || fail "--list-events"
for group in software misc heap resource sched latency; do
	works=
	# of an ordinary user, what works for his own programs: not all that happens in the kernel
	mapfile -t events < <(awk -F, -v group="$group" '$1 == group && /,true,|measuring whole CPUs/ { print $1 ":" $2 }' "$top/events")
	for event in "${events[@]}"; do
		"$prefix/bin/cpuperf" --quiet -e "$event" -o "$top/group" -- /bin/true >"$top/log" 2>&1 && works=1 && break
		grep -q 'happens in the kernel' "$top/log" || fail "$event: $(<"$top/log")"
	done
	[[ -n $works ]] || echo "skip: $group: no event of it works here"
	rm -rf "$top/group"
done
mkfifo "$top/in"
python3 -c '
import sys
print("ready", flush=True)
for line in sys.stdin: x = [bytearray(100000) for _ in range(200)]; print("done", flush=True)' \
	<"$top/in" >"$top/ready" &
exec 8>"$top/in"
until [[ -s $top/ready ]]; do sleep 0.01; done
"$prefix/bin/cpuperf" --verbose --pid=$! --attach -e heap:allocated -o "$top/attached" >"$top/log" 2>&1 8>&- &
until grep -q 'are rewritten' "$top/log"; do
	kill -0 $! 2>/dev/null || fail "--attach: $(<"$top/log")"
	sleep 0.01
done
echo x >&8
until [[ $(wc -l <"$top/ready") == 2 ]]; do sleep 0.01; done
exec 8>&-
wait $! || fail "--attach: $(<"$top/log")"
"$prefix/bin/cpuperf_print" --quiet "$top/attached" --output-format=csv >"$top/heap.csv" || fail "--attach: not read"
awk -F, '/allocated/ { for (i = 1; i <= NF; i++) found += $i >= 20000000 } END { exit !found }' "$top/heap.csv" ||
	fail "--attach: 20 MB are missing: $(<"$top/heap.csv")"

# A page of the navigator, and the manual.
"$prefix/bin/cpuperf_print" --quiet "$top/attached" --serve >"$top/url" 2>"$top/log" &
until [[ -s $top/url ]]; do
	kill -0 $! 2>/dev/null || fail "--serve: $(<"$top/log")"
	sleep 0.01
done
python3 -c '
import http.cookiejar, sys, urllib.request
open_ = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())).open
sys.exit(b"</html>" not in open_(sys.argv[1]).read())' "$(<"$top/url")" || fail "--serve: no page"
kill -INT $!
wait $! || fail "--serve: $(<"$top/log")"
for page in "$prefix"/share/man/man*/*; do
	mandoc -T lint -W error "$page" >"$top/log" || fail "$page: $(<"$top/log")"
done

# The plugin of Slurm finds its program where both are.
if [[ -e $prefix/$libdir/slurm/spank_cpuperf.so ]]; then
	"$cc" -rdynamic "$here/spank_host.c" -o "$top/spank_host" -ldl
	[[ $("$top/spank_host" "$prefix/$libdir/slurm/spank_cpuperf.so") -ef $prefix/bin/cpuperf-srun ]] ||
		fail "the plugin runs $("$top/spank_host" "$prefix/$libdir/slurm/spank_cpuperf.so")"
	[[ $("$top/spank_host" "$prefix/$libdir/slurm/spank_cpuperf.so" program=/x/y) == /x/y ]] || fail "the plugin ignores program="
fi

# Marks of other tools: the library that cpuperf finds beside itself, the headers by their .pc file.
library=$(realpath "$prefix/$libdir/libcpuperf_marks.so.1")
env -u INTEL_LIBITTNOTIFY64 "$prefix/bin/cpuperf" --regions -o - -- env >"$top/variables" || fail "--regions"
grep -qFx "INTEL_LIBITTNOTIFY64=$library" "$top/variables" || fail "the library of marks is not found"
# shellcheck disable=SC2046 # words
"$cc" "$here/guests_likwid.c" -o "$top/likwid" \
	$(PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig pkg-config --cflags cpuperf-compat) || fail "likwid-marker.h"

# Programs of strangers, with the public headers and the .pc file only.
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export LD_LIBRARY_PATH=$prefix/$libdir
flags=(-O1 -Wall -Wextra -Werror)
cxx=$(command -v g++ || command -v clang++ || true)

# build HOW PROGRAM COMPILER SOURCE...: shared; static, with the whole archive, so that a library
# that the .pc file forgets is found here; alone: nothing shared at all.
build() {
	local how=$1 program=$2 libs
	shift 2
	case $how in
	shared) libs=$(pkg-config --cflags --libs cpuperf) ;;
	static) libs="-Wl,--whole-archive $(pkg-config --static --cflags --libs cpuperf |
		sed 's/-lcpuperf/-Wl,-Bstatic & -Wl,-Bdynamic -Wl,--no-whole-archive/')" ;;
	alone) libs="-static $(pkg-config --static --cflags --libs cpuperf)" ;;
	esac
	# shellcheck disable=SC2086 # words
	"$@" "${flags[@]}" -o "$top/$program" $libs -pthread || fail "$program: does not link $how"
	[[ $how != shared ]] || readelf -d "$top/$program" | grep -q 'NEEDED.*libcpuperf\.so\.[0-9]' ||
		fail "$program: does not load libcpuperf.so"
	[[ $how == shared ]] || ! readelf -d "$top/$program" | grep -q 'NEEDED.*libcpuperf' ||
		fail "$program: loads libcpuperf.so"
}

ways=(shared static)
if # shellcheck disable=SC2046 # words
	echo 'int main(void) { return 0; }' | "$cc" -x c -static -o /dev/null - \
	$(pkg-config --static --libs cpuperf) 2>"$top/error"; then
	ways+=(alone)
else
	echo "skip: alone: a library has no static form: $(head -n 1 "$top/error")"
fi
cat >"$top/two.cpspec" <<SPEC
{"events": [{"group_name": "software", "event_name": "cpu_clock"},
            {"group_name": "misc", "event_name": "memory_used"}],
 "metrics": [{"name": "half", "expr": "{memory_used} / 2"}],
 "duration": 0, "num_iterations": 2, "output_path_prefix": "$top/two",
 "session_result_spec_path": "$top/two.cpsession"}
SPEC
for how in "${ways[@]}"; do
	build "$how" consumer "$cc" -std=c11 "$here/consumer.c"
	"$top/consumer" record "$top/two.cpspec" >"$top/recorded" ||
		fail "$how: the consumer does not record"
	"$top/consumer" read "$top/two.cpsession" >"$top/read" ||
		fail "$how: the consumer does not read"
	grep -q '^1 memory_used [1-9]' "$top/read" || fail "$how: no memory in use?"
	awk '$2 == "memory_used" { used = $3 }
		$2 == "half" { bad += 2 * $3 < used - 1 || 2 * $3 > used + 1 }
		END { exit !used || bad }' "$top/read" || fail "$how: the metric is not half"
	cmp "$top/recorded" "$top/read" || fail "$how: recorded and read differ"
	! "$top/consumer" read "$top/none.cpsession" 2>"$top/error" || fail "read what is not there"
	grep -q 'none.cpsession' "$top/error" || fail "the error does not name the file"

	build "$how" count_function "$cc" -std=c11 "$here/../../examples/count_function.c"
	"$top/count_function" >"$top/counted" || fail "$how: the example does not count"
	grep -qxE 'page_faults: 100 \((ok|usage)\)' "$top/counted" || fail "$how: the example counts $(cat "$top/counted")"

	[[ -n $cxx ]] || { echo "skip: C++: no compiler here" && continue; }
	build "$how" consumer_counts "$cxx" -std=c++17 "$here/consumer_counts.cpp"
	"$top/consumer_counts" >"$top/counted" || fail "$how: C++ does not count"
	[[ $(sed 's/ usage$/ ok/' "$top/counted") == "page_faults 200 ok"$'\n'"text 200 ok" ]] ||
		fail "$how: C++ counts $(cat "$top/counted")"
done
