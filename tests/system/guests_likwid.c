/* likwid's markers through cpuperf/compat/likwid-marker.h. */
#include <likwid-marker.h>
#include <stdio.h>

int main(void)
{
	int nevents = 4, count = 5;
	double events[4] = {0}, time = 6;

	LIKWID_MARKER_INIT;
	LIKWID_MARKER_THREADINIT;
	LIKWID_MARKER_REGISTER("triad");
	LIKWID_MARKER_START("triad");
	LIKWID_MARKER_START("copy");
	LIKWID_MARKER_STOP("triad"); /* they overlap */
	LIKWID_MARKER_STOP("copy");
	LIKWID_MARKER_STOP("copy");  /* is not open */
	for (int i = 0; i < 40; i++) /* deeper than the keys */
		LIKWID_MARKER_START("deep");
	for (int i = 0; i < 40; i++)
		LIKWID_MARKER_STOP("deep");
	{
		CPUPERF_REGION("own");
		LIKWID_MARKER_START("within");
		CPUPERF_BEGIN("left open");
		LIKWID_MARKER_STOP("within");
	}
	LIKWID_MARKER_GET("triad", &nevents, events, &time, &count);
	printf("got %d %g %d\n", nevents, time, count);
	LIKWID_MARKER_SWITCH;
	LIKWID_MARKER_RESET("triad");
	LIKWID_MARKER_CLOSE;
	return 7;
}
