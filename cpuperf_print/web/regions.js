/*
 * Regions that a program marks: slices of a thread on the axis of time, and the choice of samples by
 * region.
 */
const LEVEL_HEIGHT = 15;
const TRACK_LEAST = 40;
const INSTANT_HEIGHT = 5;

class RegionTrack {
	constructor(page, track, isShown) {
		this.page = page;
		this.levels = track.levels;
		this.name = threadName(track);
		this.isShown = isShown;
		this.instants = track.instants;
		this.height = Math.max(TRACK_LEAST, LEVEL_HEIGHT * this.levels.length + 6
			+ (this.instants.length ? INSTANT_HEIGHT + 2 : 0));
	}

	draw(view, y) {
		this.levels.forEach((slices, i) => {
			for (const slice of slices)
				this.drawSlice(view, slice, y + 3 + i * LEVEL_HEIGHT);
		});
		view.context.fillStyle = this.page.colors.accent;
		for (const instant of this.instants)
			view.context.fillRect(Math.round(view.xOfTime(instant.ns)) - 1, y + this.height - INSTANT_HEIGHT - 2,
				2, INSTANT_HEIGHT);
	}

	/* What is short is still seen. */
	drawSlice(view, slice, y) {
		const { context: c, canvas } = view;
		const left = Math.max(0, view.xOfTime(slice.begin));
		const right = Math.min(canvas.clientWidth, view.xOfTime(slice.end));
		const width = Math.max(right - left - (right - left > 3 ? 1 : 0), 0.6);

		if (right < 0 || left > canvas.clientWidth)
			return;
		c.fillStyle = this.color(slice.region);
		c.fillRect(left, y, width, LEVEL_HEIGHT - 1);
		if (width < 30)
			return;
		c.save();
		c.beginPath();
		c.rect(left, y, width, LEVEL_HEIGHT);
		c.clip();
		c.font = this.page.smallFont;
		c.textBaseline = 'middle';
		c.fillStyle = this.page.colors.frameText;
		c.fillText(this.page.data.regions[slice.region].name, left + 3, y + LEVEL_HEIGHT / 2);
		c.restore();
	}

	/* One for each name, whatever is around it. */
	color(region) {
		const { name } = this.page.data.regions[region];
		let hash = 7;

		for (const character of name)
			hash = Math.imul(hash ^ character.codePointAt(0), 0x01000193) >>> 0;
		return this.page.colors.of(region && { hue: hash % 360 }, 0);
	}

	/* The innermost slice at that time; null: what there is. */
	at(ns) {
		for (const slices of [...this.levels].reverse()) {
			const slice = slices.find((s) => s.begin <= ns && ns < s.end);

			if (slice)
				return slice;
		}
		return null;
	}

	/* What stands at most nearNs from that time, the last of each name. */
	instantsAt(ns, nearNs) {
		const near = this.instants.filter((i) => Math.abs(i.ns - ns) <= nearNs);
		const said = new Map(near.map((i) => [i.name, `${i.name}${i.value === null ? '' : ` = ${i.value}`}${
			i.nr > 1 ? ` and ${i.nr - 1} more` : ''}`]));

		return [...said.values()].slice(0, 3).map((text) => `; ${text}`).join('');
	}

	said(ns, nearNs) {
		const slice = ns === null ? null : this.at(ns);
		const calls = this.levels.flat().reduce((sum, s) => sum + s.calls, 0);

		if (ns === null)
			return `${plural(calls, 'call')} of regions${this.instants.length ? `, ${
				whole(this.instants.reduce((sum, i) => sum + i.nr, 0))} instants and values` : ''}`;
		if (!slice)
			return `no region${this.instantsAt(ns, nearNs)}`;
		return `${this.page.data.regions[slice.region].path}: ${slice.calls > 1
			? `${plural(slice.calls, 'call')} in ` : ''}${time(slice.end - slice.begin)}${slice.hasClosed
			? ', closed without an end' : ''}${this.instantsAt(ns, nearNs)}`;
	}
}

/* Those with samples in them or in what they contain, in the order of a tree. */
function regionsWithSamples(data) {
	const { cells, groups, regions } = data;
	const has = new Uint8Array(regions.length);
	const inner = new Map(regions.map((r, i) => [i, []]));
	const list = [];
	const add = (i) => inner.get(i).forEach((k) => {
		if (has[k])
			list.push(k);
		add(k);
	});

	for (let i = 0; i < cells.nr; i++)
		for (let k = groups.region[cells.group[i]]; k && !has[k]; k = regions[k].outer)
			has[k] = 1;
	for (let i = 1; i < regions.length; i++)
		inner.get(regions[i].outer).push(i);
	add(0);
	return list;
}
