/*
 * Instructions as text, by capstone, which is loaded when it is first used. Code is hostile: what
 * cannot be decoded is a byte, or a word, of data. An annotate_decoder is used by one thread at a
 * time.
 */
#ifndef ANNOTATE_DECODE_H
#define ANNOTATE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct annotate_decoder;

/* machine: EM_… of x86-64, 32-bit x86 or arm64, whichever runs this. -ENOTSUP with *e: another one,
 * or no capstone; -ENOMEM. */
int annotate_decoder_open(uint16_t machine, struct annotate_decoder **out, struct err *e);
void annotate_decoder_close(struct annotate_decoder *d); /* NULL is fine */

enum annotate_flow { ANNOTATE_NEXT, ANNOTATE_JUMP, ANNOTATE_CALL, ANNOTATE_RETURN };

enum { ANNOTATE_TEXT_BYTES = 224 };
struct annotate_instruction {
	uint32_t len; /* bytes: at least 1, at most what was passed */
	enum annotate_flow flow;
	bool has_target; /* a jump or call to a fixed address */
	uint64_t target;
	bool has_slot; /* of x86-64: it reads, or jumps to what is at, a fixed address */
	uint64_t slot;
	bool is_data;                   /* not decoded */
	char text[ANNOTATE_TEXT_BYTES]; /* the mnemonic, a blank and the operands, as AT&T writes
					   those of x86 */
};
/* Decodes the first instruction of len bytes (at least 1) at an address. */
void annotate_decode(struct annotate_decoder *d, const uint8_t *bytes, size_t len, uint64_t address,
		     struct annotate_instruction *out);

#endif
