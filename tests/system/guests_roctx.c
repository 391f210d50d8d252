/*
 * A caller of ROCTX by its published names (roctx.h), linked with a libroctx64 that the test makes
 * of this file with -DSTUB, which prints its calls.
 */
#include <stdint.h>
#include <stdio.h>

#ifdef STUB
#define BODY(text, value)                                                                          \
	{                                                                                          \
		printf("stub %s\n", text);                                                         \
		return value;                                                                      \
	}
#else
#define BODY(text, value) ;
#endif

void roctxMarkA(const char *text) BODY("mark", ) int roctxRangePushA(const char *text)
    BODY("push", 0) int roctxRangePop(void) BODY("pop", 0) uint64_t
    roctxRangeStartA(const char *text) BODY("start", 1) void roctxRangeStop(uint64_t id)
	BODY("stop", )

#ifndef STUB
	    int main(void)
{
	uint64_t id;
	int a = roctxRangePushA("outer"), b = roctxRangePushA("inner");

	printf("levels %d %d", a, b);
	a = roctxRangePop();
	b = roctxRangePop();
	printf(" %d %d %d\n", a, b, roctxRangePop());
	roctxMarkA("mark");
	id = roctxRangeStartA("range");
	roctxRangeStop(id);
	roctxRangeStop(12345);
	return 7;
}
#endif
