/*
 * Ranks, by what srun, mpirun and their like set in the environment.
 */
#include "job/rank.h"

#include "base/array.h"
#include "base/io.h"
#include "base/log.h"
#include "base/str.h"
#include "base/sys.h"
#include "program.h"
#include "spec/cpsession.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The first of which the rank is there. mpirun within a job of Slurm starts its helper by srun, so
 * the ranks have what that helper was; srun sets the variables of PMI too, to the same. */
static const struct {
	const char *rank, *size, *job, *step;
} starters[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE", NULL},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", NULL, NULL},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", NULL, NULL},
    {"PMIX_RANK", NULL, "PMIX_NAMESPACE", NULL},
};

static const char *variable(const char *name)
{
	const char *value = name ? secure_getenv(name) : NULL;

	return value && *value ? value : NULL;
}

/* size: NULL: unknown. srun sets its rank without a size for a batch script. */
static bool read_rank(const char *rank, const char *size, struct rank *r)
{
	const char *text = variable(rank), *of = variable(size);
	uint64_t number, nr = 0;

	if (!text || str_parse_u64(text, &number) || number > HOSTS_MAX_RANK ||
	    (size && (!of || str_parse_u64(of, &nr) || nr < 2 || number >= nr)))
		return false;
	r->part.rank = (int64_t)number;
	r->nr_ranks = nr;
	return true;
}

static void copy(char *out, size_t size, const char *text)
{
	snprintf(out, size, "%s", text ? text : "");
	str_clean(out, strlen(out));
}

bool rank_find(struct rank *r)
{
	size_t at = 0;

	hosts_part_init(&r->part);
	if (variable(RANK_MEASURED))
		return false;
	while (at < ARRAY_NR(starters) && !read_rank(starters[at].rank, starters[at].size, r))
		at++;
	if (at == ARRAY_NR(starters))
		return false;
	if (gethostname(r->part.node, sizeof(r->part.node) - 1))
		snprintf(r->part.node, sizeof(r->part.node), "localhost");
	str_clean(r->part.node, strlen(r->part.node));
	copy(r->part.host, sizeof(r->part.host), variable("SLURMD_NODENAME"));
	if (!*r->part.host)
		copy(r->part.host, sizeof(r->part.host), r->part.node);
	copy(r->part.job, sizeof(r->part.job), variable("SLURM_JOB_ID"));
	if (*r->part.job)
		copy(r->part.step, sizeof(r->part.step), variable("SLURM_STEP_ID"));
	else
		copy(r->part.job, sizeof(r->part.job), variable(starters[at].job));
	snprintf(r->part.tool, sizeof(r->part.tool), "cpuperf %s", CPUPERF_VERSION);
	return true;
}

/* cpuperf.JOB.STEP.session */
static void name_job(struct rank *r)
{
	struct hosts_part p;
	char name[NAME_MAX + 1];

	hosts_part_init(&p);
	snprintf(p.host, sizeof(p.host), "%s%s%s", *r->part.job ? r->part.job : "ranks",
		 *r->part.step ? "." : "", r->part.step);
	hosts_part_folder(&p, name); /* as a name of a file */
	snprintf(r->job, sizeof(r->job), "cpuperf.%s.session", name);
}

static int open_job(const struct rank *r, struct err *e)
{
	int rc = sys()->mkdirat(AT_FDCWD, r->job, 0700), fd;
	struct stat st;

	fd = rc && rc != -EEXIST
		 ? rc
		 : sys()->openat(AT_FDCWD, r->job, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				 0);
	if (fd < 0)
		return err_set_at(e, fd, r->job, 0, 0, "cannot be made: %s", strerror(-fd));
	rc = sys()->fstatat(fd, "", &st, AT_EMPTY_PATH);
	if (rc == 0 && st.st_uid == geteuid())
		return fd;
	io_close(&fd);
	return rc ? err_set_at(e, rc, r->job, 0, 0, "cannot be read: %s", strerror(-rc))
		  : err_set_at(e, -EPERM, r->job, 0, 0, "it belongs to another user");
}

int rank_make_folder(struct rank *r, const char *output, struct err *e)
{
	char name[NAME_MAX + 1];
	int fd;

	if (output)
		snprintf(r->job, sizeof(r->job), "%s", output);
	else
		name_job(r);
	hosts_part_folder(&r->part, name);
	if (snprintf(r->folder, sizeof(r->folder), "%s/%s", r->job, name) >= (int)sizeof(r->folder))
		return err_set(e, -ENAMETOOLONG, "%s: the name is too long", r->job);
	fd = open_job(r, e);
	if (fd < 0)
		return fd;
	io_close(&fd);
	return 0;
}

static void save(const struct rank *r)
{
	struct err e = {0};
	int rc = sys()->mkdirat(AT_FDCWD, r->folder, 0700);
	IO_AUTO_FD int fd = -1;

	if (rc == 0 || rc == -EEXIST)
		rc = fd = sys()->openat(AT_FDCWD, r->folder,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
	if (rc < 0)
		err_set_at(&e, rc, r->folder, 0, 0, "cannot be opened: %s", strerror(-rc));
	else
		(void)hosts_part_write(fd, r->folder, &r->part, &e);
	if (e.code)
		log_err(LOG_WARNING, &e);
}

void rank_begin(struct rank *r)
{
	r->part.status = HOSTS_PARTIAL;
	snprintf(r->part.reason, sizeof(r->part.reason),
		 "it is being recorded, or its recorder was killed");
	save(r);
}

void rank_end(struct rank *r, int status)
{
	bool is_whole = status >= EXIT_COMMAND || status == EXIT_DONE;

	r->part.status = is_whole ? HOSTS_OK : HOSTS_FAILED;
	*r->part.reason = '\0';
	if (!is_whole)
		snprintf(r->part.reason, sizeof(r->part.reason),
			 "cpuperf ended with exit status %d", status);
	if (status >= EXIT_COMMAND)
		r->part.exit_status = status - EXIT_COMMAND;
	save(r);
	if (r->part.rank == 0)
		log_info("this was rank 0%s%.0llu; the others print nothing; all are saved in %s",
			 r->nr_ranks ? " of " : "", (unsigned long long)r->nr_ranks, r->job);
}
