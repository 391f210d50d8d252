/*
 * Any text as a word that chooses processes: it does, or what is wrong with it is said.
 */
#include "base/err.h"
#include "process/choice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_word(const char *text, size_t len)
{
	char *word = strndup(text, len);
	const struct things_choice words = {(const char *const[]){word}, 1};
	struct process_choice c;
	struct err e = {0};
	int rc = process_choice_init(&c, &words, 77, &e);

	require(rc == 0 || rc == -EINVAL);
	require(rc == e.code && (rc == 0) == !e.msg[0]);
	if (rc == 0) {
		require(c.all + c.nr_numbers + c.nr_globs == 1);
		require(!c.nr_numbers || process_choice_has(&c, c.numbers[0], NULL));
		(void)process_choice_has(&c, 5, "worker pool aaaaaaaaaaaaaaaaaaaaaaaaab");
		process_choice_fini(&c);
	}
	free(word);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_word((const char *)data, size);
	return 0;
}
