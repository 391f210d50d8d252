/*
 * A stream of zstd in pieces: whatever the pieces and the room for what comes out, it is the same;
 * what is damaged stays so.
 */
#include "kit.h"

#include "trace/unzip.h"

#include <zstd.h>

enum { LEN = 100000, MAX_PIECES = 8 };

static uint8_t plain[LEN], packed[2 * LEN], out[LEN + 1];
static size_t ends[MAX_PIECES]; /* of the pieces, in packed */

/* As perf does: each piece is flushed, and the stream goes on. */
static void pack(size_t nr)
{
	ZSTD_CCtx *ctx = ZSTD_createCCtx();
	ZSTD_outBuffer to = {packed, sizeof(packed), 0};

	srand(5);
	for (size_t i = 0; i < LEN; i++)
		plain[i] = (uint8_t)(rand() % 7);
	for (size_t i = 0; i < nr; i++) {
		ZSTD_inBuffer from = {plain + LEN * i / nr, LEN * (i + 1) / nr - LEN * i / nr, 0};

		assert_int_equal(ZSTD_compressStream2(ctx, &to, &from, ZSTD_e_flush), 0);
		ends[i] = to.pos;
	}
	ZSTD_freeCCtx(ctx);
}

/* Takes all of a piece; how many bytes were added to out, or -errno. */
static long take(struct trace_unzip *u, size_t from, size_t to, size_t at, size_t room)
{
	const void *in = packed + from;
	size_t left = to - from, start = at;
	long got;

	do {
		size_t some = LEN + 1 - at < room ? LEN + 1 - at : room;

		got = trace_unzip_some(u, &in, &left, out + at, some);
		if (got < 0)
			return got;
		at += (size_t)got;
	} while (left || (got && (size_t)got == room));
	return (long)(at - start);
}

TEST(pieces)
{
	static const struct {
		size_t nr, room;
	} rows[] = {{1, LEN}, {1, 1000}, {3, LEN}, {8, 4096}, {8, 7}};

	for (size_t i = 0; i < NR(rows); i++) {
		struct trace_unzip *u = trace_unzip_new();
		size_t at = 0, from = 0;

		pack(rows[i].nr);
		memset(out, 0, sizeof(out));
		for (size_t k = 0; k < rows[i].nr; from = ends[k++]) {
			long got = take(u, from, ends[k], at, rows[i].room);

			assert_true(got > 0);
			at += (size_t)got;
			/* all of a piece comes out of it */
			assert_int_equal(at, LEN * (k + 1) / rows[i].nr);
		}
		assert_memory_equal(out, plain, LEN);
		trace_unzip_free(u);
	}
}

TEST(damage)
{
	struct trace_unzip *u = trace_unzip_new();

	pack(2);
	packed[0] ^= 1;
	assert_int_equal(take(u, 0, ends[0], 0, LEN), -EINVAL);
	packed[0] ^= 1;
	assert_int_equal(take(u, 0, ends[0], 0, LEN), -EINVAL); /* it stays so */
	trace_unzip_free(u);
	trace_unzip_free(NULL);
}

static int run(void *arg)
{
	struct trace_unzip *u = trace_unzip_new();
	long got;

	(void)arg;
	if (!u)
		return -ENOMEM;
	got = take(u, 0, ends[0], 0, LEN);
	trace_unzip_free(u);
	return got == LEN ? 0 : -ENOMEM;
}

TEST(failures)
{
	pack(1);
	inject_every(run, NULL, 3, 0);
}
