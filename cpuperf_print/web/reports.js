/*
 * The reports of cpuperf_print as tables, each a view: of what is selected where a server is asked, else of all.
 */
const REPORTS = { threads: 'Threads', waits: 'Waits', locks: 'Locks', causal: 'Experiments', 'what-if': 'What if', regions: 'Regions', heap: 'Heap', sizes: 'Block sizes', lifetimes: 'Lifetimes', memory: 'Memory map',
	latency: 'Latencies', functions: 'Calls of functions', diff: 'Changes', hosts: 'Hosts', sessions: 'By session', 'top-down': 'Top-down', summary: 'Counts' };
const REPORT_ROWS = 200;
const SUMMARY_FIELDS = ['label', 'total', 'mean', 'deviation', 'min', 'max'];
/* Sums of the session's events, and what a target used: no events of it. */
const TIMES_OF_ALL = ['thread_time', 'wall_time', 'cpu_time'];

function changeOf(row, key) {
	return `${row[key] > 0 ? '+' : ''}${percent(row[key] / 100)}`;
}

/* The texts of rows' fields. events: those of the session. */
class FieldTexts {
	constructor(events) {
		this.events = events;
		/* by what the column is (screen/grid.h) */
		this.kinds = {
			count: (row, key) => whole(row[key]),
			number: (row, key) => String(row[key]),
			cpu: (row, key) => String(row[key]),
			percent: (row, key) => percent(row[key] / 100),
			change: changeOf,
			estimate: (row, key, unit) => this.estimate(row, key, unit),
			shift: (row, key, unit) => this.shift(row, key, unit),
		};
	}

	amount(row, count) {
		const event = this.events.find((e) => e.label === row.event);
		/* where the page has the time of threads, an event of one state is none of its own */
		const isTime = TIMES_OF_ALL.includes(row.event) || (!event && this.events.some((e) => TIMES_OF_ALL.includes(e.label)));

		return isTime ? time(count) : amount(count * (event?.scale || 1), event?.unit || '');
	}

	/* What was counted of an event, or in the unit of its column, or of its row. */
	number(row, key, unit) {
		const event = this.events.find((e) => key === `${e.label}_count`);
		const own = unit || ((row.summary || /^(value|mean|deviation|was|is)$/.test(key)) && row.unit) || '';
		const value = row[key];

		if (row.event && /^(.*_)?count$/.test(key))
			return this.amount(row, value);
		if (event)
			return amount(value * (event.scale || 1), event.unit);
		if (own || Number.isInteger(value))
			return amount(value, own);
		return String(Number(value.toPrecision(4)));
	}

	estimate(row, key, unit) {
		const half = row[key] ? halfOf(row, key) / row[key] : 0;
		const end = (of) => this.number({ ...row, [key]: Math.max(0, row[`${key}_${of}`]) }, key, unit);

		if (half >= 1)
			return `${end('low')} to ${end('high')}`;
		return `${this.number(row, key, unit)}${half > 0 ? ` ± ${percent(half)}` : ''}`;
	}

	shift(row, key, unit) {
		const half = row[`${key}_half`];
		const own = row.was === null ? '%' : unit; /* of a total there is no share */

		return `${changeOf(row, key).replace('%', own)}${half > 0 ? ` ± ${ofHundred(half / 100)}` : ''}`;
	}

	of(row, key, { kind, unit }) {
		const value = row[key];

		if (typeof value !== 'number')
			return String({ true: 'yes', false: '' }[value] ?? value ?? '');
		return (this.kinds[kind] || ((...args) => this.number(...args)))(row, key, unit);
	}
}

/* Rows by what of() says of them, in their order. */
function rowsBy(rows, of) {
	const groups = new Map();

	for (const row of rows) {
		const list = groups.get(of(row));

		if (list)
			list.push(row);
		else
			groups.set(of(row), [row]);
	}
	return groups;
}

class ReportView {
	constructor(page) {
		this.page = page;
		this.texts = new FieldTexts(page.data.events);
		this.names = Object.keys(REPORTS).filter((name) => page.source.reports.includes(name));
		this.shown = ''; /* '': the samples themselves */
		this.asked = ''; /* for what */
		this.tabs = ['', ...this.names].map((name) => {
			const button = element('button', REPORTS[name] || 'Overview');

			button.type = 'button';
			button.addEventListener('click', () => this.page.setReport(name));
			return button;
		});
		byId('views').replaceChildren(...this.tabs);
		byId('views').hidden = !this.names.length;
	}

	/* Call after the selection changed, too. */
	async show(name) {
		const { page } = this;
		const { source } = page;
		const args = source.isAsked ? String(page.arguments(name)) : '';
		const asked = `${name}?${args}`;

		this.shown = this.names.includes(name) ? name : '';
		['', ...this.names].forEach((tab, i) => this.tabs[i].toggleAttribute('aria-current', tab === this.shown));
		document.querySelector('main').classList.toggle('asks', this.shown !== '');
		byId('report').hidden = this.shown === '';
		if (this.shown === '' || (asked === this.asked && this.words === page.query.words))
			return;
		byId('report').setAttribute('aria-busy', 'true');
		if (asked !== this.asked)
			this.answer = source.ask(name, args);
		[this.asked, this.words] = [asked, page.query.words];
		try {
			const answer = await this.answer;

			if (this.asked !== asked)
				return; /* another one was asked for meanwhile */
			this.draw(answer);
			page.fault('');
		} catch (error) {
			if (this.asked !== asked)
				return;
			byId('report').replaceChildren();
			page.fault(error.message);
		}
		byId('report').setAttribute('aria-busy', 'false');
		page.showNotes();
	}

	draw({ rows, columns }) {
		const { page, shown } = this;
		const words = page.query.words.toLowerCase();
		const has = (row) => Object.values(row).some((x) => typeof x === 'string' && x.toLowerCase().includes(words));
		const list = (shown === 'summary' ? rows.filter((row) => row.summary && row.mean !== null) : rows).filter((row) => !words || has(row));
		const title = element('div', undefined, 'title');

		title.append(element('h2', REPORTS[shown]), element('p', page.source.isAsked || page.isUnfiltered ? ''
			: 'of all samples: cpuperf_print --serve has the selected ones', 'hint'));
		byId('report').replaceChildren(title, ...[...rowsBy(list, (row) => (shown === 'summary' ? '' : row.event || ''))].flatMap(([event, of]) =>
			[...event ? [element('h3', event)] : [], this.table(of, columns, event)]));
		if (!list.length)
			byId('report').append(element('p', words ? `No row has “${page.query.words}”.` : 'Nothing was sampled or counted here.'));
	}

	/* Fields as columns, those that some row has, texts first; a number with its interval as one, a share without its time. */
	table(rows, columns, event) {
		const some = Object.assign({}, ...rows.map((r) => Object.fromEntries(
			Object.entries(r).filter(([, value]) => value !== null && value !== ''))));
		const keys = (this.shown === 'summary' ? SUMMARY_FIELDS : Object.keys(rows[0])).filter((key) => key in some && key !== 'report' && (key !== 'event' || !event) &&
			!/_(low|high)(_ns)?$|_half$/.test(key) && !(key.endsWith('_ns') && columns.get(key.slice(0, -3))?.kind === 'share'));
		const isText = (key) => typeof some[key] !== 'number';
		const isName = (key) => isText(key) && key !== 'object';
		const table = element('table');
		const box = element('div', undefined, 'wide');
		const more = element('button');

		table.append(element('caption', `${REPORTS[this.shown]} ${event}`, 'unseen'), element('thead'), element('tbody'));
		table.tHead.append(element('tr'));

		const sorted = new SortedTable(table, more, REPORT_ROWS, [...keys.filter(isName), ...keys.filter((key) => !isName(key))].map((key) => ({
			name: key.replace(/_ns$/, '').replaceAll('_', ' '), isText: isText(key), of: (row) => row[key] ?? (isText(key) ? '' : -Infinity),
			cell: (row) => this.cell(row, key, columns.get(key) || {}) })), -1);

		sorted.rows = rows;
		sorted.show();
		box.append(table, more);
		return box;
	}

	cell(row, key, column) {
		const { page } = this;
		const value = row[key];
		const filter = { pid: 'pid', tid: 'tid', comm: 'thread' }[key];
		const text = this.texts.of(row, key, column);

		if (column.kind === 'share')
			return shareOf(row, key);
		if (key === 'function' && page.functionOf(value, row.object || '') !== null)
			return buttonCell(text, 'Show its callers and callees', 'name', () => page.showSandwich(page.functionOf(value, row.object || '')));
		if (filter && text)
			return buttonCell(text, 'Select it', typeof value === 'number' ? 'number name' : 'name',
				() => page.changeQuery('', `${filter}:${quoted(value)}`));
		return element('td', text, typeof value === 'number' ? 'number' : key === 'object' ? 'object' : '');
	}
}

function buttonCell(text, title, className, act) {
	const cell = element('td', undefined, className);
	const button = element('button', text);

	button.type = 'button';
	button.title = title;
	button.addEventListener('click', act);
	cell.append(button);
	return cell;
}
