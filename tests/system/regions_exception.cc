/*
 * What test_regions.py measures: in each of ten regions "request" an exception leaves another one.
 */
#include <cpuperf/mark.h>

static void parse()
{
	CPUPERF_BEGIN("left");
	throw 1;
}

static void serve()
{
	CPUPERF_REGION("request");
	parse();
}

int main()
{
	for (int i = 0; i < 10; i++) {
		try {
			serve();
		} catch (int) {
		}
	}
	return 7;
}
