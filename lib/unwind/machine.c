/*
 * The table of machines.
 */
#include "unwind/machine.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>

#define BIT(n) (1ull << (n))

/* By DWARF number: rax rdx rcx rbx rsi rdi rbp rsp r8 …; enum perf_event_x86_regs has them in
 * another order. */
static const uint8_t x86_bits[] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23, 8};

/* enum perf_event_arm_regs has the same order. */
static const uint8_t arm_bits[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
				   11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
				   22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};

/*
 * arm64: programs have 48 bits of addresses, and code is never put above them (a program must ask
 * for the larger 52-bit space by a hint). The bits above hold a return address's signature, so that
 * they are cleared without knowing the key or whether it is signed.
 */
static const struct unwind_machine machines[] = {
    {
	.name = "x86_64",
	.elf_machine = EM_X86_64,
	.nr_regs = sizeof(x86_bits),
	.sp = 7,
	.fp = 6,
	.ra = 16,
	.lr = UNWIND_NO_REG,
	.pc_bit = 8,
	.callee_saved = BIT(3) | BIT(6) | BIT(12) | BIT(13) | BIT(14) | BIT(15),
	.address_bits = UINT64_MAX,
	.bit_of_reg = x86_bits,
    },
    {
	.name = "aarch64",
	.elf_machine = EM_AARCH64,
	.nr_regs = 32,
	.sp = 31,
	.fp = 29,
	.ra = 30,
	.lr = 30,
	.pc_bit = 32,
	.callee_saved = BIT(30) - BIT(19), /* x19 … x29 */
	.address_bits = BIT(48) - 1,
	.has_vdso_sigreturn = true,
	.bit_of_reg = arm_bits,
    },
};

const struct unwind_machine *unwind_machine_find(const char *name)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (strcmp(machines[i].name, name) == 0)
			return &machines[i];
	return NULL;
}
