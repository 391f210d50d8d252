/*
 * Names of C++ and Rust, and names that are made to be endless.
 */
#include "kit.h"

#include "elf/demangle.h"

TEST(names)
{
	static const struct {
		const char *linkage, *name;
		bool is_mangled;
	} cases[] = {
	    {"main", "main", false},
	    {"", "", false},
	    {"_", "_", false},
	    {"_Z", "_Z", false},
	    {"_Zzz", "_Zzz", false},
	    {"memcpy@@GLIBC_2.14", "memcpy", false},
	    {"memcpy@GLIBC_2.2.5", "memcpy", false},
	    {"@", "@", false},
	    {"_Z3fooi", "foo(int)", true},
	    {"_ZN5shape3BoxIlE3sumEl", "shape::Box<long>::sum(long)", true},
	    {"_ZNKSt6vectorIiSaIiEE4sizeEv", "std::vector<int, std::allocator<int> >::size() const",
	     true},
	    {"_Z3foov@@V1", "foo()", true},
	    {"_Z3fooi.cold", "foo(int) [clone .cold]", true},
	    {"_Z3fooi.constprop.0", "foo(int) [clone .constprop.0]", true},
	    {"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const", true},
	    {"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt",
	     true},
	    {"_ZN42_$LT$$RF$T$u20$as$u20$core..fmt..Debug$GT$3fmt17h0123456789abcdefE",
	     "<&T as core::fmt::Debug>::fmt", true},
	    /* a hash that is none: C++ */
	    {"_ZN3foo17h0123456789abcdeg3barE", "foo::h0123456789abcdeg::bar", true},
	    {"_RNvC7mycrate3foo", "mycrate::foo", true},
	    {"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar", true},
	    {"_RINvNtC3std3mem8align_ofdE", "std::mem::align_of::<f64>", true},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		char name[ELF_MAX_NAME_BYTES];

		if (elf_demangle(cases[i].linkage, name) != cases[i].is_mangled)
			fail_msg("%s: %s", cases[i].linkage, name);
		assert_string_equal(name, cases[i].name);
	}
}

/* Each S_ says what went before twice: 2^n names of n letters. */
TEST(exponential)
{
	char linkage[1024] = "_Z1fSt4pairIiiE", name[ELF_MAX_NAME_BYTES];

	for (int i = 0; i < 60; i++)
		snprintf(linkage + strlen(linkage), sizeof(linkage) - strlen(linkage),
			 "St4pairIS%c_S%c_E", i % 26 + 'A', i % 26 + 'A');
	elf_demangle(linkage, name);
	assert_true(strlen(name) < ELF_MAX_NAME_BYTES);
	/* of Rust: a tuple of two that are the tuple before */
	elf_demangle(
	    "_RMC0TTTTTTTTTTTTTTTTTTTTuuEB2_EB2_EB2_EB2_EB2_EB2_EB2_EB2_EB2_EB2_EB2_EB2_EB2_"
	    "EB2_EB2_EB2_EB2_EB2_EB2_E",
	    name);
	assert_true(strlen(name) < ELF_MAX_NAME_BYTES);
}

TEST(long)
{
	static char linkage[100000];
	char name[ELF_MAX_NAME_BYTES];
	size_t len;

	memset(linkage, 'a', sizeof(linkage) - 1);
	assert_false(elf_demangle(linkage, name));
	len = strlen(name);
	assert_in_range(len, ELF_MAX_NAME_BYTES - 8, ELF_MAX_NAME_BYTES - 1);
	assert_string_equal(name + len - 3, "…");
	assert_memory_equal(name, linkage, len - 3);
	/* deeper than any stack */
	snprintf(linkage, sizeof(linkage), "_Z1f");
	memset(linkage + 4, 'P', sizeof(linkage) - 6);
	elf_demangle(linkage, name);
	snprintf(linkage, sizeof(linkage), "_RYYYY");
	memset(linkage + 6, 'Y', sizeof(linkage) - 8);
	elf_demangle(linkage, name);
}

/* A type that says itself four times over, four levels deep: longer than there is room. */
TEST(cut)
{
	char linkage[1000] = "_Z1f", name[ELF_MAX_NAME_BYTES];
	size_t len;

	/* S_ is the pair, S0_ the pair of pairs, … */
	snprintf(linkage + strlen(linkage), 100, "St4pairIiiES_IS0_S0_ES_IS1_S1_E");
	for (int i = 2; i < 9; i++)
		snprintf(linkage + strlen(linkage), 40, "S_IS%d_S%d_E", i, i);
	snprintf(linkage + strlen(linkage), 100, "S_IS9_S9_ES_ISA_SA_ES_ISB_SB_ES_ISC_SC_E");
	assert_true(elf_demangle(linkage, name));
	len = strlen(name);
	if (memcmp(name, "f(", 2) != 0)
		fail_msg("%s", name);
	assert_in_range(len, ELF_MAX_NAME_BYTES - 8, ELF_MAX_NAME_BYTES - 1);
	assert_string_equal(name + len - 3, "…");
}
