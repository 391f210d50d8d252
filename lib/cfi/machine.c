/*
 * The machines.
 */
#include "cfi/machine.h"

#define BIT(n) (1ull << (n))

const struct cfi_machine cfi_machine_x86_64 = {
    .word_bytes = 8,
    .nr_regs = 17, /* rax rdx rcx rbx rsi rdi rbp rsp r8 … r15, rip */
    .sp = 7,
    .fp = 6,
    .ra = 16,
    .lr = CFI_NO_REG,
    .callee_saved = BIT(3) | BIT(6) | BIT(12) | BIT(13) | BIT(14) | BIT(15),
    .address_bits = UINT64_MAX,
};

const struct cfi_machine cfi_machine_i386 = {
    .word_bytes = 4,
    .nr_regs = 9, /* eax ecx edx ebx esp ebp esi edi, eip */
    .sp = 4,
    .fp = 5,
    .ra = 8,
    .lr = CFI_NO_REG,
    .callee_saved = BIT(3) | BIT(5) | BIT(6) | BIT(7),
    .address_bits = UINT32_MAX,
};

/*
 * Addresses of programs have 48 bits; a program gets larger ones only if it asks for them. The bits
 * above can hold the signature of a return address. They are always cleared, which needs no key.
 */
const struct cfi_machine cfi_machine_aarch64 = {
    .word_bytes = 8,
    .nr_regs = 32, /* x0 … x30, sp */
    .sp = 31,
    .fp = 29,
    .ra = 30,
    .lr = 30,
    .callee_saved = BIT(30) - BIT(19), /* x19 … x29 */
    .address_bits = BIT(48) - 1,
};
