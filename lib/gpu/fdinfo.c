/*
 * Lines "key: value unit". A key begins with one of a table; what follows is the name of an engine
 * or of a region.
 */
#include "gpu/fdinfo.h"

#include "base/array.h"
#include "base/str.h"

#include <errno.h>
#include <string.h>

enum units { NO_UNIT, TIME, FREQUENCY, BYTES };

static const struct unit {
	enum units of;
	const char *name;
	uint64_t scale;
} units[] = {
    {NO_UNIT, "", 1},         {TIME, "ns", 1},
    {FREQUENCY, "", 1},       {FREQUENCY, "Hz", 1},
    {FREQUENCY, "KHz", 1000}, {FREQUENCY, "kHz", 1000},
    {BYTES, "", 1},           {FREQUENCY, "MHz", 1000000},
    {BYTES, "KiB", 1 << 10},  {BYTES, "MiB", 1 << 20},
    {BYTES, "GiB", 1 << 30},
};

/* The first that a key begins with. */
static const struct key {
	const char *prefix;
	bool is_region;
	uint8_t index;
	enum units units;
} keys[] = {
    {"drm-engine-capacity-", false, GPU_FDINFO_CAPACITY, NO_UNIT},
    {"drm-engine-", false, GPU_FDINFO_NS, TIME},
    {"drm-cycles-", false, GPU_FDINFO_CYCLES, NO_UNIT},
    {"drm-total-cycles-", false, GPU_FDINFO_TOTAL_CYCLES, NO_UNIT},
    {"drm-maxfreq-", false, GPU_FDINFO_MAX_HZ, FREQUENCY},
    {"drm-curfreq-", false, GPU_FDINFO_HZ, FREQUENCY},
    {"drm-resident-", true, GPU_FDINFO_RESIDENT, BYTES},
    {"drm-memory-", true, GPU_FDINFO_MEMORY, BYTES},
    {"drm-total-", true, GPU_FDINFO_TOTAL, BYTES},
    {"drm-shared-", true, GPU_FDINFO_SHARED, BYTES},
    {"drm-purgeable-", true, GPU_FDINFO_PURGEABLE, BYTES},
    {"drm-active-", true, GPU_FDINFO_ACTIVE, BYTES},
};

struct span {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void trim(struct span *s)
{
	while (s->at != s->end && is_blank(*s->at))
		s->at++;
	while (s->at != s->end && is_blank(s->end[-1]))
		s->end--;
}

static bool is(const struct span *s, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(s->end - s->at) == len && memcmp(s->at, text, len) == 0;
}

/* A name has neither blanks nor control characters. */
static int copy_name(const struct span *s, char out[GPU_FDINFO_NAME_BYTES])
{
	size_t len = (size_t)(s->end - s->at);

	if (!len || len >= GPU_FDINFO_NAME_BYTES)
		return -EINVAL;
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)s->at[i] <= ' ' || s->at[i] == 0x7f)
			return -EINVAL;
	memset(out, 0, GPU_FDINFO_NAME_BYTES);
	memcpy(out, s->at, len);
	return 0;
}

/* "1234 KiB"; the blank may be missing. */
static int parse_value(struct span value, enum units of, uint64_t *out)
{
	int rc = str_scan_u64(&value.at, value.end, out);
	const struct unit *unit;

	if (rc)
		return rc;
	trim(&value);
	unit = ARRAY_FIND(u, units, ARRAY_NR(units), u->of == of && is(&value, u->name));
	if (!unit)
		return -EINVAL;
	return __builtin_mul_overflow(*out, unit->scale, out) ? -ERANGE : 0;
}

static struct gpu_fdinfo_engine *engine_of(struct gpu_fdinfo *f, const char *name)
{
	struct gpu_fdinfo_engine *e =
	    ARRAY_FIND(x, f->engines, f->nr_engines, strcmp(x->name, name) == 0);

	if (!e && f->nr_engines < GPU_FDINFO_MAX_ENGINES) {
		e = &f->engines[f->nr_engines++];
		memcpy(e->name, name, sizeof(e->name));
	}
	return e;
}

static struct gpu_fdinfo_region *region_of(struct gpu_fdinfo *f, const char *name)
{
	struct gpu_fdinfo_region *r =
	    ARRAY_FIND(x, f->regions, f->nr_regions, strcmp(x->name, name) == 0);

	if (!r && f->nr_regions < GPU_FDINFO_MAX_REGIONS) {
		r = &f->regions[f->nr_regions++];
		memcpy(r->name, name, sizeof(r->name));
	}
	return r;
}

static int put(struct gpu_fdinfo *f, const struct key *key, const char *name, uint64_t value)
{
	struct gpu_fdinfo_region *region = key->is_region ? region_of(f, name) : NULL;
	struct gpu_fdinfo_engine *engine = key->is_region ? NULL : engine_of(f, name);

	if (region) {
		region->of[key->index] = value;
		region->has |= 1u << key->index;
	} else if (engine) {
		if (key->index == GPU_FDINFO_CAPACITY && (!value || value > UINT32_MAX))
			return -EINVAL;
		engine->of[key->index] = value;
		engine->has |= 1u << key->index;
	} else {
		return -E2BIG;
	}
	return 0;
}

static bool begins(const struct span *s, const char *prefix)
{
	size_t len = strlen(prefix);

	return (size_t)(s->end - s->at) >= len && memcmp(s->at, prefix, len) == 0;
}

static int parse_line(struct gpu_fdinfo *f, struct span key, struct span value)
{
	const struct key *k;
	char name[GPU_FDINFO_NAME_BYTES];
	uint64_t number;
	int rc;

	trim(&value);
	if (is(&key, "drm-driver"))
		return copy_name(&value, f->driver);
	if (is(&key, "drm-pdev"))
		return copy_name(&value, f->pdev);
	if (is(&key, "drm-client-id")) {
		f->has_client = true;
		return parse_value(value, NO_UNIT, &f->client);
	}
	k = ARRAY_FIND(x, keys, ARRAY_NR(keys), begins(&key, x->prefix));
	if (!k)
		return 0;
	key.at += strlen(k->prefix);
	rc = copy_name(&key, name) ?: parse_value(value, k->units, &number);
	return rc ? rc : put(f, k, name, number);
}

int gpu_fdinfo_parse(const char *text, size_t len, struct gpu_fdinfo *out)
{
	const char *line, *stop, *end = text + len;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	while (rc == 0 && (line = str_next_line(&text, end, &stop))) {
		const char *colon = memchr(line, ':', (size_t)(stop - line));

		if (colon)
			rc = parse_line(out, (struct span){line, colon},
					(struct span){colon + 1, stop});
	}
	for (size_t i = 0; i < out->nr_engines; i++)
		if (!(out->engines[i].has & 1u << GPU_FDINFO_CAPACITY))
			out->engines[i].of[GPU_FDINFO_CAPACITY] = 1;
	return rc ? rc : out->driver[0] && out->has_client ? 0 : -ENOENT;
}

/* ---- memory */

/* By what their names begin with; the first that fits. */
enum place { OWN, MACHINE, STOLEN, NEITHER };
static const struct {
	const char *prefix;
	enum place place;
} places[] = {
    {"vram", OWN},  /* amdgpu, nouveau, xe */
    {"local", OWN}, /* i915 */
    {"stolen-local", OWN}, {"stolen-system", MACHINE},
    {"stolen", STOLEN},  /* xe: of the memory of its own, if it has some */
    {"system", MACHINE}, /* i915, xe */
    {"gtt", MACHINE},    /* amdgpu, xe */
    {"cpu", MACHINE},    /* amdgpu */
    {"gart", MACHINE},   /* nouveau */
    {"memory", MACHINE}, /* ARM's, and others without memory of their own */
};

static enum place place_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_NR(places); i++)
		if (strncmp(name, places[i].prefix, strlen(places[i].prefix)) == 0)
			return places[i].place;
	return NEITHER;
}

static bool sum_memory(const struct gpu_fdinfo *f, enum place place, uint64_t *bytes)
{
	bool has_own = ARRAY_ANY(r, f->regions, f->nr_regions, place_of(r->name) == OWN);
	bool has_any = false;

	*bytes = 0;
	for (size_t i = 0; i < f->nr_regions; i++) {
		const struct gpu_fdinfo_region *r = &f->regions[i];
		enum place of = place_of(r->name);
		int which =
		    r->has & 1u << GPU_FDINFO_RESIDENT ? GPU_FDINFO_RESIDENT : GPU_FDINFO_MEMORY;

		if (of == STOLEN)
			of = has_own ? OWN : MACHINE;
		if (of != place || !(r->has & 1u << which))
			continue;
		has_any = true;
		if (__builtin_add_overflow(*bytes, r->of[which], bytes))
			*bytes = UINT64_MAX;
	}
	return has_any;
}

bool gpu_fdinfo_own_memory(const struct gpu_fdinfo *f, uint64_t *bytes)
{
	return sum_memory(f, OWN, bytes);
}

bool gpu_fdinfo_machine_memory(const struct gpu_fdinfo *f, uint64_t *bytes)
{
	return sum_memory(f, MACHINE, bytes);
}
