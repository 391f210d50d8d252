#!/bin/sh
# A page whose script makes, lays out and reads many boxes, without a screen: chromium.sh FOLDER
exec chromium --headless --no-sandbox --disable-gpu --user-data-dir="$1/chromium" --dump-dom \
	"file://$(dirname "$(readlink -f "$0")")/page.html"
