/*
 * A library with a probe of its own, demo:library, and one that has the name of another, demo:tick.
 */
#include "probes.h"

void probe(void);

void probe(void)
{
	PROBE(PROBE_NOP, "demo", "library", "0", "");
	PROBE(PROBE_NOP, "demo", "tick", "0", "");
}
