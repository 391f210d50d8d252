/*
 * The text of the key windows.
 */
#include "base/str.h"
#include "spec/diag.h"
#include "spec/spec.h"

#include <errno.h>
#include <string.h>

enum { MAX_CYCLES = 1000000 };
static const uint64_t NS_PER_MS = 1000000, MAX_NS = 31536000ull * 1000000000;

static int set_clock(const char *text, struct spec_window *out)
{
	static const char *const names[] = {"realtime", "process_cputime"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(text, names[i]) == 0) {
			out->clock = (enum spec_clock)i;
			return 0;
		}
	return -EINVAL;
}

static int set_delay(const char *text, struct spec_window *out)
{
	return str_parse_duration_ns(text, &out->delay_ns) || out->delay_ns > MAX_NS ? -EINVAL : 0;
}

static int set_capture(const char *text, struct spec_window *out)
{
	return str_parse_duration_ns(text, &out->capture_ns) || out->capture_ns < NS_PER_MS ||
		       out->capture_ns > MAX_NS
		   ? -EINVAL
		   : 0;
}

static int set_cycles(const char *text, struct spec_window *out)
{
	return str_parse_u64(text, &out->cycles) || !out->cycles || out->cycles > MAX_CYCLES
		   ? -EINVAL
		   : 0;
}

static const struct {
	int (*set)(const char *text, struct spec_window *out);
	const char *wanted;
} parts[] = {
    {set_clock, "a clock: realtime or process_cputime"},
    {set_delay, "a delay: a time of at most a year"},
    {set_capture, "a capture: a time from 1 ms to a year"},
    {set_cycles, "a number of cycles: from 1 to 1000000"},
};
enum { NR_PARTS = sizeof(parts) / sizeof(parts[0]) };

/* A window of len bytes. */
static int read_window(const char *text, size_t len, struct spec_window *out, struct err *e)
{
	const char *at = text, *end = text + len;

	for (unsigned i = 0; i < NR_PARTS; i++) {
		const char *colon = memchr(at, ':', (size_t)(end - at));
		const char *stop = colon ? colon : end;
		char part[32];

		if (!colon != (i == NR_PARTS - 1)) {
			err_set(e, -EINVAL, "windows: \"%.*s\" has not four parts", (int)len, text);
			return -EINVAL;
		}
		if ((size_t)(stop - at) < sizeof(part)) {
			memcpy(part, at, (size_t)(stop - at));
			part[stop - at] = 0;
		}
		if ((size_t)(stop - at) >= sizeof(part) || parts[i].set(part, out))
			return err_set(e, -EINVAL, "windows: \"%.*s\" is not %s", (int)(stop - at),
				       at, parts[i].wanted);
		at = stop + 1;
	}
	return 0;
}

int spec_windows(const struct spec *s, struct spec_window out[SPEC_MAX_WINDOWS], struct err *e)
{
	const char *at = s->windows;
	int nr = 0, rc = 0;

	while (*s->windows && rc == 0) {
		size_t len = strcspn(at, ",");

		rc = nr < SPEC_MAX_WINDOWS
			 ? read_window(at, len, &out[nr++], e)
			 : err_set(e, -EINVAL, "windows: more than %d", SPEC_MAX_WINDOWS);
		at += len;
		if (!*at++)
			break;
	}
	if (rc)
		err_hint(e, "clock:delay:capture:cycles, as in realtime:10:1:5");
	return rc ? rc : nr;
}
