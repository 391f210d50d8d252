/*
 * Names from profile/ and symbol/.
 */
#include "report/names.h"

#include "symbol/symbols.h"

static void find_task(void *arg, uint32_t pid, uint32_t tid, uint64_t time_ns,
		      struct profile_task *out)
{
	const struct report_names_of *of = arg;

	profile_lookup_task(of->lookup, pid, tid, time_ns, out);
}

static uint32_t find_epoch(void *arg, const struct profile_process *process, uint64_t time_ns)
{
	const struct report_names_of *of = arg;

	return profile_lookup_epoch(of->lookup, process, time_ns) +
	       symbols_epoch(of->symbols, process, time_ns);
}

static const struct symbol_function *find_user(void *arg, const struct profile_process *process,
					       uint64_t address, uint64_t time_ns)
{
	const struct report_names_of *of = arg;

	return symbols_user(of->symbols, profile_lookup_code(of->lookup, process, address, time_ns),
			    address, time_ns);
}

static const struct symbol_function *find_kernel(void *arg, uint64_t address, uint64_t time_ns)
{
	const struct report_names_of *of = arg;

	return symbols_kernel(of->symbols, address, time_ns);
}

void report_names_init(struct report_names *names, struct report_names_of *of)
{
	*names = (struct report_names){find_task, find_epoch, find_user, find_kernel, of};
}
