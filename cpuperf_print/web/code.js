/*
 * Source lines and instructions as tables. Rows have the keys of --report=annotate.
 */
const CODE_ROWS = 200;

/* The larger distance of a number from the ends of its interval. */
function halfOf(row, name) {
	return Math.max(row[`${name}_high`] - row[name], row[name] - row[`${name}_low`]);
}

/* Shares are percentages. */
function shareOf(row, name) {
	const share = row[name];
	const cell = element('td', undefined, 'number share');
	const bar = element('i');

	if (share === null || share === undefined)
		return cell;
	bar.style.width = `${Math.min(100, share)}%`;
	cell.append(bar, element('span', percent(share / 100)));
	if (row[`${name}_high`] > row[`${name}_low`])
		cell.append(element('small', ` ± ${ofHundred(halfOf(row, name) / 100)}`));
	return cell;
}

function cellOf(text, className) {
	return element('td', text === null || text === undefined ? '' : String(text), className);
}

/* columns: {name, of: (row) => the cell, isNumber} */
function tableOf(rows, columns, caption) {
	const box = element('div', undefined, 'wide');
	const table = element('table');
	const head = element('tr');
	const body = element('tbody');
	const more = element('button');
	let nr = 0;
	const grow = () => {
		rows.slice(nr, nr + CODE_ROWS).forEach((row) => {
			const line = element('tr', undefined, row.className);

			line.append(...columns.map((c) => {
				const cell = c.of(row);

				cell.classList.toggle('extra', !!c.isExtra);
				return cell;
			}));
			body.append(line);
		});
		nr += CODE_ROWS;
		more.hidden = nr >= rows.length;
		more.textContent = `Show more of ${whole(Math.max(0, rows.length - nr))}`;
	};

	columns.forEach((c) => {
		const cell = element('th', c.name, `${c.isNumber ? 'number' : ''}${c.isExtra ? ' extra' : ''}`);

		cell.scope = 'col';
		head.append(cell);
	});
	table.append(element('caption', caption, 'unseen'), element('thead'), body);
	table.querySelector('thead').append(head);
	more.type = 'button';
	more.addEventListener('click', grow);
	grow();
	box.append(table, more);
	return box;
}

/* That others jump here, and where an instruction of these rows jumps to: down or up. */
function markOf(row, rows) {
	const [first, last] = [rows[0], rows[rows.length - 1]].map((r) => BigInt(r.address || 0));
	const to = row.target ? BigInt(row.target) : null;
	const isInside = to !== null && to >= first && to <= last;

	return `${row.jumps ? '→' : ''}${!isInside ? '' : to > BigInt(row.address) ? '↓' : '↑'}`;
}

/* Instructions with their marks. */
function withMarks(rows) {
	const known = rows.filter((row) => row.address);

	return rows.map((row) => (row.address ? { ...row, mark: markOf(row, known) } : row));
}

const CODE = [
	{ name: 'Self', isNumber: true, of: (row) => shareOf(row, 'self') },
	{ name: 'Samples', isNumber: true, isExtra: true,
		of: (row) => cellOf(row.self_samples ? whole(row.self_samples) : '', 'number') },
	{ name: '', isNumber: true, of: (row) => cellOf(row.address || row.line, 'number object') },
	{ name: '', of: (row) => cellOf(row.mark, 'mark') },
	{ name: 'Code', of: (row) => cellOf(row.text === null || row.text === undefined
		? row.file ? `${row.file}:${row.line}` : '' : row.text, 'code') },
	{ name: 'Inlined', isExtra: true, of: (row) => cellOf(row.inlined, 'object') },
];

/* Of a function of the page: its rows, with a line for those that are omitted. */
function codeSections(code) {
	const rowsOf = (rows, what) => withMarks(rows.map((row) => (typeof row === 'number'
		? { text: `… ${plural(row, what)} without samples`, className: 'omitted' } : row)));
	/* a line above those of another file */
	const byFile = (rows) => rows.flatMap((row, i) => {
		const before = rows.slice(0, i).reverse().find((r) => r.file);

		return before && row.file && before.file !== row.file ? [{ text: row.file, className: 'omitted' }, row] : [row];
	});
	const files = code.lines.filter((row) => row.file).map((row) => row.file);
	const isKnown = code.lines.some((row) => row.line);
	const hasText = code.instructions.some((row) => row.text !== undefined);
	const heading = (text) => element('h3', text);
	const said = [`Self weights are of the function’s ${plural(code.samples, 'sample')}, of all the time and all threads.`,
		code.skid ? `Samples are ${code.skid}.` : ''];
	const lines = isKnown ? [heading(`Source lines, ${files[0]}`), tableOf(byFile(rowsOf(code.lines, 'line')), CODE, 'Source lines')]
		: [element('p', 'No source lines: no debug information was found.', 'hint')];
	const instructions = hasText || !code.missing ? [heading('Instructions'),
		tableOf(rowsOf(code.instructions, 'instruction'), CODE, 'Instructions')]
		: [element('p', `No instructions: ${code.missing}.`, 'hint')];

	return [element('p', said.join(' '), 'hint'), ...lines, ...instructions];
}
