/*
 * The table of languages.
 */
#include "interpreters/language.h"

#include <stddef.h>

const struct interpreters_language *const interpreters_languages[] = {
    &interpreters_python, &interpreters_javascript, &interpreters_php,
    &interpreters_ruby,   &interpreters_perl,       NULL};

const struct interpreters_language *interpreters_find_language(uint32_t number)
{
	for (size_t i = 0; interpreters_languages[i]; i++)
		if (interpreters_languages[i]->number == number)
			return interpreters_languages[i];
	return NULL;
}
