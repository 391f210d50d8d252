/*
 * The kernel's own check decides: its fsuid is whose rights an open has, and takes the capabilities
 * that pass over permissions with it (capabilities(7)). It is without groups: the user's are not
 * looked up.
 */
#include "elf/rights.h"

#include "base/io.h"

#include <errno.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MAX_GROUPS = 65536 };

/* The rights before elf_rights_take. */
static struct {
	gid_t group[MAX_GROUPS];
	long nr_groups;
	bool are_taken;
} own;

struct elf_rights elf_rights_of_user(uint32_t uid)
{
	return geteuid() || !uid ? (struct elf_rights){.are_limited = false}
				 : (struct elf_rights){.are_limited = true, .uid = uid};
}

struct elf_rights elf_rights_of(const struct stat *st)
{
	return elf_rights_of_user(io_writer(st));
}

struct elf_rights elf_rights_of_both(struct elf_rights a, struct elf_rights b)
{
	return elf_rights_of_user(
	    io_writer_of_both(a.are_limited ? a.uid : 0, b.are_limited ? b.uid : 0));
}

static bool become(uint32_t uid, uint32_t gid)
{
	setfsgid(gid);
	setfsuid(uid);
	/* an invalid number changes nothing; each call returns what was there */
	return (uint32_t)setfsgid((gid_t)-1) == gid && (uint32_t)setfsuid((uid_t)-1) == uid;
}

int elf_rights_take(struct elf_rights rights)
{
	if (!rights.are_limited)
		return 0;
	/* setgroups(3) is about all threads of a process, and this may be a copy of one. */
	own.nr_groups = syscall(SYS_getgroups, MAX_GROUPS, own.group);
	if (own.nr_groups < 0 || syscall(SYS_setgroups, 0, NULL))
		return -EPERM;
	own.are_taken = true;
	if (become(rights.uid, IO_NOBODY))
		return 0;
	(void)elf_rights_return();
	return -EPERM;
}

int elf_rights_return(void)
{
	if (!own.are_taken)
		return 0;
	own.are_taken = false;
	return become(geteuid(), getegid()) && !syscall(SYS_setgroups, own.nr_groups, own.group)
		   ? 0
		   : -EPERM;
}
