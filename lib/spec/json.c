/*
 * jansson, in our own programs with base/mem.h as its heap.
 * jansson 2.14 (strbuffer.c, load.c) ignores a failure to grow the buffer of the current token, and
 * then asserts or reads beyond it. So the first allocation that fails is served from a reserve, and
 * the text ends for jansson. In another's process its heap is not ours to set: there the reserve is
 * allocated and freed before the text is parsed, so that the buffer can grow into it.
 */
#include "spec/json.h"

#include "base/arena.h"
#include "base/mem.h"
#include "spec/spec.h"

#include <errno.h>
#include <stdbool.h>

/* One parse of this thread. */
struct feed {
	const char *at, *end;
	void *reserve; /* owned; handed out at most once */
	size_t reserve_bytes;
	bool out_of_memory;
};
static _Thread_local struct feed *feed;
static bool is_on_our_heap; /* set before there are threads */

static void *alloc(size_t size)
{
	void *p = feed && feed->out_of_memory ? NULL : mem_alloc(size);

	if (p || !feed || feed->out_of_memory)
		return p;
	feed->out_of_memory = true;
	return size <= feed->reserve_bytes ? feed->reserve : NULL;
}

static void release(void *p)
{
	if (!feed || p != feed->reserve)
		mem_free(p);
}

void spec_use_own_heap(void)
{
	json_set_alloc_funcs(alloc, release);
	is_on_our_heap = true;
}

/* One byte at a time: after a failure, jansson's own buffer must be empty. */
static size_t next_byte(void *buffer, size_t size, void *arg)
{
	struct feed *f = arg;

	if (size == 0 || f->out_of_memory || f->at == f->end)
		return 0;
	*(char *)buffer = *f->at++;
	return 1;
}

static int parse(struct feed *f, size_t flags, json_t **out, json_error_t *error)
{
	json_t *root;

	feed = f;
	root = json_load_callback(next_byte, f, flags, error);
	if (f->out_of_memory) {
		json_decref(root);
		root = NULL;
	}
	feed = NULL;
	*out = root;
	return root ? 0 : f->out_of_memory ? -ENOMEM : -EINVAL;
}

static int load(const char *text, size_t len, size_t flags, json_t **out, json_error_t *error)
{
	/* the token buffer doubles from 16 bytes; a token is no longer than the text */
	struct feed f = {.at = text, .end = text + len, .reserve_bytes = 2 * len + 64};
	json_t *root;
	int rc;

	f.reserve = mem_alloc(f.reserve_bytes);
	if (!f.reserve)
		return -ENOMEM;
	if (!is_on_our_heap) {
		mem_free(f.reserve);
		f.reserve = NULL;
	}
	rc = parse(&f, flags, &root, error);
	mem_free(f.reserve);
	if (rc == 0)
		*out = root;
	return rc;
}

int json_parse(const char *text, size_t len, json_t **out, json_error_t *error)
{
	return load(text, len, 0, out, error);
}

int json_unescape(const char *quoted, size_t len, struct arena *arena, const char **out)
{
	json_error_t error;
	json_t *string = NULL;
	int rc = load(quoted, len, JSON_DECODE_ANY, &string, &error);
	const char *s;

	if (rc == -ENOMEM)
		return rc;
	if (rc == 0)
		s = arena_strndup(arena, json_string_value(string), json_string_length(string));
	else
		s = arena_strndup(arena, quoted, len);
	json_decref(string);
	if (!s)
		return -ENOMEM;
	*out = s;
	return 0;
}
