/* Arithmetic of programs in the kernel, for each highest bit. */
#include "kit.h"

#include "bpf/bits_shared.h"

TEST(highest_bit)
{
	for (unsigned i = 0; i < 64; i++) {
		const uint64_t first = UINT64_C(1) << i;

		assert_int_equal(bpf_log2(first), i);
		assert_int_equal(bpf_log2(first | (first - 1)), i);
		assert_int_equal(bpf_log2(first | (0x9e3779b97f4a7c15 & (first - 1))), i);
	}
}
