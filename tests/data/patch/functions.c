/*
 * Functions that are patched while they work: test_patch_run.c compiles them by several compilers,
 * and calls them by this table. Of each, the calls that one call of it makes of itself are known.
 */
#include <stdarg.h>
#include <stddef.h>
#include <unwind.h>

#define ALONE __attribute__((noinline, noclone, used))
#ifdef __clang__
#undef ALONE
#define ALONE __attribute__((noinline, used))
#endif
#define NR(a) (sizeof(a) / sizeof((a)[0]))

static volatile long sink;
long patched_global = 41;
static long (*volatile pointer)(long, long);
static const char text[] = "a text with some words in it, and an end";

ALONE long leaf(long a, long b)
{
	return a * 3 + b;
}

ALONE long shortest(long a, long b)
{
	(void)b;
	return a;
}

ALONE long constant(long a, long b)
{
	(void)a, (void)b;
	return 77;
}

ALONE long global_first(long a, long b)
{
	return patched_global + a - b;
}

ALONE long red_zone(long a, long b)
{
	volatile long kept[8];

	for (int i = 0; i < 8; i++)
		kept[i] = a + i * b;
	return kept[0] ^ kept[3] ^ kept[7];
}

ALONE long branch_first(long a, long b)
{
	return a < b ? b - a : sink + a;
}

ALONE long test_first(long a, long b)
{
	if (!a)
		return b;
	sink = b;
	return sink + 2;
}

ALONE long loop_first(long a, long b)
{
	const char *p = text + (a & 7);

	do
		b += *p;
	while (*p++);
	return b;
}

ALONE long loop_of_steps(long a, long b)
{
	a &= 15;
	while (a--)
		b = b * 5 + a;
	return b;
}

ALONE long switch_table(long a, long b)
{
	switch (a & 15) {
	case 0:
		return b + 1;
	case 1:
		return b * 7;
	case 2:
		return b ^ 99;
	case 3:
		return leaf(b, 2);
	case 4:
		return b / 3;
	case 5:
		return -b;
	case 6:
		return b << 3;
	case 9:
		sink = b;
		return 12;
	default:
		return 0;
	}
}

ALONE long switch_in_loop(long a, long b)
{
	static const unsigned char steps[] = {0, 1, 2, 3, 1, 0, 4, 2, 5, 3, 0, 1, 2, 6};
	const unsigned char *p = steps + (a & 7);

	for (;;)
		switch (*p++) {
		case 0:
			b += 3;
			break;
		case 1:
			b *= 5;
			break;
		case 2:
			b ^= 0x55;
			break;
		case 3:
			b -= a;
			break;
		case 4:
			b <<= 1;
			break;
		case 5:
			b = -b;
			break;
		default:
			return b;
		}
}

ALONE long tail_call(long a, long b)
{
	return leaf(b, a + 1);
}

ALONE long tail_by_pointer(long a, long b)
{
	return pointer(b, a);
}

ALONE long call_first(long a, long b)
{
	long first = leaf(a, b);

	sink = first;
	return first + sink;
}

ALONE long pointer_first(long a, long b)
{
	return pointer(a, b) + 1;
}

ALONE long recursion(long a, long b)
{
	long r;

	if (a <= 0)
		return b;
	r = recursion(a - 1, b);
	return (r ^ a) * 3 + (r >> 2);
}

ALONE long add_all(int nr, ...)
{
	va_list list;
	double sum = 0;

	va_start(list, nr);
	for (int i = 0; i < nr; i++)
		sum += va_arg(list, double);
	va_end(list);
	return (long)sum;
}

ALONE long varargs(long a, long b)
{
	return add_all(4, (double)(a & 255), 2.5, (double)(b & 255), 1.0) +
	       add_all(2, 1.5, (double)(a & 1023));
}

typedef float vector __attribute__((vector_size(16)));

ALONE vector multiply(vector x, vector y)
{
	return x * y + (vector){1, 2, 3, 4};
}

ALONE long vectors(long a, long b)
{
	vector v = multiply((vector){(float)(a & 63), 2, 3, (float)(b & 63)}, (vector){2, 3, 4, 5});

	return (long)(v[0] + v[1] + v[2] + v[3]);
}

ALONE long large_frame(long a, long b)
{
	volatile char room[3000];

	for (size_t i = 0; i < NR(room); i += 500)
		room[i] = (char)(a + (long)i);
	return room[500] + room[2500] + b;
}

ALONE double fraction(double x, long b)
{
	return x / 3 + (double)b;
}

ALONE long by_fraction(long a, long b)
{
	return (long)fraction((double)(a & 4095), b & 4095);
}

ALONE long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a - b + c - d + e - f + g - h;
}

ALONE long by_many(long a, long b)
{
	return many(a, b, 3, a, 5, b, b, 8);
}

/* What an unwinder sees: the addresses of this function, its caller, and who called that. */
struct frames {
	unsigned nr;
	unsigned long sum;
};

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *c, void *arg)
{
	struct frames *f = arg;

	if (f->nr < 3)
		f->sum = f->sum * 31 + (unsigned long)_Unwind_GetIP(c);
	f->nr++;
	return f->nr < 3 ? _URC_NO_REASON : _URC_END_OF_STACK;
}

ALONE long sum_frames(long a, long b)
{
	struct frames f = {0};

	_Unwind_Backtrace(add_frame, &f);
	return (long)f.sum + a - b + f.nr;
}

ALONE long unwound(long a, long b)
{
	long sum = sum_frames(a, b);

	sink = sum;
	return sum + 1;
}

struct patched {
	const char *name;
	void *function; /* that is patched */
	long (*call)(long a, long b);
	int per_call; /* -1: a + 1 */
};

#define SELF(f)                                                                                    \
	{                                                                                          \
#f, (void *)(f), f, 1                                                              \
	}
const struct patched patched[] = {
    SELF(leaf),
    SELF(shortest),
    SELF(constant),
    SELF(global_first),
    SELF(red_zone),
    SELF(branch_first),
    SELF(test_first),
    SELF(loop_first),
    SELF(loop_of_steps),
    SELF(switch_table),
    SELF(switch_in_loop),
    SELF(tail_call),
    SELF(tail_by_pointer),
    SELF(call_first),
    SELF(pointer_first),
    {"recursion", (void *)recursion, recursion, -1},
    {"add_all", (void *)add_all, varargs, 2},
    {"multiply", (void *)multiply, vectors, 1},
    SELF(varargs),
    SELF(vectors),
    SELF(large_frame),
    {"sum_frames", (void *)sum_frames, unwound, 1},
    SELF(unwound),
    {"fraction", (void *)fraction, by_fraction, 1},
    {"many", (void *)many, by_many, 1},
};
const size_t nr_patched = NR(patched);

__attribute__((constructor)) static void init(void)
{
	pointer = leaf;
}
