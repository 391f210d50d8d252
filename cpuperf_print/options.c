/*
 * The options of cpuperf_print, one row each. Help, completion and the man page come from here.
 * Knows nothing of what the options do.
 */
#include "options.h"

#include <stddef.h>

#define AT(field) offsetof(struct options, field)

static const struct opt_row rows[] = {
    {"session", OPT_REQUIRED, "FILE", OPT_COMPLETE_FILE, NULL, "Input",
     "The .cpsession file to print. Its traces are sought in the same folder, by the last part of "
     "the recorded prefix, so that a copied session prints too.",
     opt_set_string, AT(session)},
    {"output-format", OPT_REQUIRED, "FORMAT", OPT_COMPLETE_WORDS, "text csv ndjson raw", "Output",
     "text (the default): for people. csv: one line per number. ndjson: one JSON object per "
     "number. raw: the records as they are, with their offset in the file.",
     opt_set_string, AT(output_format)},
    {"output-file", OPT_REQUIRED, "PATH", OPT_COMPLETE_FILE, NULL, "Output",
     "Write to this file instead of the standard output.", opt_set_string, AT(output_file)},
    OPT_STD_ROWS(struct options, std),
};

const struct opt_table cpuperf_print_options = {
    .program = "cpuperf_print",
    .summary = "prints the traces of a cpuperf session",
    .usage = "  cpuperf_print --session=FILE [--output-format=FORMAT] [--output-file=PATH]",
    .rows = rows,
    .nr_rows = sizeof(rows) / sizeof(rows[0]),
    .footer = "Exit status: 0 all was printed; 1 something failed or could not be read (what is\n"
	      "readable is printed all the same); 2 wrong usage.\n\n"
	      "Example:\n  cpuperf_print --session=/tmp/cpuperf.cpsession\n",
};
