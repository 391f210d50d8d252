/*
 * A probe as <sys/sdt.h> writes it, without arguments in registers: an instruction, and a note that
 * says where it is.
 */
#ifndef PROBES_H
#define PROBES_H

#define PROBE_NOP "nop"
/* The kernel replaces it by a call. */
#define PROBE_NOP5 ".byte 0x0f, 0x1f, 0x44, 0, 0"

/* semaphore: a symbol of 16 bits, or "0". */
#define PROBE(instruction, provider, name, semaphore, arguments)                                   \
	__asm__ volatile("990: " instruction                                                       \
			 "\n" PROBE_NOTE("990b", provider, name, semaphore, arguments))
#define PROBE_NOTE(place, provider, name, semaphore, arguments)                                    \
	".pushsection .note.stapsdt, \"\", \"note\"\n"                                             \
	".balign 4\n"                                                                              \
	".4byte 992f - 991f, 994f - 993f, 3\n"                                                     \
	"991: .asciz \"stapsdt\"\n"                                                                \
	"992: .balign 4\n"                                                                         \
	"993: .8byte " place "\n"                                                                  \
	".8byte _.stapsdt.base\n"                                                                  \
	".8byte " semaphore "\n"                                                                   \
	".asciz \"" provider "\"\n"                                                                \
	".asciz \"" name "\"\n"                                                                    \
	".asciz \"" arguments "\"\n"                                                               \
	"994: .balign 4\n"                                                                         \
	".popsection\n"                                                                            \
	".ifndef _.stapsdt.base\n"                                                                 \
	".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n"                \
	".weak _.stapsdt.base\n"                                                                   \
	".hidden _.stapsdt.base\n"                                                                 \
	"_.stapsdt.base: .space 1\n"                                                               \
	".size _.stapsdt.base, 1\n"                                                                \
	".popsection\n"                                                                            \
	".endif\n"

#endif
