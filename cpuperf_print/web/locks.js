/*
 * The locks at which threads waited, as a table: those of the most time first.
 */
const LOCKS_AT_ONCE = 50;

class LockTable {
	constructor(page) {
		const rows = page.data.locks || [];
		const ids = { rows: 'lock-rows', filter: 'lock-filter', more: 'more-locks', counted: 'counted-locks' };
		const columns = columnsOfLocks(rows);

		byId('locks').hidden = rows.length === 0;
		if (rows.length === 0)
			return;
		this.table = new FilteredTable(ids, rows, columns, columns.findIndex((c) => c.isFirst), {
			nrShown: LOCKS_AT_ONCE, textOf: (row) => [row.lock, row.kind, row.function, holderOf(row)].join(' '),
			countOf: (found) => found || `${plural(rows.length, 'futex').replace('xs', 'xes')}, at which threads waited` });
	}
}

/* "update 98 %"; a waker is none that held it. */
function holderOf(row) {
	const name = row.owner === undefined ? row.waker : row.owner;

	return name === undefined ? ''
		: `${row.owner === undefined ? 'woken by ' : ''}${name} ${(100 * row.part).toFixed(0)} %`;
}

function timeOfLock(row) {
	return `${time(row.time)}${row.half > 0 ? ` ± ${percent(row.half / row.time)}` : ''}`;
}

function columnsOfLocks(rows) {
	const number = (name, about, of, textOf) => ({ name, about, of, cell: (row) => element('td', textOf(row), 'number') });
	const words = (name, about, of, className) => ({ name, about, isText: true, of,
		cell: (row) => element('td', of(row), className) });
	const mean = (row) => (row.waits > 0 ? row.time / row.waits : 0);
	const pids = new Set(rows.map((row) => row.pid));

	return [
		words('Lock', 'A variable of the program, else an address', (row) => row.lock, 'name'),
		...pids.size > 1 ? [number('Process', 'Its number', (row) => row.pid, (row) => row.pid)] : [],
		words('Kind', 'By the functions that wait', (row) => row.kind),
		{ ...number('Time', 'How long threads waited there', (row) => row.time, timeOfLock), isFirst: true },
		number('Waits', 'How many ended', (row) => row.waits, (row) => whole(row.waits)),
		number('Mean', 'Of a wait that ended', mean, (row) => (row.waits > 0 ? time(mean(row)) : '')),
		number('Max', 'The longest wait', (row) => row.max, (row) => time(row.max)),
		number('Threads', 'How many waited', (row) => row.threads, (row) => row.threads),
		words('Held by', 'Because of whom most of it was waited, and that part', holderOf),
		words('Function', 'In which of the program most of it was waited', (row) => row.function, 'name'),
		words('Object', 'The file of the variable', (row) => row.object, 'object')];
}
