/*
 * The functions as a table: the content of the graph as text.
 */
const ROWS_AT_ONCE = 100;

class TableView {
	constructor(page) {
		this.page = page;
		this.model = page.model;
		this.columns = columnsOf(this.model, page);
		this.by = this.columns.findIndex((c) => c.isFirst);
		this.isDown = true;
		this.nrShown = ROWS_AT_ONCE;
		this.makeHeader();
		byId('filter').addEventListener('input', () => {
			this.nrShown = ROWS_AT_ONCE;
			this.show();
		});
		byId('more').addEventListener('click', () => {
			this.nrShown *= 5;
			this.show();
		});
		this.rebuild();
	}

	makeHeader() {
		const row = document.querySelector('#functions thead tr');

		this.headers = this.columns.map((column, i) => {
			const cell = element('th', undefined, column.isText ? '' : 'number');
			const button = element('button', column.name);

			cell.scope = 'col';
			button.type = 'button';
			button.title = column.about;
			button.addEventListener('click', () => this.sortBy(i));
			cell.append(button);
			return cell;
		});
		row.replaceChildren(...this.headers);
	}

	sortBy(i) {
		this.isDown = this.by === i ? !this.isDown : !this.columns[i].isText;
		this.by = i;
		this.show();
	}

	/* Call after the selection changed. */
	rebuild() {
		this.rows = this.model.functions();
		this.show();
	}

	sorted() {
		const wanted = byId('filter').value.trim().toLowerCase();
		const { functions, objects } = this.model.data;
		const { of } = this.columns[this.by];
		const isWanted = (row) => functions[row.of].name.toLowerCase().includes(wanted) ||
			objects[functions[row.of].object].toLowerCase().includes(wanted);
		const rows = this.rows.filter((row) => !wanted || isWanted(row));
		const order = this.isDown ? -1 : 1;

		return rows.map((row) => ({ row, key: of(row) })).sort((a, b) =>
			(a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * order || a.row.of - b.row.of)
			.map((item) => item.row);
	}

	show() {
		const rows = this.sorted();

		this.shown = rows.slice(0, this.nrShown);
		this.headers.forEach((cell, i) => {
			if (i === this.by)
				cell.setAttribute('aria-sort', this.isDown ? 'descending' : 'ascending');
			else
				cell.removeAttribute('aria-sort');
		});
		document.querySelector('#functions tbody').replaceChildren(
			...this.shown.map((row) => this.makeRow(row)));
		byId('counted').textContent = `${rows.length === this.rows.length ? plural(rows.length, 'function')
			: `${whole(rows.length)} of ${plural(this.rows.length, 'function')}`}${
			this.model.isInProgram ? '; Self is of the program’s functions that called what allocates' : ''}`;
		byId('more').hidden = rows.length <= this.nrShown;
		byId('more').textContent = `Show more of ${whole(rows.length - this.shown.length)}`;
	}

	makeRow(row) {
		const line = element('tr');

		line.append(...this.columns.map((column) => column.cell(row, this)));
		if (this.page.isFound(row.of))
			line.className = 'found';
		return line;
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
		{ name: 'Self', about: 'Samples taken in the function itself', isFirst: true,
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
