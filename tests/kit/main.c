#include "kit.h"

#include "spec/spec.h"

int main(int nr, char **args)
{
	spec_use_own_heap(); /* tests make allocations fail */
	(void)nr;
	return kit_run(args[0]);
}
