/*
 * The tables and views of an exported database, as SQL that creates them; schemas/sqlite.md says
 * the same to people.
 */
#ifndef CPUPERF_PRINT_EXPORTS_SQLITE_SCHEMA_H
#define CPUPERF_PRINT_EXPORTS_SQLITE_SCHEMA_H

extern const char sqlite_schema_tables[]; /* before there are rows */
extern const char sqlite_schema_views[];  /* after */

#endif
