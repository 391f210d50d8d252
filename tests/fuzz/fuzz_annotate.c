/*
 * Any bytes as code of each machine: every byte is in one instruction or is data, and what is shown
 * is text.
 */
#include "annotate/decode.h"
#include "base/err.h"
#include "base/str.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check(struct annotate_decoder *d, const uint8_t *data, size_t size)
{
	for (size_t at = 0; at < size;) {
		/* of its own, so that reading beyond it is seen */
		uint8_t *rest = malloc(size - at);
		struct annotate_instruction i;

		require(rest != NULL);
		memcpy(rest, data + at, size - at);
		annotate_decode(d, rest, size - at, UINT64_MAX - 8 + at, &i);
		require(i.len >= 1 && i.len <= size - at && *i.text);
		for (const char *p = i.text; *p;) {
			size_t len = str_visible(p, strlen(p));

			require(len > 0);
			p += len;
		}
		at += i.len;
		free(rest);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t machines[] = {EM_X86_64, EM_386, EM_AARCH64};
	static struct annotate_decoder *d[3];

	if (size > 256)
		return 0;
	for (size_t i = 0; i < 3; i++) {
		if (!d[i] && annotate_decoder_open(machines[i], &d[i], NULL))
			return 0; /* no capstone */
		check(d[i], data, size);
	}
	return 0;
}
