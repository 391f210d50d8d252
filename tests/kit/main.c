#include "kit.h"

int main(void)
{
	return kit_run();
}
