/*
 * What this user may measure, and what would permit more.
 */
#include "rights.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/log.h"
#include "base/self.h"
#include "base/str.h"
#include "host/host.h"
#include "target/command.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

/* What the terminal and the messages are, and where the caller's command is looked for. */
static const char *const harmless[] = {"TERM",     "COLORTERM", "LANG", "LC_ALL",
				       "LC_CTYPE", "NO_COLOR",  "PATH"};
static char **original;

static bool is_harmless(const char *variable)
{
	size_t len = strcspn(variable, "=");

	for (size_t i = 0; i < ARRAY_NR(harmless); i++)
		if (strlen(harmless[i]) == len && memcmp(variable, harmless[i], len) == 0)
			return strcmp(harmless[i], "PATH") == 0 || !strchr(variable, '/');
	return false;
}

void rights_clean_environment(void)
{
	static char *kept[ARRAY_NR(harmless) + 1];
	size_t nr = 0;

	original = environ;
	if (!getauxval(AT_SECURE))
		return;
	for (char **v = environ; v && *v && nr < ARRAY_NR(harmless); v++)
		if (is_harmless(*v))
			kept[nr++] = *v;
	environ = kept;
}

char **rights_environment(void)
{
	return original;
}

enum { MAX_QUOTED = 4 * PATH_MAX };

/* The program's path, quoted for a shell. */
static void quote_program(char quoted[MAX_QUOTED])
{
	char path[PATH_MAX];

	(void)self_path(path);
	target_command_quote((char *[]){path, NULL}, quoted, MAX_QUOTED);
	str_disarm(quoted);
}

/* NULL ends the lines; empty ones are skipped. */
static void add_lines(const char *what, const char *introduction, const char *const *lines,
		      const struct rights_ways *out)
{
	if (out->is_short) {
		buf_printf(out->text, "\nTo measure %s: --verbose prints how\n", what);
		return;
	}
	if (!log_is_json())
		buf_printf(out->text, "\nTo measure %s, %s:\n", what, introduction);
	for (; *lines; lines++) {
		if (**lines && log_is_json())
			buf_printf(out->text, "to measure %s, %s: %s\n", what, introduction,
				   *lines);
		else if (**lines)
			buf_printf(out->text, "  %s\n", *lines);
	}
}

void rights_print(const struct buf *ways)
{
	const char *line = buf_str(ways), *end;

	if (!log_is_json() && ways->len)
		log_text(line, ways->len);
	for (; log_is_json() && (end = strchr(line, '\n')); line = end + 1)
		log_info("%.*s", (int)(end - line), line);
}

/* For events and for programs in the kernel. */
static const char *capabilities(const struct host *h)
{
	return h->has_cap_perfmon ? "cap_perfmon,cap_bpf" : "cap_sys_admin";
}

/* The lines that let the program's file, or the container, do what is asked for. */
static void add_capability(const struct host *h, enum host_grant grant, struct buf *out)
{
	const char *capability = capabilities(h);
	char program[MAX_QUOTED];

	quote_program(program);
	if (grant == HOST_GRANT_FILE) /* chown removes capabilities: first */
		buf_printf(out,
			   "sudo chown root:%u %s && sudo chmod 0750 %s && sudo setcap "
			   "%s,cap_syslog=ep %s",
			   (unsigned)getgid(), program, program, capability, program);
	else if (grant == HOST_GRANT_CONTAINER)
		buf_printf(out, "%s%s",
			   h->has_cap_perfmon ? "--cap-add=PERFMON --cap-add=BPF"
					      : "--cap-add=SYS_ADMIN",
			   "  # if still refused: --security-opt=seccomp=unconfined");
}

void rights_add_ways(const struct host *h, const char *what, int paranoid, bool needs_programs,
		     const struct rights_ways *out)
{
	static const char *const introductions[] = {
	    [HOST_GRANT_FILE] = "type one of these lines",
	    [HOST_GRANT_CONTAINER] =
		"start the container with this option, or type the line outside of it",
	    [HOST_GRANT_NONE] = "type outside of the user namespace",
	};
	BUF_AUTO(way, 4 * MAX_QUOTED);
	char sysctl[128];

	add_capability(h, h->grant, &way);
	snprintf(sysctl, sizeof(sysctl), "sudo sysctl kernel.perf_event_paranoid=%d%s", paranoid,
		 needs_programs ? "  # permits no programs in the kernel (BPF)" : "");
	add_lines(what, introductions[h->grant], (const char *[]){buf_str(&way), sysctl, NULL},
		  out);
}

void rights_add_programs(const struct host *h, const char *what, const struct rights_ways *out)
{
	static const char *const introductions[] = {
	    [HOST_GRANT_FILE] = "type this line",
	    [HOST_GRANT_CONTAINER] = "start the container with this option",
	    [HOST_GRANT_NONE] = "measure as root, outside of the user namespace",
	};
	/* what root is refused, its container refuses: no capability of a file helps */
	const enum host_grant grant =
	    h->grant == HOST_GRANT_FILE && geteuid() == 0 ? HOST_GRANT_CONTAINER : h->grant;
	BUF_AUTO(way, 4 * MAX_QUOTED);
	BUF_AUTO(with, MAX_QUOTED);
	char program[MAX_QUOTED];

	add_capability(h, grant, &way);
	quote_program(program);
	if (grant == HOST_GRANT_NONE)
		buf_printf(&way, "sudo %s", program);
	buf_printf(&with, "%s with programs in the kernel (BPF)", what);
	add_lines(buf_str(&with), introductions[grant], (const char *[]){buf_str(&way), NULL}, out);
}

void rights_add_waits(const char *target, const struct rights_ways *out)
{
	BUF_AUTO(way, 2 * MAX_QUOTED);
	char program[MAX_QUOTED];

	quote_program(program);
	buf_printf(&way, "%s --spec-file=wall %s", program, target);
	add_lines("waits without more rights", "type this line",
		  (const char *[]){buf_str(&way), NULL}, out);
}

void rights_add_times(const char *target, const struct rights_ways *out)
{
	BUF_AUTO(way, 2 * MAX_QUOTED);
	char program[MAX_QUOTED];

	quote_program(program);
	buf_printf(&way, "%s -g -e resource:cpu_time@997Hz,resource:real_time@997Hz %s", program,
		   target);
	add_lines("time by timers in the program, without perf events", "type this line",
		  (const char *[]){buf_str(&way), NULL}, out);
}

void rights_add_calls(const char *what, const char *remedy, const struct rights_ways *out)
{
	BUF_AUTO(in_program, MAX_QUOTED);

	buf_printf(&in_program, "function:%s in the program, without more rights", what);
	add_lines(buf_str(&in_program), "do this", (const char *[]){remedy, NULL}, out);
}

void rights_add_buffers(const struct host *h, const struct rights_ways *out)
{
	char program[MAX_QUOTED];
	BUF_AUTO(way, 2 * MAX_QUOTED);

	quote_program(program);
	buf_printf(&way, "sudo setcap %s,cap_syslog,cap_ipc_lock=ep %s", capabilities(h), program);
	add_lines("with larger buffers", "type this line", (const char *[]){buf_str(&way), NULL},
		  out);
}
