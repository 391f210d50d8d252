/*
 * They are few, and large: a list is searched.
 */
#include "navigator/answers.h"

#include "base/array.h"
#include "base/mem.h"

#include <pthread.h>
#include <string.h>

enum { MAX_ANSWERS = 256, MAX_KEY_BYTES = 64 << 10, PARTS = 4 };

struct answer {
	char *bytes; /* owned: the key, the text, what it is about, the faults */
	size_t key_len, text_len, about_len, faults_len;
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

void answers_free(struct answers *a)
{
	if (!a)
		return;
	while (a->nr)
		mem_free(a->item[--a->nr].bytes);
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
	for (size_t i = 0; i < a->nr && !buf_error(key); i++) {
		struct answer *x = &a->item[i];

		if (x->key_len == key->len && memcmp(x->bytes, key->data, key->len) == 0)
			return x;
	}
	return NULL;
}

bool answers_has(struct answers *a, const struct http_request *r)
{
	BUF_AUTO(key, MAX_KEY_BYTES);
	bool has;

	put_key(&key, r);
	pthread_mutex_lock(&a->lock);
	has = find(a, &key);
	pthread_mutex_unlock(&a->lock);
	return has;
}

static void reset(struct answers_parts *parts)
{
	buf_reset(&parts->text);
	buf_reset(&parts->about);
	buf_reset(&parts->faults);
}

void answers_parts_init(struct answers_parts *parts)
{
	buf_init(&parts->text, ANSWERS_MAX_BYTES);
	buf_init(&parts->about, ANSWERS_MAX_ABOUT_BYTES);
	buf_init(&parts->faults, ANSWERS_MAX_FAULTS * sizeof(struct err));
}

void answers_parts_fini(struct answers_parts *parts)
{
	buf_fini(&parts->text);
	buf_fini(&parts->about);
	buf_fini(&parts->faults);
}

bool answers_find(struct answers *a, const struct http_request *r, struct answers_parts *out)
{
	BUF_AUTO(key, MAX_KEY_BYTES);
	struct answer *x;
	const char *at;

	put_key(&key, r);
	pthread_mutex_lock(&a->lock);
	x = find(a, &key);
	if (x) {
		x->used = ++a->nr_used;
		at = x->bytes + x->key_len;
		buf_add(&out->text, at, x->text_len);
		buf_add(&out->about, at + x->text_len, x->about_len);
		buf_add(&out->faults, at + x->text_len + x->about_len, x->faults_len);
	}
	pthread_mutex_unlock(&a->lock);
	if (x && !buf_error(&out->text) && !buf_error(&out->about) && !buf_error(&out->faults))
		return true;
	reset(out);
	return false;
}

static size_t bytes_of(const struct answer *x)
{
	return x->key_len + x->text_len + x->about_len + x->faults_len;
}

static void drop(struct answers *a, struct answer *x)
{
	a->nr_bytes -= bytes_of(x);
	mem_free(x->bytes);
	*x = a->item[--a->nr];
}

static void make_room(struct answers *a, size_t len)
{
	while (a->nr == MAX_ANSWERS || a->nr_bytes + len > a->max_bytes) {
		struct answer *oldest = &a->item[0];

		for (size_t i = 1; i < a->nr; i++)
			if (a->item[i].used < oldest->used)
				oldest = &a->item[i];
		drop(a, oldest);
	}
}

static void copy(struct answer *x, const struct buf *key, const struct answers_parts *parts)
{
	const struct buf *const in_order[] = {key, &parts->text, &parts->about, &parts->faults};
	char *at = x->bytes;

	for (size_t i = 0; i < ARRAY_NR(in_order); i++) {
		memcpy(at, buf_str(in_order[i]), in_order[i]->len);
		at += in_order[i]->len;
	}
}

void answers_add(struct answers *a, const struct http_request *r, const struct answers_parts *parts)
{
	BUF_AUTO(key, MAX_KEY_BYTES);
	struct answer made, *before;

	put_key(&key, r);
	made = (struct answer){.key_len = key.len,
			       .text_len = parts->text.len,
			       .about_len = parts->about.len,
			       .faults_len = parts->faults.len};
	if (buf_error(&key) || bytes_of(&made) > a->max_bytes / PARTS)
		return;
	made.bytes = mem_alloc(bytes_of(&made));
	if (!made.bytes)
		return;
	copy(&made, &key, parts);
	pthread_mutex_lock(&a->lock);
	before = find(a, &key);
	if (before)
		drop(a, before);
	make_room(a, bytes_of(&made));
	made.used = ++a->nr_used;
	a->item[a->nr++] = made;
	a->nr_bytes += bytes_of(&made);
	pthread_mutex_unlock(&a->lock);
}
