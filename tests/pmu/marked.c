/*
 * marked NR: regions of known instructions, each NR times: "none" 0, "pair" a region "in" of 0,
 * "loop" 4 x 1000 + 1, and "outer" a loop of 4 x 500 + 1 around two regions "inner" of 4 x 250 + 1
 * each. arm64.
 */
#include <cpuperf/mark.h>

#include <stdlib.h>

/* The register is set within, so that these are all instructions. */
#define LOOP(turns)                                                                                \
	__asm__ volatile("mov x9, #" #turns "\n"                                                   \
			 "1: nop\n"                                                                \
			 "nop\n"                                                                   \
			 "subs x9, x9, #1\n"                                                       \
			 "b.ne 1b\n"                                                               \
			 :                                                                         \
			 :                                                                         \
			 : "x9", "cc")

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < nr; i++) {
		CPUPERF_BEGIN("none");
		CPUPERF_END;
		CPUPERF_BEGIN("pair");
		CPUPERF_BEGIN("in");
		CPUPERF_END;
		CPUPERF_END;
		CPUPERF_BEGIN("loop");
		LOOP(1000);
		CPUPERF_END;
		CPUPERF_BEGIN("outer");
		LOOP(500);
		CPUPERF_BEGIN("inner");
		LOOP(250);
		CPUPERF_END;
		CPUPERF_BEGIN("inner");
		LOOP(250);
		CPUPERF_END;
		CPUPERF_END;
	}
	return 0;
}
