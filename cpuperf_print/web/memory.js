/*
 * The map of a target's memory as a table: a row of each kind and object, and of each kind its sum.
 */
const MAPPINGS_AT_ONCE = 50;
const MOMENTS = ['begin', 'peak', 'end'];
const PEAK = 1;
/* As rows have them, at each moment. */
const AMOUNTS = ['mappings', 'size', 'resident', 'proportional', 'dirty', 'swapped', 'huge'];
const RESIDENT = AMOUNTS.indexOf('resident');

class MemoryTable {
	constructor(page) {
		const { memory } = page.data;

		byId('memory').hidden = !memory;
		if (!memory)
			return;
		const ids = { rows: 'memory-rows', filter: 'memory-filter', more: 'more-memory', counted: 'counted-memory' };
		const times = memory.times.map((ns, i) => `${MOMENTS[i]} ${instant(ns)}`).join(', ');

		this.table = new FilteredTable(ids, [...sumsOfKinds(memory.rows), ...memory.rows], columnsOfMemory(memory.rows), 2 + PEAK, {
			nrShown: MAPPINGS_AT_ONCE, textOf: (row) => `${row.kind} ${row.object}`,
			countOf: (found) => `${found ? `${found}; ` : ''}${times}: of resident memory; the other columns are at the peak` });
	}
}

/* Of kinds of several objects. */
function sumsOfKinds(rows) {
	const kinds = new Map();

	for (const row of rows)
		kinds.set(row.kind, [...(kinds.get(row.kind) || []), row]);
	return [...kinds].filter(([, of]) => of.length > 1).map(([kind, of]) => ({ kind, object: 'all', isSum: true,
		at: MOMENTS.map((m, i) => AMOUNTS.map((a, k) => of.reduce((sum, row) => sum + row.at[i][k], 0))) }));
}

function columnsOfMemory(rows) {
	const bytes = (name, about, of) => ({ name, about, of,
		cell: (row) => element('td', amount(of(row), 'B'), 'number') });
	const change = (row) => row.at[2][RESIDENT] - row.at[0][RESIDENT];
	const isUsed = (k) => rows.some((row) => row.at.some((at) => at[k] > 0));
	const others = [
		['size', 'What is mapped'],
		['dirty', 'Written, and not on a disk'],
		['swapped', 'On a swap device'],
		['huge', 'In huge pages'],
	].filter(([name]) => name === 'size' || isUsed(AMOUNTS.indexOf(name)));

	return [
		{ name: 'Kind', about: '', isText: true, of: (row) => row.kind, cell: (row) => element('td', row.kind) },
		{ name: 'Object', about: 'A file, or a name that the memory has', isText: true, of: (row) => row.object,
			cell: (row) => element('td', row.object, row.isSum ? undefined : 'object') },
		...MOMENTS.map((name, i) => bytes(name, `Resident memory at the ${name}`, (row) => row.at[i][RESIDENT])),
		{ name: 'change', about: 'Of resident memory, from begin to end', of: change,
			cell: (row) => element('td', `${change(row) > 0 ? '+' : ''}${amount(change(row), 'B')}`, 'number') },
		...others.map(([name, about]) => bytes(name, `${about}, at the peak`,
			(row) => row.at[PEAK][AMOUNTS.indexOf(name)])),
		{ name: 'mappings', about: 'How many, at the peak', of: (row) => row.at[PEAK][0],
			cell: (row) => element('td', whole(row.at[PEAK][0]), 'number') }];
}
