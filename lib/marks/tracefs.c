#include "marks/tracefs.h"

#include "base/clock.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/str.h"
#include "base/sys.h"
#include "proc/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	PATH_BYTES = 512,
	NAME_BYTES = 256,
	LINE_BYTES = NAME_BYTES + 96,
	MAX_SLICES = 1 << 14,
	DEPTH_BITS = 7,
	LOOK_NS = 100000000, /* how often tracing_on is read */
	NS_PER_S = 1000000000,
};

struct slice {
	struct tracefs_slice key;
	char name[NAME_BYTES]; /* "": it is not open */
};

struct tracefs {
	char folder[PATH_BYTES];      /* of the buffer */
	const struct root *root;      /* borrowed */
	char switch_path[PATH_BYTES]; /* of tracing_on, below the root */
	bool is_global, is_off;
	atomic_bool is_paused;
	int fd;
	pthread_mutex_t lock; /* of all below */
	uint64_t second_ns, looked_ns;
	unsigned nr_written, limit; /* in that second */
	uint64_t nr_dropped;
	struct dict slices; /* struct slice */
};

static const char PREFIX[] = "cpuperf-";

static int write_line(const struct tracefs *t, const char *line, size_t len)
{
	ssize_t n = sys()->write(t->fd, line, len);

	return n < 0 ? (int)n : 0;
}

static bool is_tracing_off(struct tracefs *t, uint64_t now_ns)
{
	uint64_t is_on = 1;

	if (t->looked_ns && now_ns - t->looked_ns < LOOK_NS)
		return t->is_off;
	t->looked_ns = now_ns;
	t->is_off = root_load_u64(t->root, t->switch_path, &is_on) == 0 && !is_on;
	return t->is_off;
}

/* True: so many lines may be written now. A lock is held. */
static bool may_write(struct tracefs *t, unsigned nr)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns - t->second_ns >= NS_PER_S) {
		t->second_ns = now_ns;
		t->nr_written = 0;
	}
	if (atomic_load(&t->is_paused) || is_tracing_off(t, now_ns))
		return false;
	if (t->nr_written + nr > t->limit) {
		t->nr_dropped += nr;
		return false;
	}
	t->nr_written += nr;
	return true;
}

/* Without what ends a field or the line. */
static void copy_name(char to[NAME_BYTES], const char *name)
{
	snprintf(to, NAME_BYTES, "%s", name);
	for (char *c = to; *c; c++)
		if (*c == '|' || (unsigned char)*c < ' ')
			*c = '?';
}

__attribute__((format(printf, 2, 3))) static void put(struct tracefs *t, const char *format, ...)
{
	char line[LINE_BYTES];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(line) || write_line(t, line, (size_t)len))
		t->nr_dropped++;
}

void tracefs_counter(struct tracefs *t, uint32_t pid, const char *name, double value)
{
	char clean[NAME_BYTES];

	copy_name(clean, name);
	pthread_mutex_lock(&t->lock);
	if (isfinite(value) && may_write(t, 1))
		put(t, value == rint(value) && fabs(value) < 1e15 ? "C|%u|%s|%.0f" : "C|%u|%s|%.6f",
		    pid, clean, value);
	pthread_mutex_unlock(&t->lock);
}

void tracefs_instant(struct tracefs *t, uint32_t pid, const char *name)
{
	char clean[NAME_BYTES];

	copy_name(clean, name);
	pthread_mutex_lock(&t->lock);
	if (may_write(t, 1))
		put(t, "I|%u|%s", pid, clean);
	pthread_mutex_unlock(&t->lock);
}

/* Unique among the open slices of a process. */
static uint32_t cookie_of(const struct tracefs_slice *s)
{
	return s->tid << DEPTH_BITS | (s->depth & ((1u << DEPTH_BITS) - 1));
}

/* A lock is held. */
static void end_slice(struct tracefs *t, struct slice *s)
{
	if (*s->name)
		put(t, "F|%u|%s|%u", s->key.pid, s->name, cookie_of(&s->key));
	*s->name = '\0';
}

void tracefs_begin(struct tracefs *t, const struct tracefs_slice *key, const char *name)
{
	struct slice *s;

	pthread_mutex_lock(&t->lock);
	s = dict_get(&t->slices, key);
	if (s)
		end_slice(t, s);
	if (!s)
		t->nr_dropped += 2;
	else if (may_write(t, 2)) { /* with its end */
		copy_name(s->name, *name ? name : "?");
		put(t, "S|%u|%s|%u", key->pid, s->name, cookie_of(key));
	}
	pthread_mutex_unlock(&t->lock);
}

void tracefs_end(struct tracefs *t, const struct tracefs_slice *key)
{
	struct slice *s;

	pthread_mutex_lock(&t->lock);
	s = dict_at(&t->slices, dict_find(&t->slices, key));
	if (s)
		end_slice(t, s);
	pthread_mutex_unlock(&t->lock);
}

void tracefs_pause(struct tracefs *t, bool is_paused)
{
	atomic_store(&t->is_paused, is_paused);
}

uint64_t tracefs_nr_dropped(const struct tracefs *t)
{
	return t->nr_dropped;
}

/* --- the instance ---------------------------------------------------------------------------- */

/* For root_each. The kernel keeps one that is open, also where its process is of another PID
 * namespace. */
static int remove_old(const char *name, void *arg)
{
	const struct tracefs *t = arg;
	char path[PATH_BYTES + NAME_BYTES];
	uint64_t pid;

	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0 ||
	    str_parse_u64(name + sizeof(PREFIX) - 1, &pid))
		return 0;
	if (pid <= UINT32_MAX && proc_is_there(PROC(t->root, (uint32_t)pid)))
		return 0;
	snprintf(path, sizeof(path), "%s/instances/%s", t->folder, name);
	(void)sys()->unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
	return 0;
}

/* tracefs, below the root; NULL: there is none. */
static const char *find_folder(const struct root *root)
{
	static const char *const places[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	char path[PATH_BYTES];
	struct stat st;

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(path, sizeof(path), "%s%s/trace_marker", root->dir, places[i]);
		if (sys()->fstatat(AT_FDCWD, path, &st, 0) != -ENOENT)
			return places[i];
	}
	return NULL;
}

/* The times of the session's files and of other programs that use CLOCK_MONOTONIC. */
static void set_clock(const struct tracefs *t)
{
	char path[PATH_BYTES + NAME_BYTES];
	int fd;

	snprintf(path, sizeof(path), "%s/trace_clock", t->folder);
	fd = sys()->openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sys()->write(fd, "mono", 4); /* else it has the clock of the tracer */
	sys()->close(fd);
}

static int make_instance(struct tracefs *t, const char *place)
{
	char path[PATH_BYTES];
	int rc;

	snprintf(path, sizeof(path), "%s/instances", place);
	(void)root_each(t->root, path, remove_old, t);
	snprintf(path, sizeof(path), "%s%s/instances/%s%d", t->root->dir, place, PREFIX, getpid());
	rc = sys()->mkdirat(AT_FDCWD, path, 0700);
	if (rc && rc != -EEXIST) /* of an earlier process of that number */
		return rc;
	snprintf(t->folder, sizeof(t->folder), "%s", path);
	snprintf(t->switch_path, sizeof(t->switch_path), "%s/instances/%s%d/tracing_on", place,
		 PREFIX, getpid());
	set_clock(t);
	return 0;
}

static int open_marker(struct tracefs *t, const char *place)
{
	char path[PATH_BYTES + NAME_BYTES];
	int rc;

	snprintf(t->folder, sizeof(t->folder), "%s%s", t->root->dir, place);
	snprintf(t->switch_path, sizeof(t->switch_path), "%s/tracing_on", place);
	rc = t->is_global ? 0 : make_instance(t, place);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), "%s/trace_marker", t->folder);
	t->fd = sys()->openat(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
	return t->fd < 0 ? t->fd : 0;
}

int tracefs_open(const struct root *root, bool is_global, struct tracefs **out, struct err *e)
{
	const char *place = find_folder(root);
	struct tracefs *t = mem_zalloc(sizeof(*t));
	int rc = t ? -ENOENT : -ENOMEM;

	if (t) {
		t->root = root;
		t->is_global = is_global;
		t->fd = -1;
		t->limit = is_global ? TRACEFS_GLOBAL_LIMIT : TRACEFS_LIMIT;
		pthread_mutex_init(&t->lock, NULL);
		dict_init(&t->slices, sizeof(struct slice), sizeof(struct tracefs_slice),
			  MAX_SLICES);
		rc = place ? open_marker(t, place) : rc;
	}
	if (rc == 0) {
		*out = t;
		return 0;
	}
	err_set(e, rc, "--trace-marker: not supported: %s: %s",
		place ? place : "/sys/kernel/tracing",
		place ? strerror(-rc) : "tracefs is not mounted");
	if (!place)
		err_hint(e, "mount -t tracefs tracefs /sys/kernel/tracing");
	else if (rc == -EACCES || rc == -EPERM)
		err_hint(e, "run cpuperf as root");
	tracefs_close(t);
	return rc;
}

void tracefs_close(struct tracefs *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < t->slices.nr; i++)
		end_slice(t, dict_at(&t->slices, i));
	if (t->fd >= 0)
		sys()->close(t->fd);
	if (!t->is_global && strstr(t->folder, PREFIX))
		(void)sys()->unlinkat(AT_FDCWD, t->folder, AT_REMOVEDIR);
	dict_fini(&t->slices);
	pthread_mutex_destroy(&t->lock);
	mem_free(t);
}
