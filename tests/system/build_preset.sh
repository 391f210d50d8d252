#!/usr/bin/env bash
# build_preset.sh PRESET FOLDER: builds the tree by a preset, and what system tests run of it.
# shellcheck source-path=SCRIPTDIR source=../../scripts/common.sh
. "$(dirname "$0")/../../scripts/common.sh"
build "$1" "$2" all tested
