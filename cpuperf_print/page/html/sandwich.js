/*
 * A function between its callers, which grow upward, and what it calls, below; with the same as a table.
 */
const PICKS = 12;

class CallsView extends GraphView {
	constructor(page, name, isUp) {
		super(page, { canvas: byId(name), scroll: byId(`${name}-scroll`), content: byId(`${name}-content`) }, isUp ? 'flame' : 'icicle');
		this.isUp = isUp;
	}

	giveHues() {
		this.objectColors = this.page.graph.objectColors;
	}

	get isInverted() {
		return this.isUp === true;
	}

	makeGraph() {
		return new CallsGraph(this.model, this.page.sandwich.of ?? ROOT, this.isInverted, this.page.graph.side, this.page.graph.hasStates);
	}

	get least() {
		return 1;
	}

	/* The function stands below its callers; it need not stand above what it calls, too. */
	get nrHidden() {
		return this.isUp ? 0 : 1;
	}

	get most() {
		return Math.max(120, Math.round(innerHeight * 0.3));
	}

	zoomChanged() {
		this.page.say(this.zoomed, this.graph);
	}
}

class SandwichView {
	constructor(page) {
		this.page = page;
		this.model = page.model;
		this.of = null;
		this.at = -1; /* of the matches */
		this.matches = [];
	}

	/* Once the page has its graph. */
	begin() {
		this.views = [new CallsView(this.page, 'callers', true), new CallsView(this.page, 'callees', false)];
		this.listen();
	}

	get isShown() {
		return !byId('sandwich').hidden;
	}

	/* The heaviest function that is not a state or a process, by itself. */
	first() {
		const { isState, tree } = this.model.data;
		const states = new Set(Array.from(tree.of).filter((of, i) => isState[i]));
		const rows = this.model.functions().filter((row) => !states.has(row.of));

		return rows.reduce((best, row) => (!best || row.self[0] > best.self[0] ? row : best), null);
	}

	/* Shows a function; null: the first one. */
	choose(of) {
		const first = of === null ? this.first() : null;

		this.of = first ? first.of : of;
		byId('pick').value = this.of === null ? '' : this.model.data.functions[this.of].name;
		this.closePicks();
		this.rebuild();
	}

	/* Call after the selection changed. */
	rebuild() {
		if (!this.isShown || this.of === null)
			return;
		for (const view of this.views) {
			view.zoomed = view.focused = null;
			view.giveHues();
			view.isFound = this.page.found;
			view.side = this.page.graph.side;
			view.hasStates = this.page.graph.hasStates;
			view.rebuild();
			view.showRoot();
		}
		this.showCalls();
		this.showCode();
	}

	layOut() {
		if (this.isShown && this.of !== null)
			this.views.forEach((view) => { view.layOut(); view.showRoot(); });
	}

	draw() {
		if (this.isShown)
			this.views.forEach((view) => view.draw());
	}

	/* Callers, the function itself, and what it calls. */
	showCalls() {
		const { model, page } = this;
		const { functions, objects } = model.data;
		const { side } = page.graph;
		const { root } = this.views[1].graph;
		const { callers, callees } = model.calls(this.of);
		const f = functions[this.of];
		const total = withHalf(model.share(root.weight[side], side), model.halfOf(root.from, true, side));
		const own = root.from.length ? this.nodesOfFunction() : [];
		const self = withHalf(model.share(root.self[side], side), model.halfOf(own, false, side));
		const line = (call, role) => this.makeRow(call, role, root.weight[side]);

		byId('sandwich-said').textContent = root.weight[side] ? `${f.name} · ${objects[f.object]} · total ${total}: ${
			model.amount(root.weight[side])}, ${plural(root.samples[side], 'sample')} · itself ${self}: ${
			model.amount(root.self[side])}` : `No selected sample has ${f.name} on its stack.`;
		document.querySelector('#calls tbody').replaceChildren(
			...callers.reverse().map((call) => line(call, 'calls it')),
			line({ of: this.of, weight: root.self, samples: [0, 1].map((s) => this.samplesOf(own, s)), nodes: own, isSelf: true }, 'itself'),
			...callees.map((call) => line(call, 'is called')));
	}

	/* Source lines and instructions, if the page has them: of all the time and of all threads. */
	showCode() {
		const { data, event } = this.model;
		const { name, object } = data.functions[this.of];
		const found = (data.code || []).find((c) => c.event === event && c.function === name && c.object === data.objects[object]);
		const hint = (text) => element('p', text, 'hint');

		byId('code').replaceChildren(...found ? codeSections(found)
			: [hint(data.code_sessions > 1 ? 'The code of functions is in the page of one session.'
				: !data.code_functions ? 'This page has no code of functions.'
					: `This page has the code of the ${plural(data.code_functions, 'function')} with the most samples of their own; ${
						'cpuperf_print --report=annotate --function= has that of any.'}`)]);
	}

	nodesOfFunction() {
		const { tree } = this.model.data;
		const nodes = [];

		for (let i = 1; i < tree.nr; i++)
			if (tree.of[i] === this.of)
				nodes.push(i);
		return nodes;
	}

	samplesOf(nodes, side) {
		return side < this.model.nrSides ? nodes.reduce((sum, i) => sum + this.model.selfSamples[side][i], 0) : 0;
	}

	makeRow(call, role, all) {
		const { model } = this;
		const { side } = this.page.graph;
		const f = model.data.functions[call.of];
		const row = element('tr', undefined, call.isSelf ? 'found' : '');
		const share = shareCell(model.share(call.weight[side], side));
		const half = model.halfOf(call.nodes, !call.isSelf, side);
		const name = element('td', undefined, 'name');
		const button = element('button', f.name);

		if (half !== null)
			share.append(element('small', ` ± ${ofHundred(half)}`));
		button.type = 'button';
		button.title = 'Show its callers and callees';
		button.addEventListener('click', () => this.page.showSandwich(call.of));
		name.append(button);
		row.append(share, shareCell(all ? call.weight[side] / all : 0), element('td', whole(call.samples[side]), 'number'),
			element('td', model.amount(call.weight[side]), 'number'), element('td', role, 'role'), name,
			element('td', model.data.objects[f.object], 'object'));
		return row;
	}

	/* --- the choice of a function --- */

	listen() {
		const pick = byId('pick');

		pick.addEventListener('input', () => this.showPicks());
		pick.addEventListener('focus', () => pick.select());
		pick.addEventListener('keydown', (event) => this.key(event));
		pick.addEventListener('blur', () => this.closePicks());
		byId('picks').addEventListener('pointerdown', (event) => {
			const item = event.target.closest('li');

			event.preventDefault(); /* the focus stays */
			if (item)
				this.page.showSandwich(Number(item.dataset.of));
		});
	}

	showPicks() {
		const wanted = byId('pick').value.trim().toLowerCase();
		const { functions, objects } = this.model.data;

		this.matches = this.model.functions().filter((row) => functions[row.of].name.toLowerCase().includes(wanted))
			.sort((a, b) => b.total[0] - a.total[0]).slice(0, PICKS);
		this.at = this.matches.length ? 0 : -1;
		byId('picks').replaceChildren(...this.matches.map((row, i) => {
			const item = element('li');

			item.id = `pick-${i}`;
			item.role = 'option';
			item.dataset.of = row.of;
			item.append(element('b', functions[row.of].name),
				element('span', ` ${percent(this.model.share(row.total[0]))} ${objects[functions[row.of].object]}`));
			return item;
		}));
		byId('picks').hidden = false;
		if (!this.matches.length)
			byId('picks').replaceChildren(element('li', 'No such function in the selected samples.'));
		this.showMarked();
	}

	showMarked() {
		byId('picks').querySelectorAll('li').forEach((item, i) => item.setAttribute('aria-selected', String(i === this.at)));
		byId('pick').setAttribute('aria-expanded', String(!byId('picks').hidden));
		byId('pick').setAttribute('aria-activedescendant', this.at >= 0 ? `pick-${this.at}` : '');
	}

	closePicks() {
		byId('picks').hidden = true;
		this.at = -1;
		this.showMarked();
	}

	key(event) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];

		if (step && !byId('picks').hidden)
			this.at = Math.max(0, Math.min(this.matches.length - 1, this.at + step));
		else if (step)
			this.showPicks();
		else if (event.key === 'Enter' && this.at >= 0)
			this.page.showSandwich(this.matches[this.at].of);
		else if (event.key === 'Escape' && !byId('picks').hidden)
			this.closePicks();
		else
			return;
		event.preventDefault();
		this.showMarked();
	}
}

function withHalf(share, half) {
	return half === null ? percent(share) : `${ofHundred(share)} ± ${ofHundred(half)} %`;
}
