/*
 * The table of languages. A language that is interpreted has:
 * - a number in enum trace_language, a name (trace_language_name), and the same
 *   number in bpf/interpreted_shared.h;
 * - lib/bpf/interpreted_NAME.h: where its interpreter keeps what;
 * - lib/bpf/programs/interpreted_NAME.bpf.h: the walk over its frames. walk_out
 *   calls it, interpreted_asleep.bpf.h has the names of its functions;
 * - lib/interpreters/NAME.c: how it is recognised, and a line below;
 * - lib/interpreters/NAME.tsv: offsets by version. scripts/check-interpreters
 *   compares them with headers;
 * - rows: how commands of it are called (cpuperf/wanted.c), what is of its
 *   libraries (lib/symbol/codes.c), kernels that accept its programs
 *   (tests/pmu/guest/interpreters.sh).
 */
#include "interpreters/language.h"

#include <stddef.h>

const struct interpreters_language *const interpreters_languages[] = {&interpreters_python,
								      &interpreters_javascript,
								      &interpreters_php,
								      &interpreters_ruby,
								      &interpreters_perl,
								      &interpreters_go,
								      NULL};

const struct interpreters_language *interpreters_find_language(uint32_t number)
{
	for (size_t i = 0; interpreters_languages[i]; i++)
		if (interpreters_languages[i]->number == number)
			return interpreters_languages[i];
	return NULL;
}
