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
		this.picker.close();
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
			model.amount(root.weight[side])}, ${model.samplesText(root.samples[side], f)} · itself ${self}: ${
			model.amount(root.self[side])}` : `No selected sample has ${f.name} on its stack.`;
		document.querySelector('#calls tbody').replaceChildren(
			...callers.reverse().map((call) => line(call, 'calls it')),
			line({ of: this.of, weight: root.self, samples: [0, 1].map((s) => this.samplesOf(own, s)), nodes: own, isSelf: true }, 'itself'),
			...callees.map((call) => line(call, 'is called')));
	}

	/* Source lines and instructions, if they are known: of all the time and of all threads. */
	showCode() {
		const { data, event } = this.model;
		const { name, object } = data.functions[this.of];
		const is = (c) => c.function === name && c.object === data.objects[object];
		const found = (data.code || []).find((c) => c.event === event && is(c));
		const hint = (text) => element('p', text, 'hint');

		byId('code').replaceChildren(...found ? codeSections(found)
			: [hint(data.code_sessions > 1 ? 'The code of functions is in the page of one session.'
				: !data.code_functions ? 'This page has no code of functions.'
					: `This page has the code of the ${plural(data.code_functions, 'function')} with the most samples of their own; ${
						'cpuperf_print --report=annotate --function= has that of any.'}`)]);
		if (!found && this.page.source.isAsked && data.objects[object])
			this.askCode(name, is, data.events[event].label);
	}

	/* Of any function a server knows its code. */
	async askCode(name, is, label) {
		const { of } = this;
		const { rows } = await this.page.source.ask('annotate', new URLSearchParams({ function: exactly(name) })).catch(() => ({ rows: [] }));
		const own = rows.filter((row) => row.event === label && is(row));
		const linesOf = (kind) => own.filter((row) => row.kind === kind);

		if (this.of === of && own.length)
			byId('code').replaceChildren(...codeSections({ lines: linesOf('line'), instructions: linesOf('instruction'),
				samples: linesOf('instruction').reduce((sum, row) => sum + row.self_samples, 0), missing: 'the file was not found' }));
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

	listen() {
		const { functions, objects } = this.model.data;

		this.picker = new Picker(byId('pick'), byId('picks'), {
			isMarked: true, nothing: 'No such function in the selected samples.',
			itemsOf: (text) => this.model.functions().filter((row) => functions[row.of].name.toLowerCase().includes(text.trim().toLowerCase()))
				.sort((a, b) => b.total[0] - a.total[0]).slice(0, PICKS).map((row) => ({ of: row.of, name: functions[row.of].name,
					about: `${percent(this.model.share(row.total[0]))} ${objects[functions[row.of].object]}` })),
			pick: (item) => this.page.showSandwich(item.of) });
		byId('pick').addEventListener('focus', () => byId('pick').select());
	}
}

/* A pattern that matches this name alone: without one of its characters it would match parts. */
function exactly(name) {
	const pattern = name.replace(/[*?[]/g, '[$&]').replace(/\\/g, '\\\\');

	return /^[!^\]\\]/.test(pattern) || /\[/.test(pattern) ? pattern : `[${pattern[0]}]${pattern.slice(1)}`;
}

function withHalf(share, half) {
	return half === null ? percent(share) : `${ofHundred(share)} ± ${ofHundred(half)} %`;
}
