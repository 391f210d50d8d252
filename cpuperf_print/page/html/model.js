/*
 * The selection, and the sums of its samples: by node, function and slice of time. Must not depend
 * on the page.
 */
class Model {
	constructor(data) {
		this.data = data;
		this.event = Math.max(0, data.events.findIndex((e) => e.samples[0] > 0));
		this.who = () => true; /* whether a thread is selected */
		this.within = () => true; /* whether a region is */
		this.first = 0;
		this.end = data.nr_slices;
		this.nrSides = data.sides.length;
		this.self = data.sides.map(() => new Float64Array(data.tree.nr));
		this.selfSamples = data.sides.map(() => new Float64Array(data.tree.nr));
		this.total = data.sides.map(() => new Float64Array(data.tree.nr));
		this.totalSamples = data.sides.map(() => new Float64Array(data.tree.nr));
		this.slices = data.sides.map(() => new Float64Array(data.nr_slices));
		this.laneSlices = data.lanes.names.map(() => new Float64Array(data.nr_slices)); /* now */
		this.add();
	}

	get isAllTime() {
		return this.first === 0 && this.end === this.data.nr_slices;
	}

	get unit() {
		return this.data.events[this.event].unit;
	}

	amount(weight) {
		return amount(weight * (this.data.events[this.event].scale || 1), this.unit);
	}

	all(side = 0) {
		return this.total[side][0];
	}

	allSamples(side = 0) {
		return this.totalSamples[side][0];
	}

	/* The share of the selection. */
	share(weight, side = 0) {
		return this.all(side) ? weight / this.all(side) : 0;
	}

	chooseGroups() {
		const { groups, threads } = this.data;

		this.isWanted = Uint8Array.from(groups.event, (event, i) =>
			event === this.event && this.who(threads[groups.thread[i]], groups.thread[i]) && this.within(groups.region[i]) ? 1 : 0);
	}

	/* Call after each change of the selection. */
	add() {
		const { cells, groups, lanes, tree } = this.data;

		this.chooseGroups();
		this.ofFunctions = null;
		for (const list of [this.self, this.selfSamples, this.slices, this.laneSlices])
			list.forEach((numbers) => numbers.fill(0));
		for (let i = 0; i < cells.nr; i++) {
			const group = cells.group[i];

			if (!this.isWanted[group])
				continue;

			const side = groups.side[group];
			const slice = cells.slice[i];

			this.slices[side][slice] += cells.weight[i];

			const lane = lanes.of[groups.thread[group]];

			if (side === 0 && lane >= 0)
				this.laneSlices[lane][slice] += cells.weight[i];
			if (slice < this.first || slice >= this.end)
				continue;
			this.self[side][cells.node[i]] += cells.weight[i];
			this.selfSamples[side][cells.node[i]] += cells.samples[i];
		}
		for (let side = 0; side < this.nrSides; side++) {
			addUp(tree, this.self[side], this.total[side]);
			addUp(tree, this.selfSamples[side], this.totalSamples[side]);
		}
	}

	/* Self and total weights of functions. */
	functions() {
		this.ofFunctions = this.ofFunctions || this.addFunctions();
		return this.ofFunctions;
	}

	addFunctions() {
		const { tree, outermost, functions } = this.data;
		const rows = functions.map((f, of) => ({
			of, self: [0, 0], selfSamples: [0, 0], total: [0, 0], totalSamples: [0, 0] }));

		for (let side = 0; side < this.nrSides; side++)
			for (let i = 1; i < tree.nr; i++) {
				const row = rows[tree.of[i]];

				row.self[side] += this.self[side][i];
				row.selfSamples[side] += this.selfSamples[side][i];
				row.total[side] += outermost[i] ? this.total[side][i] : 0;
				row.totalSamples[side] += outermost[i] ? this.totalSamples[side][i] : 0;
			}
		return rows.filter((row) => row.totalSamples[0] + row.totalSamples[1] > 0);
	}

	/* The share of the selected samples with one of these functions on their stack. */
	found(isFound, side = 0) {
		const { tree } = this.data;
		const below = new Uint8Array(tree.nr);
		let weight = 0;

		for (let i = 1; i < tree.nr; i++) {
			below[i] = isFound[tree.of[i]] || below[tree.parent[i]] ? 1 : 0;
			weight += below[i] ? this.self[side][i] : 0;
		}
		return this.share(weight, side);
	}

	/* The samples of these nodes (self, or with those below) by slice of time; and of each lane. */
	slicesOf(nodes, withBelow) {
		const { cells, groups, lanes, tree } = this.data;
		const all = new Float64Array(this.data.nr_slices);
		const ofLanes = this.laneSlices.map(() => new Float64Array(this.data.nr_slices));

		for (const node of nodes) {
			const end = cells.first[withBelow ? tree.end[node] : node + 1];

			for (let i = cells.first[node]; i < end; i++) {
				const group = cells.group[i];

				if (!this.isWanted[group] || groups.side[group] !== 0)
					continue;
				all[cells.slice[i]] += cells.weight[i];

				const lane = lanes.of[groups.thread[group]];

				if (lane >= 0)
					ofLanes[lane][cells.slice[i]] += cells.weight[i];
			}
		}
		return { all, lanes: ofLanes };
	}

	/* The colour of a change of a share: from -1 to 1; near 0 if it may be due to chance. */
	change(weight, samples) {
		const share = [this.share(weight[0], 0), this.share(weight[1], 1)];
		const n = [this.allSamples(0), this.allSamples(1)];
		const part = (samples[0] + samples[1]) / (n[0] + n[1] || 1);
		const sigma = Math.sqrt(part * (1 - part) * (1 / (n[0] || 1) + 1 / (n[1] || 1)));
		const chance = this.data.events[this.event].exact ? 3 : sigma ? Math.abs(share[0] - share[1]) / sigma : 0;
		const least = 0.5 / (n[0] + n[1] || 1);
		const times = Math.log2((share[0] + least) / (share[1] + least));

		return Math.max(-1, Math.min(1, times)) * Math.min(1, (chance / 3) ** 2);
	}
}

/* Adds up each node and those below it. */
function addUp(tree, self, total) {
	total.set(self);
	for (let i = tree.nr - 1; i > 0; i--)
		total[tree.parent[i]] += total[i];
}

/*
 * The graph as shown: the tree, or the sampled functions with their callers; with states as frames,
 * or without. A frame's children are made on request, so only visible ones are.
 */
class Frame {
	constructor(of, parent, from, at) {
		this.of = of; /* UINT32_MAX: the root */
		this.parent = parent;
		this.depth = parent ? parent.depth + 1 : 0;
		this.from = from; /* nodes whose samples it contains */
		this.at = at;     /* by callers: the current ancestor of each node; else null */
		this.weight = [0, 0];
		this.samples = [0, 0];
		this.self = [0, 0];
		this.start = 0; /* as a part of the whole width */
		this.width = 1;
		this.inner = null;
		this.states = null;
	}

	get way() {
		const way = [];

		for (let frame = this; frame.parent; frame = frame.parent)
			way.unshift(frame.of);
		return way;
	}
}

class Graph {
	constructor(model, isInverted, side, hasStates) {
		this.model = model;
		this.isInverted = isInverted;
		this.side = side;
		this.hasStates = hasStates;
		this.root = new Frame(0xffffffff, null, [0], null);
		for (let s = 0; s < model.nrSides; s++) {
			this.root.weight[s] = model.all(s);
			this.root.samples[s] = model.allSamples(s);
		}
	}

	children(frame) {
		if (!frame.inner) {
			frame.inner = this.isInverted ? this.callers(frame) : this.callees(frame);
			this.place(frame);
		}
		return frame.inner;
	}

	take(frame, node, weights, samples) {
		for (let s = 0; s < this.model.nrSides; s++) {
			frame.weight[s] += weights[s][node];
			frame.samples[s] += samples[s][node];
		}
	}

	isHidden(node) {
		return !this.hasStates && this.model.data.isState[node] === 1;
	}

	callees(frame) {
		const { model } = this;
		const { tree } = model.data;
		const byFunction = new Map();
		const add = (i) => {
			const child = getChild(byFunction, frame, tree.of[i], null);

			child.from.push(i);
			this.take(child, i, model.total, model.totalSamples);
			for (let s = 0; s < model.nrSides; s++)
				child.self[s] += model.self[s][i];
		};
		const addInner = (node) => {
			for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
				if (this.isHidden(i))
					addInner(i);
				else if (model.totalSamples.some((side) => side[i]))
					add(i);
		};

		frame.from.forEach(addInner);
		return [...byFunction.values()];
	}

	caller(node) {
		const { parent } = this.model.data.tree;
		let at = parent[node];

		while (this.isHidden(at))
			at = parent[at];
		return at;
	}

	callers(frame) {
		const { model } = this;
		const { tree } = model.data;
		const byFunction = new Map();
		const add = (leaf, at) => {
			if (at <= 0 || !model.selfSamples.some((side) => side[leaf]))
				return;

			const child = getChild(byFunction, frame, tree.of[at], []);

			child.from.push(leaf);
			child.at.push(at);
			this.take(child, leaf, model.self, model.selfSamples);
		};

		if (frame.parent)
			frame.from.forEach((leaf, i) => add(leaf, this.caller(frame.at[i])));
		else
			for (let i = 1; i < tree.nr; i++)
				add(i, this.isHidden(i) ? this.caller(i) : i);

		const list = [...byFunction.values()];

		if (!frame.parent)
			list.forEach((child) => { child.self = child.weight; });
		return list.sort((a, b) => b.weight[0] + b.weight[1] - a.weight[0] - a.weight[1]);
	}

	/* The weight of a frame by the function that is its state, the heaviest first. */
	statesOf(frame) {
		const { model, side } = this;
		const { tree, isState, stateOf } = model.data;
		const weights = (this.isInverted && frame.parent ? model.self : model.total)[side];
		const byState = new Map();
		const add = (node) => {
			if (weights[node])
				byState.set(stateOf[node], (byState.get(stateOf[node]) || 0) + weights[node]);
		};
		const addInner = (node) => {
			for (let i = node + 1; i < tree.end[node]; i = isState[i] ? tree.end[i] : i + 1)
				if (isState[i])
					add(i);
		};

		frame.from.forEach((node) => (stateOf[node] === 0xffffffff ? addInner(node) : add(node)));
		frame.states = [...byState].sort((a, b) => b[1] - a[1]);
		return frame.states;
	}

	place(frame) {
		let start = frame.start;

		for (const child of frame.inner) {
			child.start = start;
			child.width = this.model.share(child.weight[this.side], this.side);
			start += child.width;
		}
	}

	/* The frame at this path, or the last one on the path that exists. */
	find(way) {
		let frame = this.root;

		for (const of of way) {
			const next = this.children(frame).find((child) => child.of === of);

			if (!next)
				break;
			frame = next;
		}
		return frame;
	}

	/* The samples of a frame by slice of time. */
	slices(frame) {
		return this.model.slicesOf(frame.from, !this.isInverted || !frame.parent);
	}
}

function getChild(byFunction, parent, of, at) {
	let child = byFunction.get(of);

	if (!child)
		byFunction.set(of, child = new Frame(of, parent, [], at ? [] : null));
	return child;
}
