/*
 * Any text as an expression: refused with an error at a place within it, or accepted, and then its
 * result is a finite number or none. The first byte chooses which operands have a value.
 */
#include "base/arena.h"
#include "base/err.h"
#include "estimate/expr.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

struct world {
	uint8_t choice;
	const char *text;
	size_t len;
};

static bool get(const struct expr_step *operand, const void *arg, double *value)
{
	static const double values[] = {0, 1, -2.5, 1e300, 1e-300, 3e9};
	const struct world *w = arg;
	size_t len = strlen(operand->name);

	require(operand->offset + len < w->len); /* the brace is behind it */
	require(memcmp(w->text + operand->offset, operand->name, len) == 0);
	*value = values[(len + w->choice) % (sizeof(values) / sizeof(values[0]))];
	return !(w->choice & 0x80) || len % 3;
}

static void evaluate(const struct expr *x, const struct world *w)
{
	double out = 0;

	require(x->nr_steps > 0 && x->nr_steps <= EXPR_MAX_STEPS);
	if (expr_evaluate(x, (double)(w->choice & 7), get, w, &out))
		require(isfinite(out));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.choice = size ? data[0] : 0};
	char *text = malloc(size + 1);
	size_t offset = SIZE_MAX;
	struct arena arena;
	struct err e = {0};
	struct expr x;
	int rc;

	require(text != NULL);
	if (size > 1)
		memcpy(text, data + 1, size - 1);
	text[size ? size - 1 : 0] = '\0';
	w.text = text;
	w.len = strlen(text);
	arena_init(&arena, 16 << 20);
	rc = expr_parse(text, &arena, &x, &offset, &e);
	require(rc == e.code && (rc == 0 || rc == -EINVAL));
	if (rc)
		require(offset <= w.len && e.msg[0]);
	else
		evaluate(&x, &w);
	arena_fini(&arena);
	free(text);
	return 0;
}
