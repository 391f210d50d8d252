/*
 * The compiled programs, which scripts/generate makes.
 */

#define OBJECT(name)                                                                               \
	__asm__(".pushsection .rodata\n"                                                           \
		".balign 8\n"                                                                      \
		".global " #name "_object, " #name "_object_end\n"                                 \
		".hidden " #name "_object, " #name "_object_end\n" #name                           \
		"_object: .incbin \"bpf/generated/" #name ".bpf.o\"\n" #name                       \
		"_object_end: .byte 0\n"                                                           \
		".popsection\n");

OBJECT(aggregate)
OBJECT(exits)
OBJECT(files)
OBJECT(hits)
OBJECT(interpreted)
OBJECT(latency)
OBJECT(probes)
OBJECT(selected)
OBJECT(tasks)
OBJECT(waits)
