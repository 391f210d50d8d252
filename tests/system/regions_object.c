/* A shared object with marks, for test_regions.py. NAME: of its region. */
#include <cpuperf/mark.h>

void object_begin(void);
void object_end(void);

void object_begin(void)
{
	CPUPERF_BEGIN(NAME);
}

void object_end(void)
{
	CPUPERF_END;
}
