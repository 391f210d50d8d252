#include "base/mem.h"
#include "symbol/room.h"

struct symbol_lines {
	const struct symbols_config *config;
	struct functions *functions;
};

struct symbol_lines *symbol_lines_new(const struct symbols_config *config,
				      struct functions *functions)
{
	struct symbol_lines *l = mem_zalloc(sizeof(*l));

	if (l)
		*l = (struct symbol_lines){config, functions};
	return l;
}

void symbol_lines_free(struct symbol_lines *l)
{
	mem_free(l);
}

size_t symbol_lines_find(struct symbol_lines *l, const struct profile_object *object,
			 const struct symbol_object *o, uint64_t address,
			 const struct symbol_function *function, struct symbol_line *out,
			 size_t max)
{
	(void)l, (void)object, (void)o, (void)address, (void)max;
	out[0] = (struct symbol_line){.function = function};
	return 1;
}
