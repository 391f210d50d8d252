#include "kit.h"

#include "base/library.h"

TEST(loads)
{
	double (*cosine)(double) = NULL;
	int (*sum)(int) = NULL;
	const struct library_function there = {"cos", &cosine}, both[] = {there, {"no_such", &sum}};

	assert_null(library_load("libm.so.6", &there, 1));
	assert_true(cosine(0) == 1);
	assert_non_null(strstr(library_load("libm.so.6", both, 2), "no_such"));
	assert_null(sum);
	cosine = NULL;
	assert_non_null(strstr(library_load("libno_such.so.1", &there, 1), "libno_such.so.1"));
	assert_null(cosine);
}
