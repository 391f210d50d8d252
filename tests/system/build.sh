#!/usr/bin/env bash
# build of scripts/common.sh on machines that this one is not: a tree of its own, a PATH of its
# own, and what a folder remembers from an earlier try.
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/cpuperf-build.XXXXXX")
trap 'rm -rf "$work"' EXIT
unset CMAKE_GENERATOR
failed=0

mkdir -p "$work"/{bin,later,tree/scripts}
for tool in bash env dirname basename awk sed cat tee grep rm mkdir nproc cmake; do
	ln -s "$(command -v $tool)" "$work/bin/$tool"
done
for tool in ninja make; do
	! command -v $tool >/dev/null || ln -s "$(command -v $tool)" "$work/later/$tool"
done
[[ -e $work/later/ninja ]] || { echo "skip: no ninja here" && exit 77; }
cp "$top/scripts/common.sh" "$work/tree/scripts/"
cat >"$work/tree/CMakePresets.json" <<'END'
{"version": 3, "configurePresets": [{"name": "plain", "binaryDir": "${sourceDir}/build"}]}
END
cat >"$work/tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.21)
project(plain NONE)
find_file(NEEDED needed PATHS "$ENV{NEEDED_IN}" NO_DEFAULT_PATH)
add_custom_target(made ALL)
END
# The programs named first are there from the start, those named second once deps has run.
cat >"$work/tree/scripts/make" <<END
#!/usr/bin/env bash
PATH=$work/bin:\$1 && export PATH
. "\$(dirname "\$0")/common.sh"
PATH=$work/bin:\$2
build plain "\$PWD/build"
END
chmod +x "$work/tree/scripts/make"

# expect NAME CODE GENERATOR BEFORE AFTER: builds, and looks at what the folder was made with.
expect() {
	local got=0 generator
	"$work/tree/scripts/make" "$4" "$5" >"$work/log" 2>&1 || got=$?
	generator=$(sed -n 's/^CMAKE_GENERATOR:INTERNAL=//p' "$work/tree/build/CMakeCache.txt" 2>/dev/null) ||
		generator=none
	if [[ $got != "$2" || $generator != "$3" ]]; then
		printf 'FAILED %s: exit %s, generator %s; wanted %s, %s\n' "$1" "$got" "$generator" "$2" "$3"
		cat "$work/log"
		failed=1
	else
		echo "ok $1"
	fi
}
later=$work/later

expect "neither ninja nor make: nothing is kept" 1 none "" ""
expect "the second try, after one that failed" 0 Ninja "$later" "$later"
rm -r "$work/tree/build"
expect "ninja comes with deps" 0 Ninja "" "$later"
mv "$work/tree" "$work/away" && cp -r "$work/away" "$work/tree"
expect "a folder copied with its tree" 0 Ninja "$later" "$later"
echo 'message(FATAL_ERROR "broken")' >>"$work/tree/CMakeLists.txt"
expect "a mistake in a tree that was configured costs nothing" 1 Ninja "$later" "$later"
sed -i '$d' "$work/tree/CMakeLists.txt"
mkdir "$work/one" "$work/two" && : >"$work/one/needed" && cp "$work/one/needed" "$work/two/needed"
NEEDED_IN=$work/one expect "a file found" 0 Ninja "$later" "$later"
rm "$work/one/needed"
NEEDED_IN=$work/two expect "a file found that is gone" 0 Ninja "$later" "$later"
grep -q "^NEEDED:FILEPATH=$work/two/" "$work/tree/build/CMakeCache.txt" ||
	{ echo "FAILED: a file that is gone is still believed in" && failed=1; }
# As a configuration that failed under an older version of the scripts left it.
rm "$work/tree/build/build.ninja"
sed -i 's/^\(CMAKE_GENERATOR:INTERNAL=\).*/\1Unix Makefiles/' "$work/tree/build/CMakeCache.txt"
expect "a broken folder" 0 Ninja "$later" "$later"
exit $failed
