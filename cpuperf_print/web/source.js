/*
 * Where the page's data and its reports are from: the page itself, or the server that sent it.
 */
/* A header's characters are bytes. */
function columnsIn(header) {
	const bytes = Uint8Array.from(header || '[]', (c) => c.charCodeAt(0));

	return JSON.parse(new TextDecoder().decode(bytes));
}

/* By name, what is in a column. */
function columnMap(columns) {
	return new Map(columns.map(([name, kind, unit]) => [name, { kind, unit }]));
}

/* What was written into the page: reports are of all its samples. */
class Embedded {
	constructor(data) {
		this.data = data;
		this.reports = (data.reports || []).map((report) => report.name);
	}

	get isAsked() {
		return false;
	}

	async ask(name) {
		const { rows, columns } = this.data.reports.find((report) => report.name === name);

		return { rows, columns: columnMap(columns) };
	}
}

/* What cpuperf_print --serve answers. */
class Asked {
	get isAsked() {
		return true;
	}

	async fetch(path) {
		const answer = await fetch(path, { credentials: 'same-origin' });

		if (answer.ok)
			return answer;

		const { error, hint } = await answer.json();

		throw new Error(`${error}${hint ? ` — ${hint}` : ''}`);
	}

	/* query: with what the server selects. */
	async open(query) {
		const [facts, data] = await Promise.all(['/api/session', `/api/page?${argumentsOf(query, null, true)}`]
			.map(async (path) => (await this.fetch(path)).json()));

		this.facts = facts;
		this.reports = [...facts.reports, ...facts.sessions.length > 1 && facts.reports.includes('flat') ? ['sessions'] : []];
		this.data = data;
	}

	async ask(name, args) {
		const answer = await this.fetch(name === 'sessions' ? `/api/flat?by-session=1&top=2000&${args}` : `/api/${name}?${args}`);
		const rows = (await answer.text()).split('\n').filter((line) => line).map((line) => JSON.parse(line));

		return { rows, columns: columnMap(columnsIn(answer.headers.get('Cpuperf-Columns'))) };
	}

	/* What must be known of what was asked for. */
	async notes() {
		[this.facts] = [await (await this.fetch('/api/session')).json()];
		return this.facts.notes;
	}
}
