#include "exports/pushed.h"

#include <string.h>

enum { MAX_NAMES = 64, MAX_TEXT_BYTES = 64 << 10 };

void pushed_names_init(struct pushed_names *n)
{
	dict_init_texts(&n->names, sizeof(const char *), MAX_NAMES, MAX_TEXT_BYTES);
}

void pushed_names_fini(struct pushed_names *n)
{
	dict_fini(&n->names);
}

const char *pushed_name(struct pushed_names *n, const char *comm)
{
	static const char worker[] = "kworker/";
	uint32_t number;

	if (strncmp(comm, worker, strlen(worker)) == 0)
		comm = "kworker";
	number = dict_add(&n->names, comm);
	return number == DICT_NONE ? "[other]" : dict_text(&n->names, number);
}
