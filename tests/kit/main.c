#include "kit.h"

#include "spec/spec.h"

int main(void)
{
	spec_use_own_heap(); /* tests make allocations fail */
	return kit_run();
}
