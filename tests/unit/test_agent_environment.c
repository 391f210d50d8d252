/*
 * What a program gets that cannot load the agent, and the judge of programs: files that are whole,
 * cut and made by hand.
 */
#include "agent/heap/agent.h"
#include "kit.h"
#include "wire/loadable.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* There are no hooks here. */
bool agent_hooks_are_first(void)
{
	return true;
}

void agent_hooks_count_live(bool is_wanted)
{
	agent.is_live_counted = is_wanted ? AGENT_COUNTS_BY_CHUNK : 0;
}

#define OURS   "/x/lib/libcpuperf-agent.so"
#define NARROW "/x/lib/libcpuperf-agent-i386.so"

/* --- the environment */

static void check_preload(const char *before, const char *after)
{
	char variable[256];
	char *const environment[] = {(char *)"A=1", variable, (char *)"B=LD_PRELOAD",
				     (char *)"CPUPERF_HEAP=x", NULL};
	char *const *got;
	char *to;

	snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", before);
	to = malloc(agent_environment_bytes(environment));
	assert_non_null(to);
	got = agent_environment_copy(environment, to);
	assert_string_equal(*got++, "A=1");
	if (after) {
		assert_memory_equal(*got, "LD_PRELOAD=", 11);
		assert_string_equal(*got++ + 11, after);
	}
	assert_string_equal(*got++, "B=LD_PRELOAD");
	assert_null(*got);
	free(to);
}

TEST(others_stay_as_they_are)
{
	check_preload(OURS, NULL);
	check_preload("libcpuperf-agent.so", NULL);
	check_preload(OURS ":" OURS, NULL);
	check_preload(OURS ":" NARROW, NULL);
	check_preload(NARROW ":/a.so", "/a.so");
	check_preload(OURS ":/a.so", "/a.so");
	check_preload(OURS " /a.so  b.so", "/a.so  b.so");
	check_preload("/a.so:" OURS " b.so:", "/a.so:b.so:");
	check_preload("/a.so:" OURS, "/a.so");
	check_preload("/a.so " OURS ":" OURS, "/a.so");
	check_preload("/a.so:" OURS ":", "/a.so:");
	check_preload("x" OURS ".1:/notlibcpuperf-agent.so", "x" OURS ".1:/notlibcpuperf-agent.so");
	check_preload("", "");
}

TEST(nothing_of_ours)
{
	char other[] = "LD_PRELOAD=/a.so:libcpuperf-agent.so.1", longer[] = "CPUPERF_HEAPS=";
	char *const environment[] = {other, longer, NULL};
	char *const none[] = {NULL};

	assert_int_equal(agent_environment_bytes(environment), 0);
	assert_int_equal(agent_environment_bytes(none), 0);
	assert_int_equal(agent_environment_bytes(NULL), 0);
}

TEST(judged)
{
	static const struct {
		const char *preload;
		enum heap_miss why;
	} cases[] = {
	    {"/proc/self/exe", HEAP_MISS_NONE},
	    {"/proc/self/root/x/" OURS, HEAP_MISS_AGENT},
	    {"libcpuperf-agent.so", HEAP_MISS_NONE},
	    {"libcpuperf-agent.so:/usr/lib/libasan.so.8", HEAP_MISS_SANITIZER},
	    {"/usr/lib/libasan.so.8", HEAP_MISS_SANITIZER},
	    {"libcpuperf-agent.so:/usr/lib/libclang_rt.tsan-x86_64.so", HEAP_MISS_SANITIZER},
	    {"libcpuperf-agent.so:/usr/libasan./a.so", HEAP_MISS_NONE},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char variable[256];
		char *const environment[] = {variable, NULL};

		snprintf(variable, sizeof(variable), "LD_PRELOAD=%s", cases[i].preload);
		if (agent_environment_judge(environment, false) != cases[i].why)
			fail_msg("%s", cases[i].preload);
	}
}

/* What the environment gets, in one text. */
static const char *with_kind(char *const *environment, bool is_other)
{
	static char text[1024];
	size_t bytes = agent_environment_bytes_with(environment, is_other), len = 0;
	void *to = bytes ? malloc(bytes) : NULL;
	char *const *got =
	    to ? agent_environment_copy_with(environment, to, is_other) : environment;

	*text = '\0';
	for (; got && *got; got++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s;", *got);
	free(to);
	return text;
}

static const char *with(char *const *environment)
{
	return with_kind(environment, false);
}

TEST(added)
{
	static char ours[] = "LD_PRELOAD=/a.so:" OURS " /b.so", socket[] = "CPUPERF_HEAP=x",
		    other[] = "CPUPERF_HEAP=other", own[] = "LD_PRELOAD=/o.so:/p.so",
		    empty[] = "LD_PRELOAD=", a[] = "A=1";
	char *const first[] = {ours, socket, NULL}, *const none[] = {NULL};

	assert_string_equal(with(none), ""); /* nothing is known yet */
	agent_environment_keep(first);
	assert_string_equal(with(none), "LD_PRELOAD=" OURS ";CPUPERF_HEAP=x;");
	assert_string_equal(with(NULL), "LD_PRELOAD=" OURS ";CPUPERF_HEAP=x;");
	assert_string_equal(with((char *[]){a, NULL}), "A=1;LD_PRELOAD=" OURS ";CPUPERF_HEAP=x;");
	assert_string_equal(with((char *[]){own, a, NULL}),
			    "LD_PRELOAD=" OURS ":/o.so:/p.so;A=1;CPUPERF_HEAP=x;");
	assert_string_equal(with((char *[]){empty, NULL}), "LD_PRELOAD=" OURS ";CPUPERF_HEAP=x;");
	assert_string_equal(with((char *[]){ours, NULL}),
			    "LD_PRELOAD=/a.so:" OURS " /b.so;CPUPERF_HEAP=x;");
	/* a session within this one */
	assert_string_equal(with((char *[]){own, other, NULL}),
			    "LD_PRELOAD=" OURS ":/o.so:/p.so;CPUPERF_HEAP=other;");
	assert_int_equal(agent_environment_bytes_with(first, false), 0);
}

/* A program of the machine's other kind gets the agent that stands beside ours, and not ours. */
TEST(added_to_other_programs)
{
	static char ours[] = "LD_PRELOAD=/a.so:" OURS " /b.so", socket[] = "CPUPERF_HEAP=x",
		    narrow[] = "LD_PRELOAD=" NARROW ":/a.so",
		    both[] = "LD_PRELOAD=" NARROW ":" OURS;
	char *const first[] = {ours, socket, NULL}, *const none[] = {NULL};

	agent_environment_keep(first);
	assert_string_equal(with_kind(none, true), "LD_PRELOAD=" NARROW ";CPUPERF_HEAP=x;");
	assert_string_equal(with_kind(first, true),
			    "LD_PRELOAD=" NARROW ":/a.so:/b.so;CPUPERF_HEAP=x;");
	assert_string_equal(with_kind((char *[]){narrow, socket, NULL}, false),
			    "LD_PRELOAD=" OURS ":/a.so;CPUPERF_HEAP=x;");
	assert_string_equal(with_kind((char *[]){both, socket, NULL}, false),
			    "LD_PRELOAD=" OURS ";CPUPERF_HEAP=x;");
	assert_string_equal(with_kind((char *[]){both, socket, NULL}, true),
			    "LD_PRELOAD=" NARROW ";CPUPERF_HEAP=x;");
	assert_int_equal(agent_environment_bytes_with((char *[]){narrow, socket, NULL}, true), 0);
	assert_false(agent_environment_has_other()); /* /x is not there */
	assert_int_equal(agent_environment_judge(first, true), HEAP_MISS_AGENT);
}

TEST(readable)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char **list = (char **)(page + 4096 - 2 * sizeof(*list));
	char *at_end = page + 4096 - 2 * sizeof(*list) - 1;

	munmap(page + 4096, 4096);
	assert_true(agent_environment_is_readable(NULL));
	assert_true(agent_environment_is_readable(environ));
	for (int i = 0; i < 3; i++)
		assert_false(agent_environment_is_readable((char **)(uintptr_t)(8 * i + 1)));
	list[0] = at_end;
	list[1] = NULL;
	assert_true(agent_environment_is_readable(list));
	list[1] = (char *)8;
	assert_false(agent_environment_is_readable(list));
	list[1] = page + 4096;
	assert_false(agent_environment_is_readable(list));
	list[1] = page; /* the list does not end */
	assert_false(agent_environment_is_readable(list));
	memset(page, 'x', 4096 - 2 * sizeof(*list));
	list[0] = page; /* nor does a text, but for what lies behind it */
	list[1] = NULL;
	assert_true(agent_environment_is_readable(list));
	memset(list, 'x', 2 * sizeof(*list));
	assert_false(agent_is_readable_text(page));
	munmap(page, 4096);
}

/* --- the judge */

static enum loadable judge_bytes(const void *bytes, size_t len)
{
	struct loadable_judged judged;
	int fd = memfd_create("program", 0);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len), len);
	errno = 55;
	loadable_judge_open(fd, &judged);
	assert_int_equal(errno, 55);
	close(fd);
	return judged.answer;
}

static enum loadable judge_text(const char *text)
{
	return judge_bytes(text, strlen(text));
}

/* What is said of the shell itself: it may be static. */
static enum loadable shell(void)
{
	struct loadable_judged judged;

	loadable_judge(AT_FDCWD, "/bin/sh", &judged);
	assert_int_not_equal(judged.answer, LOADABLE_UNREADABLE);
	return judged.answer;
}

TEST(scripts)
{
	char line[600] = "#!/";

	assert_int_equal(judge_text("#!/bin/sh\n"), shell());
	assert_int_equal(judge_text("#! \t/bin/sh -e\n"), shell());
	assert_int_equal(judge_text("#!/bin/sh"), shell());
	assert_int_equal(judge_text("echo\n"), shell()); /* of sh */
	assert_int_equal(judge_text(""), shell());
	assert_int_equal(judge_text("#!/nowhere/x\n"), LOADABLE_UNREADABLE);
	memset(line + 3, 'x', sizeof(line) - 4);
	assert_int_equal(judge_text(line), LOADABLE_UNREADABLE);
}

TEST(scripts_without_end)
{
	char path[64], text[80];
	struct loadable_judged judged;
	int fd = memfd_create("script", 0);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(text, sizeof(text), "#!%s\n", path);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	loadable_judge(AT_FDCWD, path, &judged);
	assert_int_equal(judged.answer, LOADABLE_UNREADABLE);
	close(fd);
}

/* A program by hand: its headers and one string. */
struct program {
	ElfW(Ehdr) e;
	ElfW(Phdr) h[3];
	ElfW(Dyn) d[3];
	char loader[64], strings[64];
};

static struct program make_program(const char *loader, const char *needed)
{
	static struct program p;
	const ElfW(Ehdr) *own = (const void *)getauxval(AT_SYSINFO_EHDR);

	memset(&p, 0, sizeof(p));
	memcpy(p.e.e_ident, own->e_ident, EI_NIDENT);
	p.e.e_machine = own->e_machine;
	p.e.e_phentsize = sizeof(p.h[0]);
	p.e.e_phoff = offsetof(struct program, h);
	p.e.e_phnum = 3;
	p.h[0] = (ElfW(Phdr)){.p_type = PT_LOAD, .p_vaddr = 0x4000, .p_filesz = sizeof(p)};
	p.h[1] = (ElfW(Phdr)){.p_type = PT_INTERP,
			      .p_offset = offsetof(struct program, loader),
			      .p_filesz = strlen(loader) + 1};
	p.h[2] = (ElfW(Phdr)){
	    .p_type = PT_DYNAMIC, .p_offset = offsetof(struct program, d), .p_filesz = sizeof(p.d)};
	p.d[0] = (ElfW(Dyn)){.d_tag = DT_NEEDED, .d_un.d_val = 1};
	p.d[1] = (ElfW(Dyn)){.d_tag = DT_STRTAB,
			     .d_un.d_ptr = 0x4000 + offsetof(struct program, strings)};
	strcpy(p.loader, loader);
	strcpy(p.strings + 1, needed);
	return p;
}

#if defined(__x86_64__)
struct narrow {
	Elf32_Ehdr e;
	Elf32_Phdr h[3];
	Elf32_Dyn d[3];
	char loader[64], strings[64];
};

static struct narrow make_narrow(const char *loader, const char *needed)
{
	const struct program wide = make_program(loader, needed);
	struct narrow p = {.e = {.e_machine = EM_386,
				 .e_phentsize = sizeof(p.h[0]),
				 .e_phoff = offsetof(struct narrow, h),
				 .e_phnum = 3}};

	memcpy(p.e.e_ident, wide.e.e_ident, EI_NIDENT);
	p.e.e_ident[EI_CLASS] = ELFCLASS32;
	p.h[0] = (Elf32_Phdr){.p_type = PT_LOAD, .p_vaddr = 0x4000, .p_filesz = sizeof(p)};
	p.h[1] = (Elf32_Phdr){.p_type = PT_INTERP,
			      .p_offset = offsetof(struct narrow, loader),
			      .p_filesz = (uint32_t)strlen(loader) + 1};
	p.h[2] = (Elf32_Phdr){
	    .p_type = PT_DYNAMIC, .p_offset = offsetof(struct narrow, d), .p_filesz = sizeof(p.d)};
	p.d[1] = (Elf32_Dyn){.d_tag = DT_NEEDED, .d_un.d_val = 1};
	p.d[0] = (Elf32_Dyn){.d_tag = DT_STRTAB,
			     .d_un.d_ptr = 0x4000 + offsetof(struct narrow, strings)};
	memcpy(p.loader, wide.loader, sizeof(p.loader));
	memcpy(p.strings, wide.strings, sizeof(p.strings));
	return p;
}

/* Programs of 32 bits are the other agent's; what it could not load either is said as of ours. */
TEST(other_programs)
{
	struct narrow p = make_narrow("/lib/ld-linux.so.2", "libc.so.6");

	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_OTHER);
	assert_string_equal(loadable_reason(LOADABLE_OTHER), loadable_reason(LOADABLE_FOREIGN));
	p.e.e_machine = EM_ARM;
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_FOREIGN);
	p.e.e_machine = EM_X86_64; /* x32 */
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_FOREIGN);
	p = make_narrow("/lib/ld-linux.so.2", "libasan.so.8");
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_SANITIZER);
	p = make_narrow("/lib/ld-musl-i386.so.1", "libc.so");
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_LOADER);
	p.h[1].p_type = PT_NULL;
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_STATIC);
	p.e.e_phentsize = sizeof(Elf64_Phdr);
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_FOREIGN);
}
#endif

static const char *own_loader(void)
{
	const ElfW(Phdr) *h = (const void *)getauxval(AT_PHDR);
	uint64_t base = 0;

	for (; h->p_type != PT_INTERP; h++)
		base = h->p_type == PT_PHDR ? (uint64_t)h - h->p_vaddr : base;
	return (const char *)(base + h->p_vaddr);
}

TEST(programs)
{
	struct program p = make_program(own_loader(), "libc.so.6");

	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_YES);
	p.e.e_ident[EI_CLASS] ^= ELFCLASS32 ^ ELFCLASS64;
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_FOREIGN);
	p = make_program(own_loader(), "libasan.so.8");
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_SANITIZER);
	p.e.e_machine++;
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_FOREIGN);
	p = make_program("/lib/ld-musl-x86_64.so.1", "libc.so");
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_LOADER);
	p.h[1].p_type = PT_NULL;
	assert_int_equal(judge_bytes(&p, sizeof(p)), LOADABLE_STATIC);
}

static int add_filter(void)
{
	struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	const struct sock_fprog program = {1, all};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Each that is installed counts, where the kernel says how many there are. */
TEST(filters)
{
	const uint32_t before = loadable_nr_filters();
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		uint32_t now;

		for (int i = 0; i < 2; i++)
			if (add_filter())
				_exit(77);
		now = loadable_nr_filters();
		_exit(now != before + 2 && now != LOADABLE_NOT_KNOWN);
	}
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) == 77)
		print_message("skip: filters: they cannot be installed here\n");
	else
		assert_int_equal(status, 0);
}

/* Cut anywhere, with any byte changed: there is an answer. */
TEST(damaged)
{
	const struct program whole = make_program(own_loader(), "libasan.so.8");
	struct program p = whole;

	for (size_t len = 4; len < sizeof(p); len += 3)
		(void)judge_bytes(&whole, len);
	for (size_t i = 0; i < sizeof(p); i++) {
		((unsigned char *)&p)[i] ^= 0xff;
		(void)judge_bytes(&p, sizeof(p));
		p = whole;
	}
}

TEST(named)
{
	struct loadable_judged judged;

	loadable_judge_named("/nowhere::/bin:/usr/bin", "sh", &judged);
	assert_int_equal(judged.answer, shell());
	loadable_judge_named(NULL, "sh", &judged);
	assert_int_equal(judged.answer, shell());
	loadable_judge_named("/bin", "not-there-at-all", &judged);
	assert_int_equal(judged.answer, LOADABLE_UNREADABLE);
	assert_string_equal(judged.name, "not-there-at-all");
	loadable_judge_named("/bin", "", &judged);
	assert_int_equal(judged.answer, LOADABLE_UNREADABLE);
	loadable_judge_named(NULL, "/bin/sh", &judged);
	assert_int_equal(judged.answer, shell());
	assert_string_equal(judged.name, "sh");
}
