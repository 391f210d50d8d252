/*
 * The tables and views of an exported database, as SQL that creates them; schemas/sqlite.md
 * documents them.
 */
#ifndef CPUPERF_PRINT_EXPORTS_SQLITE_SCHEMA_H
#define CPUPERF_PRINT_EXPORTS_SQLITE_SCHEMA_H

extern const char sqlite_schema_tables[]; /* run before the rows are written */
extern const char sqlite_schema_views[];  /* run after the rows are written */

#endif
