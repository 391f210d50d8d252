/*
 * The same request is the same path, and the same arguments in the same order.
 */
#include "navigator/answers.h"

#include "base/mem.h"

#include <pthread.h>
#include <string.h>

enum { MAX_ANSWERS = 256, MAX_KEY_BYTES = 64 << 10 };

struct answer {
	struct buf key, text, faults;
	uint64_t used; /* the larger, the later */
};

struct answers {
	pthread_mutex_t lock; /* guards what follows */
	struct answer item[MAX_ANSWERS];
	size_t nr, nr_bytes, max_bytes;
	uint64_t nr_used;
};

struct answers *answers_new(size_t max_bytes)
{
	struct answers *a = mem_zalloc(sizeof(*a));

	if (!a)
		return NULL;
	pthread_mutex_init(&a->lock, NULL);
	a->max_bytes = max_bytes;
	return a;
}

static size_t bytes_of(const struct answer *x)
{
	return x->key.len + x->text.len + x->faults.len;
}

static void fini(struct answer *x)
{
	buf_fini(&x->key);
	buf_fini(&x->text);
	buf_fini(&x->faults);
}

void answers_free(struct answers *a)
{
	if (!a)
		return;
	while (a->nr)
		fini(&a->item[--a->nr]);
	pthread_mutex_destroy(&a->lock);
	mem_free(a);
}

/* No part of a request has a zero byte in it. */
static void put_key(struct buf *key, const struct http_request *r)
{
	buf_add(key, r->path, strlen(r->path) + 1);
	for (size_t i = 0; i < r->nr_arguments; i++) {
		buf_add(key, r->arguments[i].name, strlen(r->arguments[i].name) + 1);
		buf_add(key, r->arguments[i].value, strlen(r->arguments[i].value) + 1);
	}
}

static struct answer *find(struct answers *a, const struct buf *key)
{
	for (size_t i = 0; i < a->nr; i++) {
		struct answer *x = &a->item[i];

		if (x->key.len == key->len && memcmp(x->key.data, key->data, key->len) == 0)
			return x;
	}
	return NULL;
}

bool answers_find(struct answers *a, const struct http_request *r, struct buf *text,
		  struct buf *faults)
{
	BUF_AUTO(key, MAX_KEY_BYTES);
	struct answer *x;
	bool is_found;

	put_key(&key, r);
	if (buf_error(&key))
		return false;
	pthread_mutex_lock(&a->lock);
	x = find(a, &key);
	if (x) {
		x->used = ++a->nr_used;
		buf_add(text, buf_str(&x->text), x->text.len);
		buf_add(faults, buf_str(&x->faults), x->faults.len);
	}
	is_found = x && !buf_error(text) && !buf_error(faults);
	pthread_mutex_unlock(&a->lock);
	if (x && !is_found) {
		buf_reset(text);
		buf_reset(faults);
	}
	return is_found;
}

static void drop(struct answers *a, struct answer *x)
{
	a->nr_bytes -= bytes_of(x);
	fini(x);
	*x = a->item[--a->nr];
}

/* Makes room for one. */
static void drop_oldest(struct answers *a, size_t len)
{
	while (a->nr == MAX_ANSWERS || a->nr_bytes + len > a->max_bytes) {
		struct answer *oldest = &a->item[0];

		for (size_t i = 1; i < a->nr; i++)
			if (a->item[i].used < oldest->used)
				oldest = &a->item[i];
		drop(a, oldest);
	}
}

void answers_add(struct answers *a, const struct http_request *r, const struct buf *text,
		 const struct buf *faults)
{
	struct answer made = {.used = 0}, *before;

	buf_init(&made.key, MAX_KEY_BYTES);
	buf_init(&made.text, a->max_bytes);
	buf_init(&made.faults, a->max_bytes);
	put_key(&made.key, r);
	buf_add(&made.text, buf_str(text), text->len);
	buf_add(&made.faults, buf_str(faults), faults->len);
	if (buf_error(&made.key) || buf_error(&made.text) || buf_error(&made.faults) ||
	    bytes_of(&made) > a->max_bytes) {
		fini(&made);
		return;
	}
	pthread_mutex_lock(&a->lock);
	before = find(a, &made.key);
	if (before)
		drop(a, before);
	drop_oldest(a, bytes_of(&made));
	made.used = ++a->nr_used;
	a->item[a->nr++] = made;
	a->nr_bytes += bytes_of(&made);
	pthread_mutex_unlock(&a->lock);
}
