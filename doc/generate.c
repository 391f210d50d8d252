/*
 * A developer's tool: prints the texts that are made from the tables of keys and options, for
 * scripts/generate to put into the tree. One row per text. Not installed; knows nothing of
 * where the texts go.
 */
#include "base/buf.h"
#include "base/opt.h"
#include "spec/keys.h"

#include <stdio.h>
#include <string.h>

enum { MAX_TEXT_BYTES = 1 << 20 };

/* As the programs' options.h declare them. Not included: each has a struct options of its own. */
const struct opt_table *cpuperf_options(void);
extern const struct opt_table cpuperf_print_options; /* of cpuperf_print */

static void add_cpspec_schema(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	keys_to_schema(KEY_SPEC, out);
}

static void add_cpsession_schema(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	keys_to_schema(KEY_SESSION, out);
}

static void add_man_keys(const struct opt_table *unused, struct buf *out)
{
	(void)unused;
	keys_to_man(out);
}

/* what NAME; a NULL name stands for each program. */
static const struct text {
	const char *what, *name;
	void (*add)(const struct opt_table *program, struct buf *out);
} texts[] = {
    {"schema", "cpspec", add_cpspec_schema}, {"schema", "cpsession", add_cpsession_schema},
    {"man-keys", "cpspec", add_man_keys},    {"man-options", NULL, opt_man_section},
    {"bash", NULL, opt_complete_bash},       {"zsh", NULL, opt_complete_zsh},
};

static const struct opt_table *find_program(const char *name)
{
	const struct opt_table *const programs[] = {cpuperf_options(), &cpuperf_print_options};

	for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++)
		if (strcmp(programs[i]->program, name) == 0)
			return programs[i];
	return NULL;
}

static int print_text(const struct text *t, const struct opt_table *program)
{
	struct buf out;
	int rc;

	buf_init(&out, MAX_TEXT_BYTES);
	t->add(program, &out);
	rc = buf_error(&out);
	if (rc == 0 && (fputs(buf_str(&out), stdout) == EOF || fflush(stdout) == EOF))
		rc = -1;
	buf_fini(&out);
	return rc ? 1 : 0;
}

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(texts) / sizeof(texts[0]); i++) {
		const struct opt_table *program = find_program(argv[2]);

		if (strcmp(texts[i].what, argv[1]) == 0 &&
		    (texts[i].name ? strcmp(texts[i].name, argv[2]) == 0 : program != NULL))
			return print_text(&texts[i], program);
	}
	fputs("usage: cpuperf_generate schema cpspec|cpsession, man-keys cpspec, or\n"
	      "       man-options|bash|zsh cpuperf|cpuperf_print\n",
	      stderr);
	return 2;
}
