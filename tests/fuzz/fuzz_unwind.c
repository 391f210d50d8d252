/*
 * Any registers, any stack and any ELF file with unwind tables: what is found ends, within its
 * room, for a reason, and the second time is the same as the first. The input is a byte that
 * chooses the machine, one that tells how many words of stack there are, the registers, the stack,
 * and the file.
 */
#include "elf/finder.h"
#include "trace/record.h"
#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NR_REGS = 33, HEAD_BYTES = 2 + NR_REGS * 8, MAX_CHAIN = 200 };

/* The file is mapped where its addresses are, as the vdso: no file is opened for that. */
static bool find_mapping(void *arg, const void *process, uint64_t address, uint64_t time_ns,
			 struct unwind_mapping *out)
{
	(void)arg;
	(void)process;
	(void)time_ns;
	*out = (struct unwind_mapping){
	    .start = 0x400000, .prot = PROT_READ | PROT_EXEC, .kind = UNWIND_OBJECT_VDSO};
	return address >= 0x400000 && address < 0x500000;
}

/* Without padding: two are compared as bytes. */
struct found {
	uint64_t chain[MAX_CHAIN], exact[(MAX_CHAIN + 63) / 64], lacking[8];
	size_t nr, nr_lacking;
	uint64_t is_whole, end;
};

static void require(int holds)
{
	if (!holds)
		abort();
}

static void run(struct unwinder *u, const struct trace_layout *l, const struct trace_record *r,
		struct found *f)
{
	bool is_whole = false;
	enum unwind_end end = UNWIND_NO_REGS;

	memset(f, 0, sizeof(*f));
	f->nr = unwind_user(u, NULL, 0, l, r, f->chain, MAX_CHAIN, f->exact, &end);
	f->nr_lacking = unwind_to_chain(u, NULL, 0, l, r, f->lacking, 8, &is_whole);
	f->is_whole = is_whole;
	f->end = end;
	require(f->nr <= MAX_CHAIN && f->nr_lacking <= 8);
	require((f->nr == 0) == (f->end == UNWIND_NO_REGS));
	require(f->nr == MAX_CHAIN || f->end != UNWIND_MAX);
	require(f->end <= UNWIND_MAX);
}

static void unwind(const struct unwinder_config *config, const struct trace_layout *l,
		   const struct trace_record *r)
{
	struct unwinder *u;
	struct found first, again;

	if (unwinder_new(config, &u) < 0)
		return;
	run(u, l, r, &first);
	run(u, l, r, &again);
	require(memcmp(&first, &again, sizeof(first)) == 0);
	unwinder_free(u);
}

static void unwind_in(const uint8_t *data, const struct elf_file *file, size_t stack_len)
{
	struct elf_finder_config finder = {0};
	struct unwinder_config config = {.maps = {.find = find_mapping},
					 .vdso = file,
					 .machine = *data & 1 ? "aarch64" : "x86_64"};
	struct trace_layout l = {.user_regs = *data & 1 ? (1ull << NR_REGS) - 1 : 0xff0fff,
				 .nr_user_regs = *data & 1 ? NR_REGS : 20};
	struct trace_record r = {.kind = PERF_RECORD_SAMPLE,
				 .regs_abi = 2,
				 .regs = data + 2,
				 .nr_regs = l.nr_user_regs,
				 .stack = data + HEAD_BYTES,
				 .stack_len = stack_len};

	if (elf_finder_new(&finder, &config.finder) < 0)
		return;
	unwind(&config, &l, &r);
	elf_finder_free(config.finder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *file;
	size_t stack_len = size > 1 ? 8 * (size_t)data[1] : 0;

	if (size < HEAD_BYTES + stack_len)
		return 0;
	if (elf_file_open_mem(data + HEAD_BYTES + stack_len, size - HEAD_BYTES - stack_len, false,
			      "fuzz", &file, NULL) < 0)
		return 0;
	unwind_in(data, file, stack_len);
	elf_file_close(file);
	return 0;
}
