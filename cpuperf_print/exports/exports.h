/*
 * The formats of other programs. Each function prints a job: 0 or -errno with *e.
 *
 * Each has a folder here; code that only knows a format's bytes is in lib/export. They stream:
 * memory grows at most with the number of distinct stacks.
 */
#ifndef CPUPERF_PRINT_EXPORTS_EXPORTS_H
#define CPUPERF_PRINT_EXPORTS_EXPORTS_H

struct err;
struct job;

int export_folded(struct job *j, struct err *e);
int export_svg(struct job *j, struct err *e);
int export_dot(struct job *j, struct err *e);
int export_pprof(struct job *j, struct err *e);
int export_otlp(struct job *j, struct err *e);
int export_speedscope(struct job *j, struct err *e);
int export_perfetto(struct job *j, struct err *e);
int export_chrome(struct job *j, struct err *e);
int export_openmetrics(struct job *j, struct err *e);
int export_prometheus(struct job *j, struct err *e);
int export_sqlite(struct job *j, struct err *e);
int export_parquet(struct job *j, struct err *e);
int export_html(struct job *j, struct err *e);
int export_html_data(struct job *j, struct err *e); /* of the page, without it */
int export_perf_data(struct job *j, struct err *e);

#endif
