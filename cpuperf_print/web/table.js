/*
 * The functions as a table: the content of the graph as text.
 */
const ROWS_AT_ONCE = 100;

class TableView extends SortedTable {
	constructor(page) {
		super(byId('functions'), byId('more'), ROWS_AT_ONCE, columnsOf(page.model, page), 0);
		this.page = page;
		this.model = page.model;
		byId('filter').addEventListener('input', () => {
			this.nrShown = ROWS_AT_ONCE;
			this.show();
		});
		this.rebuild();
	}

	/* Call after the selection changed. */
	rebuild() {
		this.all = this.model.functions();
		this.show();
	}

	classOf(row) {
		return this.page.isFound(row.of) ? 'found' : '';
	}

	show() {
		const wanted = byId('filter').value.trim().toLowerCase();
		const { functions, objects } = this.model.data;
		const isWanted = ({ of }) => functions[of].name.toLowerCase().includes(wanted) ||
			objects[functions[of].object].toLowerCase().includes(wanted);

		this.rows = wanted ? this.all.filter(isWanted) : this.all;
		super.show();
		byId('counted').textContent = `${wanted ? `${whole(this.rows.length)} of ${plural(this.all.length, 'function')}`
			: plural(this.all.length, 'function')}${
			this.model.isInProgram ? '; Self is of the program’s functions that called what allocates' : ''}`;
	}

	nameCell(row) {
		const cell = element('td', undefined, 'name');
		const button = element('button', this.model.data.functions[row.of].name);

		button.type = 'button';
		button.title = 'Show it in the graph';
		button.addEventListener('click', () => this.page.show(row.of));

		const calls = element('button', undefined, 'to-sandwich');

		calls.type = 'button';
		calls.title = 'Show its callers and callees';
		calls.setAttribute('aria-label', `Callers and callees of ${this.model.data.functions[row.of].name}`);
		calls.addEventListener('click', () => this.page.showSandwich(row.of));
		cell.append(button, calls);
		return cell;
	}
}

function shareCell(share) {
	const cell = element('td', undefined, 'number share');
	const bar = element('i');

	bar.style.width = `${Math.min(100, 100 * share)}%`;
	cell.append(bar, element('span', percent(share)));
	return cell;
}

/* Columns of the current numbers and, with --diff, of the older ones. */
function columnsOf(model, page) {
	const number = (text) => element('td', text, 'number');
	const columns = [
		{ name: 'Self', about: 'Samples taken in the function itself',
			of: (row) => row.self[0], cell: (row) => shareCell(model.share(row.self[0])) },
		{ name: 'Total', about: 'Samples with the function anywhere on the stack',
			of: (row) => row.total[0], cell: (row) => shareCell(model.share(row.total[0])) },
		{ name: 'Samples', about: 'Number of samples in the function itself',
			of: (row) => row.selfSamples[0], cell: (row) => number(whole(row.selfSamples[0])) },
		{ name: 'Self amount', about: 'What these samples stand for',
			of: (row) => row.self[0], cell: (row) => number(model.amount(row.self[0])) },
	];

	if (model.nrSides > 1)
		columns.push(...changeColumns(model, page));
	else if (model.data.stateFunctions.size)
		columns.push({ name: 'On CPU', about: 'Of the self amount, that on a CPU: the rest are waits',
			of: (row) => row.onCpu, cell: (row) => number(model.amount(row.onCpu)) });
	columns.push(
		{ name: 'Function', about: '', isText: true, of: (row) => model.data.functions[row.of].name,
			cell: (row, table) => table.nameCell(row) },
		{ name: 'Object', about: 'The program, library or kernel that it is in', isText: true,
			of: (row) => model.data.objects[model.data.functions[row.of].object],
			cell: (row) => element('td', model.data.objects[model.data.functions[row.of].object],
				'object') });
	return columns;
}

function changeColumns(model, page) {
	const change = (row) => model.share(row.self[0], 0) - model.share(row.self[1], 1);
	const changeCell = (row) => {
		const x = change(row);
		const cell = element('td', points(x), 'number');

		if (page.certain(row.of))
			cell.classList.add(x > 0 ? 'is-more' : 'is-less');
		return cell;
	};
	const certainCell = (row) => {
		const result = page.certainty(row.of);
		const text = result ? `${result.change > 0 ? '▲' : '▼'} ${
			points(result.change, result.half)}` : '';

		return element('td', text, `number ${result ? (result.change > 0 ? 'is-more' : 'is-less') : ''}`);
	};

	return [
		{ name: 'Self before', about: 'The same in what it is compared with',
			of: (row) => row.self[1], cell: (row) => shareCell(model.share(row.self[1], 1)) },
		{ name: 'Change', about: 'Difference of the shares', of: change, cell: changeCell },
		{ name: 'Certain', about: 'Changes that are beyond chance, over all the time',
			of: (row) => (page.certainty(row.of) || { change: 0 }).change, cell: certainCell },
	];
}
