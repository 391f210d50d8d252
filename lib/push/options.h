/*
 * The options of pushing, which both programs have: where profiles are sent, as whom, and what
 * waits for how long.
 */
#ifndef PUSH_OPTIONS_H
#define PUSH_OPTIONS_H

#include "base/opt.h"

#include <signal.h>
#include <stdint.h>

struct err;

/* Strings are borrowed; NULL: not given. */
struct push_options {
	const char *url, *name, *credentials, *ca, *spool, *limits, *wait;
	struct opt_strings labels;
};

#define PUSH_DEFAULT_LIMITS "bytes:64MiB,seconds:24h"
#define PUSH_DEFAULT_WAIT   "10s"

/* For a cpuperf_print that was started with it blocked: breaks off what it sends; requests have
 * their usual time until then. */
#define PUSH_END_SIGNAL SIGUSR1

#define PUSH_OPTION_ROW(name_, metavar_, complete_, help_, set_, offset_)                          \
	{                                                                                          \
		.name = name_, .arg = OPT_REQUIRED, .metavar = metavar_, .complete = complete_,    \
		.section = "Pushing", .help = help_, .set = set_, .offset = offset_                \
	}

/* Rows for a table whose target is a `type` with a struct push_options `member`. */
#define PUSH_OPTION_ROWS(type, member, what, excludes_)                                            \
	{.name = "push",                                                                           \
	 .arg = OPT_REQUIRED,                                                                      \
	 .metavar = "URL",                                                                         \
	 .section = "Pushing",                                                                     \
	 .help = what                                                                              \
	 " Before https:// stands the interface: pyroscope+, ingest+ (the older one of "           \
	 "Pyroscope), parca+ or otlp+ (OpenTelemetry's profiles, v1development); http:// only to " \
	 "this machine. See cpuperf-push(7).",                                                     \
	 .set = opt_set_string,                                                                    \
	 .offset = offsetof(type, member.url),                                                     \
	 .excludes = excludes_},                                                                   \
	    PUSH_OPTION_ROW("push-name", "NAME", OPT_COMPLETE_NONE,                                \
			    "The name of the service in what is pushed; the default is that of "   \
			    "the command, or the spec's config_name.",                             \
			    opt_set_string, offsetof(type, member.name)),                          \
	    PUSH_OPTION_ROW("push-label", "KEY=VALUE", OPT_COMPLETE_NONE,                          \
			    "Add a label to all profiles that are pushed. May be repeated, up to " \
			    "16 times.",                                                           \
			    opt_add_string, offsetof(type, member.labels)),                        \
	    PUSH_OPTION_ROW("push-credentials", "FILE", OPT_COMPLETE_FILE,                         \
			    "Send what FILE contains with each request: a line bearer TOKEN or "   \
			    "basic USER:PASSWORD. Its mode must not let others read it.",          \
			    opt_set_string, offsetof(type, member.credentials)),                   \
	    PUSH_OPTION_ROW("push-ca", "FILE", OPT_COMPLETE_FILE,                                  \
			    "The certificates of the authorities that are trusted, in place of "   \
			    "the system's.",                                                       \
			    opt_set_string, offsetof(type, member.ca)),                            \
	    PUSH_OPTION_ROW(                                                                       \
		"push-spool", "FOLDER", OPT_COMPLETE_DIR,                                          \
		"Profiles that wait for their receiver are stored in FOLDER, which is "            \
		"made with mode 0700; the default is push in the caller's state folder, "          \
		"~/.local/state/cpuperf.",                                                         \
		opt_set_string, offsetof(type, member.spool)),                                     \
	    PUSH_OPTION_ROW("push-limit", "LIMITS", OPT_COMPLETE_NONE,                             \
			    "Drop the oldest profiles that wait beyond these limits, as "          \
			    "bytes:1MiB,seconds:1h; the default is " PUSH_DEFAULT_LIMITS ".",      \
			    opt_set_string, offsetof(type, member.limits)),                        \
	    PUSH_OPTION_ROW("push-wait", "TIME", OPT_COMPLETE_NONE,                                \
			    "At the end, try to send what waits for at most TIME, or a second if " \
			    "that is less; a request that is not answered by then is broken off. " \
			    "The default is " PUSH_DEFAULT_WAIT                                    \
			    ". The rest is sent by the next session to that URL.",                 \
			    opt_set_string, offsetof(type, member.wait))

enum { PUSH_MAX_LABELS = 16, PUSH_KEY_BYTES = 64, PUSH_VALUE_BYTES = 256 };

struct push_labels {
	struct push_label {
		char key[PUSH_KEY_BYTES];
		const char *value; /* borrowed */
	} item[PUSH_MAX_LABELS];
	size_t nr;
};

struct push_limits {
	uint64_t bytes, age_ns;
};

/* -EINVAL with *e. */
int push_labels_parse(const struct opt_strings *texts, struct push_labels *out, struct err *e);
int push_limits_parse(const char *text, struct push_limits *out, struct err *e);
/* NULL: the default. */
int push_wait_parse(const char *text, uint64_t *ns, struct err *e);
/* All that can be refused before anything is measured: the values, and the credentials' file. url
 * NULL: the other options have no effect, and are an error. -errno with *e. */
int push_options_check(const struct push_options *o, struct err *e);

#endif
