/*
 * What the tests of the sources of many share: a source opened in a tree and asked, and the file
 * system of a kernel: what was removed is ENODEV, what is hidden is denied. Only for tests.
 */
#ifndef TEST_COLLECT_MANY_H
#define TEST_COLLECT_MANY_H

#include "kit.h"

#include "base/buf.h"
#include "things/many.h"

#include <sys/stat.h>

enum { MANY_MAX_WORDS = 8 };

struct many {
	const struct things_source *source;
	char text[256];
	const char *words[MANY_MAX_WORDS];
	struct things_choice choice;
	void *state;
	struct err e;
};

/* words: separated by spaces; "": none. */
static inline int many_try_open(struct many *m, const struct things_source *source,
				const struct root *r, const char *words, uint32_t wanted)
{
	memset(m, 0, sizeof(*m));
	m->source = source;
	snprintf(m->text, sizeof(m->text), "%s", words);
	for (char *rest = m->text, *w; (w = strsep(&rest, " "));)
		if (*words)
			m->words[m->choice.nr++] = w;
	m->choice.words = m->words;
	return source->open(r, &m->choice, wanted, &m->state, &m->e);
}

static inline void many_open(struct many *m, const struct things_source *source,
			     const struct root *r, const char *words, uint32_t wanted)
{
	if (many_try_open(m, source, r, words, wanted))
		fail_msg("%s", m->e.msg);
	assert_int_equal(source->nr(m->state), 0); /* nothing is read yet */
}

static inline void many_read(struct many *m)
{
	assert_int_equal(m->source->read(m->state), 0);
}

static inline void many_close(struct many *m)
{
	m->source->close(m->state);
}

/* The thing of that name, or false. */
static inline bool many_find(const struct many *m, const char *name, struct things_one *out)
{
	for (size_t i = 0; i < m->source->nr(m->state); i++) {
		m->source->get(m->state, i, out);
		if (strcmp(out->name, name) == 0)
			return true;
	}
	return false;
}

/* The same; it must be there. */
static inline struct things_one many_get(const struct many *m, const char *name)
{
	static const uint64_t none[THINGS_MAX_FIELDS];
	struct things_one t = {.values = none};

	if (!many_find(m, name, &t))
		fail_msg("no %s", name);
	return t;
}

/* Which fields a thing has, and of which it says why not. */
static inline void many_expect_fields(const struct many *m, const char *name, uint32_t has,
				      uint32_t denied, uint32_t absent, uint32_t failed)
{
	struct things_one t = many_get(m, name);

	assert_int_equal(t.has, has);
	assert_int_equal(t.denied, denied);
	assert_int_equal(t.absent, absent);
	assert_int_equal(t.failed, failed);
}

/* The things as "number name" and, of each field that it has, " field=value", a line each. */
static inline void many_print(const struct many *m, struct buf *out)
{
	buf_reset(out);
	for (size_t i = 0; i < m->source->nr(m->state); i++) {
		struct things_one t;

		m->source->get(m->state, i, &t);
		assert_true(t.time_ns != 0);
		buf_printf(out, "%u %s", t.number, t.name);
		for (unsigned f = 0; f < 32; f++)
			if (t.has & 1u << f)
				buf_printf(out, " %u=%llu", f, (unsigned long long)t.values[f]);
		buf_addc(out, '\n');
	}
}

static inline void many_expect(const struct many *m, const char *what)
{
	struct buf b;

	buf_init(&b, 1 << 20);
	many_print(m, &b);
	assert_string_equal(buf_str(&b), what);
	buf_fini(&b);
}

/* The next note holds the text; NULL: there is none. */
static inline void many_expect_note(struct many *m, const char *text)
{
	const char *note = m->source->note(m->state);

	if (note)
		print_message("note: %s\n", note);
	if (!text)
		assert_null(note);
	else
		assert_true(note && strstr(note, text));
}

/* A kernel's files, and what it was asked. */
static struct kernel {
	const char *denied; /* paths that hold this cannot be opened */
	int error;          /* … with this -errno */
	unsigned nr_opens, nr_preads;
} kernel;

static inline int kernel_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	kernel.nr_opens++;
	if (kernel.denied && strstr(path, kernel.denied))
		return kernel.error;
	return sys_kernel_ops.openat(dirfd, path, flags, mode);
}

static inline ssize_t kernel_pread(int fd, void *buf, size_t len, off_t at)
{
	struct stat st;

	kernel.nr_preads++;
	assert_int_equal(fstat(fd, &st), 0);
	return st.st_nlink ? sys_kernel_ops.pread(fd, buf, len, at) : -ENODEV;
}

static inline void kernel_start(const char *denied, int error)
{
	static struct sys_ops ops;

	ops = sys_kernel_ops;
	ops.openat = kernel_openat;
	ops.pread = kernel_pread;
	kernel = (struct kernel){.denied = denied, .error = error};
	sys_set_ops(&ops);
}

static inline void kernel_stop(void)
{
	sys_set_ops(NULL);
}

/* Text at the very end of an allocation, so that ASan sees a byte too far; free it. */
static inline char *many_exact(const char *text, size_t len)
{
	return memcpy(malloc(len ? len : 1), text, len);
}

#endif
