/*
 * Lists take turns, a row each, until there is no room: each shows its first rows, whatever the
 * others have.
 */
#include "answer.h"

#include "base/json_writer.h"
#include "base/mem.h"
#include "conclusion.h"
#include "next.h"
#include "options.h"
#include "screen/document.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_LIST_BYTES = 16 << 20,
	MAX_FACTS_BYTES = 64 << 10,
	MAX_SENTENCE_BYTES = 1024,
	FRAME_BYTES = 48, /* what stands around the rows of a list, besides its name */
};

struct answer *answer_new(void)
{
	struct answer *a = mem_zalloc(sizeof(*a));

	if (a)
		buf_init(&a->facts, MAX_FACTS_BYTES);
	return a;
}

void answer_free(struct answer *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->nr; i++) {
		buf_fini(&a->list[i].lines);
		buf_fini(&a->list[i].columns);
	}
	buf_fini(&a->facts);
	mem_free(a);
}

struct answer_list *answer_add(struct answer *a, const char *name, bool is_table)
{
	struct answer_list *l = &a->list[a->nr < ANSWER_MAX_LISTS ? a->nr++ : a->nr - 1];

	buf_fini(&l->lines);
	buf_fini(&l->columns);
	*l = (struct answer_list){.name = name, .is_table = is_table};
	buf_init(&l->lines, MAX_LIST_BYTES);
	buf_init(&l->columns, MAX_LIST_BYTES);
	return l;
}

/* --- which rows ------------------------------------------------------------------------------ */

static bool is_whole(const struct answer_list *l)
{
	return l->shown_bytes == l->lines.len;
}

/* The next line with its newline; its columns come with the first. */
static size_t next_bytes(const struct answer_list *l)
{
	const char *at = buf_str(&l->lines) + l->shown_bytes, *end = strchr(at, '\n');
	const size_t line = end ? (size_t)(end - at) + 1 : strlen(at);

	return line + 1 + (l->nr_shown ? 0 : l->columns.len);
}

static bool add_row(struct answer_list *l, size_t *room)
{
	const size_t bytes = next_bytes(l), columns = l->nr_shown ? 0 : l->columns.len;

	if (bytes > *room)
		return false;
	*room -= bytes;
	l->shown_bytes += bytes - columns - 1;
	l->nr_shown++;
	return true;
}

static void choose_rows(struct answer *a, size_t room)
{
	bool is_full[ANSWER_MAX_LISTS] = {false}, goes_on = true;

	while (goes_on) {
		goes_on = false;
		for (size_t i = 0; i < a->nr; i++) {
			if (is_full[i] || is_whole(&a->list[i]))
				continue;
			is_full[i] = !add_row(&a->list[i], &room);
			goes_on = true;
		}
	}
}

static size_t count_left(const struct answer_list *l)
{
	const char *at = buf_str(&l->lines) + l->shown_bytes;
	size_t nr = 0;

	for (; (at = strchr(at, '\n')); at++)
		nr++;
	return nr;
}

/* --- text ------------------------------------------------------------------------------------ */

static void put_rows(const struct answer_list *l, struct buf *out)
{
	bool has_items = false;

	buf_adds(out, "\"rows\":[");
	screen_document_rows(out, buf_str(&l->lines), l->shown_bytes, &has_items);
	buf_printf(out, "],\"left_out\":%zu}", count_left(l));
}

static void put_table(const struct answer_list *l, struct buf *out)
{
	buf_printf(out, "\n{\"report\":\"%s\",\"columns\":%s,", l->name,
		   l->nr_shown && l->columns.len ? buf_str(&l->columns) : "[]");
	put_rows(l, out);
}

static void put_lists(const struct answer *a, struct buf *out)
{
	bool has_tables = false;

	buf_adds(out, ",\n\"tables\":[");
	for (size_t i = 0; i < a->nr; i++) {
		if (!a->list[i].is_table)
			continue;
		buf_adds(out, has_tables ? "," : "");
		put_table(&a->list[i], out);
		has_tables = true;
	}
	buf_addc(out, ']');
	for (size_t i = 0; i < a->nr; i++) {
		if (a->list[i].is_table)
			continue;
		buf_printf(out, ",\n\"%s\":{", a->list[i].name);
		put_rows(&a->list[i], out);
	}
}

static void put_conclusion(const struct conclusion *c, struct buf *out)
{
	BUF_AUTO(sentence, MAX_SENTENCE_BYTES);

	buf_adds(out, ",\"conclusion\":");
	conclusion_put(c, &sentence);
	if (sentence.len)
		buf_json_string(out, buf_str(&sentence));
	else
		buf_adds(out, "null");
}

/* As words, so that nobody has to quote them. */
static void put_next(const struct conclusion *c, const struct options *o, bool has_next,
		     struct buf *out)
{
	char source[PATH_MAX + 16];
	struct json_writer json;

	snprintf(source, sizeof(source), "--%s=%s", o->sessions.nr ? "session" : "perf-data",
		 o->sessions.nr ? o->sessions.item[0] : o->perf_data.item[0]);
	buf_adds(out, ",\n");
	jsonw_init(&json, out, false);
	JSONW_ARRAY(&json, "next") {
		if (has_next)
			JSONW_ARRAY(&json, NULL) {
				jsonw_text(&json, NULL, "cpuperf_print");
				jsonw_text(&json, NULL, source);
				next_put_words(c, &json);
			}
	}
	buf_adds(out, "}\n");
}

static int error_of(const struct answer *a)
{
	int rc = buf_error(&a->facts);

	for (size_t i = 0; i < a->nr && rc == 0; i++)
		rc = buf_error(&a->list[i].lines) ?: buf_error(&a->list[i].columns);
	return rc;
}

void answer_put(struct answer *a, const struct conclusion *c, const struct options *o,
		bool has_next, struct buf *out)
{
	BUF_AUTO(next, MAX_FACTS_BYTES);
	const size_t start = out->len;
	size_t used;

	screen_document_begin(out, "answer", "cpuperf_print " CPUPERF_VERSION);
	put_conclusion(c, out);
	buf_adds(out, buf_str(&a->facts));
	put_next(c, o, has_next, &next);
	used = out->len - start + next.len + FRAME_BYTES;
	for (size_t i = 0; i < a->nr; i++)
		used += strlen(a->list[i].name) + FRAME_BYTES;
	choose_rows(a, used < ANSWER_MAX_BYTES ? ANSWER_MAX_BYTES - used : 0);
	put_lists(a, out);
	buf_add(out, buf_str(&next), next.len);
	out->error = out->error ?: error_of(a) ?: buf_error(&next);
}
