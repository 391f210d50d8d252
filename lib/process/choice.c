/*
 * The words of pids: "all", numbers, "name:GLOB".
 */
#include "process/choice.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

static void add_number(struct process_choice *c, uint32_t number)
{
	size_t at = c->nr_numbers;

	while (at && c->numbers[at - 1] >= number)
		at--;
	if (at < c->nr_numbers && c->numbers[at] == number)
		return;
	memmove(c->numbers + at + 1, c->numbers + at, (c->nr_numbers - at) * sizeof(*c->numbers));
	c->numbers[at] = number;
	c->nr_numbers++;
}

static int add_word(struct process_choice *c, const char *word, uint32_t self, struct err *e)
{
	enum { MAX_GLOB_BYTES = 255 }; /* the kernel's longest command has 63 bytes */
	const char *glob = strncmp(word, "name:", 5) == 0 ? word + 5 : "";
	uint64_t number;

	if (strcmp(word, "all") == 0) {
		c->all = true;
		return 0;
	}
	if (*glob && strlen(glob) <= MAX_GLOB_BYTES) {
		char *copy = mem_strdup(glob);

		if (!copy)
			return -ENOMEM;
		c->globs[c->nr_globs++] = copy;
		return 0;
	}
	if (str_parse_u64(word, &number) == 0 && number <= INT32_MAX && (number || self)) {
		add_number(c, number ? (uint32_t)number : self);
		return 0;
	}
	err_set(e, -EINVAL, "pids: \"%s\" names no process", word);
	err_hint(e, "a number (0 is cpuperf itself), \"all\", or \"name:GLOB\"");
	return -EINVAL;
}

static int add_words(struct process_choice *c, const struct things_choice *words, uint32_t self,
		     struct err *e)
{
	c->numbers = mem_calloc(words->nr, sizeof(*c->numbers));
	c->globs = mem_calloc(words->nr, sizeof(*c->globs));
	c->has_hit = mem_calloc(words->nr, sizeof(*c->has_hit));
	if (!c->numbers || !c->globs || !c->has_hit)
		return -ENOMEM;
	return ARRAY_RUN(i, words->nr, add_word(c, words->words[i], self, e));
}

int process_choice_init(struct process_choice *c, const struct things_choice *words, uint32_t self,
			struct err *e)
{
	const struct things_tree *tree = words->tree;
	bool is_group = tree && tree->is_cgroup;
	struct process_choice new = {.all = words->nr == 0 && !tree,
				     .tree = is_group ? NULL : tree,
				     .group = is_group ? (*tree->ids)[0] : -1};
	int rc = add_words(&new, words, self, e);

	if (rc)
		process_choice_fini(&new);
	else
		*c = new;
	return rc;
}

void process_choice_fini(struct process_choice *c)
{
	for (size_t i = 0; i < c->nr_globs; i++)
		mem_free(c->globs[i]);
	mem_free(c->globs);
	mem_free(c->has_hit);
	mem_free(c->numbers);
	*c = (struct process_choice){.group = -1};
}

bool process_choice_is_root(const struct process_choice *c, uint32_t pid)
{
	bool is_root = false;

	for (size_t i = 0; c->tree && i < *c->tree->nr && !is_root; i++)
		is_root = (uint32_t)(*c->tree->ids)[i] == pid;
	return is_root;
}

bool process_choice_has(struct process_choice *c, uint32_t pid, const char *command)
{
	bool has = c->all;

	for (size_t i = 0; i < c->nr_numbers && !has; i++)
		has = c->numbers[i] == pid;
	for (size_t i = 0; command && i < c->nr_globs; i++)
		if ((!has || !c->has_hit[i]) && fnmatch(c->globs[i], command, 0) == 0)
			has = c->has_hit[i] = true;
	return has;
}
