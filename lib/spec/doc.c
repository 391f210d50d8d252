/*
 * Text to a JSON tree with positions. jansson finds errors of syntax; they are reworded, with the
 * position in the original text.
 */
#include "spec/doc.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "spec/diag.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct {
	enum json_error_code code;
	const char *hint;
} syntax_hints[] = {
    {json_error_premature_end_of_input, "a bracket, a brace or a value is missing at the end"},
    {json_error_end_of_input_expected, "the file must contain one object"},
    {json_error_invalid_syntax,
     "look for a missing comma, colon, quote or brace at this place or just before it"},
    {json_error_null_character, "text cannot hold a NUL character"},
    {json_error_null_byte_in_key, "text cannot hold a NUL character"},
    {json_error_numeric_overflow, "numbers are limited to 64 bits"},
};

static const char *syntax_hint(enum json_error_code code)
{
	for (size_t i = 0; i < sizeof(syntax_hints) / sizeof(syntax_hints[0]); i++)
		if (syntax_hints[i].code == code)
			return syntax_hints[i].hint;
	return "";
}

/* The key whose value begins at offset, or NULL. */
static const char *key_at(const struct scan *s, size_t offset)
{
	for (size_t i = 0; i < scan_nr_nodes(s); i++)
		if (scan_node(s, (int)i)->value_offset == offset)
			return scan_node(s, (int)i)->key;
	return NULL;
}

/* jansson reports the position after the last byte it read: the token with that byte is wrong. */
static size_t error_offset(const struct doc *d, const json_error_t *error)
{
	size_t end = error->position > 0 ? (size_t)error->position : 0;

	if (json_error_code(error) == json_error_premature_end_of_input || end > d->scan.len)
		return d->scan.len;
	return scan_token_start(&d->scan, end ? end - 1 : 0);
}

static int report_syntax(struct doc *d, const char *text, const json_error_t *error)
{
	enum json_error_code code = json_error_code(error);
	size_t offset = error_offset(d, error);
	const char *key = code == json_error_numeric_overflow ? key_at(&d->scan, offset) : NULL;
	struct err *e;

	e = diag_at(d->errs, d->source, scan_pos(text, offset), "%s%.*s%s%s",
		    key ? "\"" : "syntax error: ", key ? diag_cut(key) : 0, key ? key : "",
		    key ? "\": " : "", error->text);
	err_hint(e, "%s", syntax_hint(code));
	return -EINVAL;
}

/* The scanner stopped at scan.len; an error that jansson finds before that is the cause. */
static int parse(struct doc *d, const char *text, int scan_rc, const struct err *scan_err)
{
	json_error_t error;
	int rc;

	rc = json_parse(d->scan.text, d->scan.len, &d->root, &error);
	if (rc == -ENOMEM)
		return diag_no_memory(d->errs, d->source);
	if (rc && !(scan_rc && json_error_code(&error) == json_error_premature_end_of_input))
		return report_syntax(d, text, &error);
	if (scan_rc)
		err_list_insert(d->errs, scan_err);
	return scan_rc;
}

static void report_duplicate(const struct scan_node *first, const struct scan_node *again,
			     void *arg)
{
	struct doc *d = arg;
	struct err *e = diag_at(
	    d->errs, d->source, again->key_pos, "the key \"%.*s\" appears twice: first at %u:%u",
	    diag_cut(again->key), again->key, first->key_pos.line, first->key_pos.column);

	err_hint(e, "remove one of them");
}

int doc_open(struct doc *d, const char *text, size_t len, enum key_level level)
{
	struct err e = {.code = 0};
	int rc = scan_init(&d->scan, text, len, d->source, &e);

	d->root = NULL;
	if (rc == -ENOMEM)
		return diag_no_memory(d->errs, d->source);
	if (rc && !d->scan.text) {
		err_list_insert(d->errs, &e);
		return rc;
	}
	rc = parse(d, text, rc, &e);
	if (rc)
		return rc;
	scan_each_duplicate(&d->scan, report_duplicate, d);
	if (json_is_object(d->root))
		return 0;
	diag_at(d->errs, d->source, scan_node(&d->scan, 0)->value_pos,
		"a %s must be an object, not an array",
		level == KEY_SESSION ? "session file" : "spec");
	return -EINVAL;
}

void doc_close(struct doc *d)
{
	json_decref(d->root);
	d->root = NULL;
	scan_fini(&d->scan);
}

int doc_load(const char *path, struct buf *text, struct err_list *errs)
{
	struct err e = {.code = 0};
	IO_AUTO_FD int fd = io_open_input(path, &e);

	if (fd >= 0)
		return doc_load_fd(fd, path, text, errs);
	err_list_insert(errs, &e);
	return fd;
}

int doc_load_fd(int fd, const char *path, struct buf *text, struct err_list *errs)
{
	struct err e = {.code = 0};
	int rc = io_load_fd(fd, text);

	if (rc == 0)
		return 0;
	if (rc == -ENOMEM)
		return diag_no_memory(errs, path);
	err_set_at(&e, rc, path, 0, 0, "cannot be read: %s",
		   rc == -EFBIG ? "larger than 4 MiB" : strerror(-rc));
	err_list_insert(errs, &e);
	return rc;
}
