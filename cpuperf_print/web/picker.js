/*
 * A text field with a list of what could stand in it: with the mouse, and with arrows and Enter.
 */
class Picker {
	/* itemsOf: (text) => [{name, about}], pick: (item), nothing: what is said without any; isMarked: the first is
	 * chosen by Enter. */
	constructor(input, list, { itemsOf, pick, nothing = '', isMarked = false }) {
		Object.assign(this, { input, list, itemsOf, pick, nothing, isMarked });
		this.items = [];
		this.at = -1;
		input.addEventListener('input', () => this.open());
		input.addEventListener('blur', () => this.close());
		input.addEventListener('keydown', (event) => this.key(event));
		list.addEventListener('pointerdown', (event) => {
			const item = event.target.closest('li[role]');

			event.preventDefault(); /* the focus stays */
			if (item)
				this.pick(this.items[Number(item.dataset.at)]);
		});
	}

	open() {
		this.items = this.itemsOf(this.input.value);
		this.at = this.isMarked && this.items.length ? 0 : -1;
		this.list.replaceChildren(...this.items.map(({ name, about }, i) => {
			const item = element('li');

			item.id = `${this.list.id}-${i}`;
			item.role = 'option';
			item.dataset.at = i;
			item.append(element('b', name), element('span', ` ${about}`));
			return item;
		}));
		if (!this.items.length && this.nothing)
			this.list.append(element('li', this.nothing));
		this.list.hidden = !this.list.children.length;
		this.mark();
	}

	close() {
		this.list.hidden = true;
		this.at = -1;
		this.mark();
	}

	mark() {
		this.list.querySelectorAll('li').forEach((item, i) => item.setAttribute('aria-selected', String(i === this.at)));
		this.input.setAttribute('aria-expanded', String(!this.list.hidden));
		this.input.setAttribute('aria-activedescendant', this.at >= 0 ? `${this.list.id}-${this.at}` : '');
	}

	key(event) {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		const isOpen = !this.list.hidden;

		if (step && isOpen)
			this.at = Math.max(0, Math.min(this.items.length - 1, this.at + step));
		else if (step)
			this.open();
		else if (event.key === 'Enter' && isOpen && this.at >= 0)
			this.pick(this.items[this.at]);
		else if (event.key === 'Escape' && isOpen)
			this.close();
		else
			return;
		event.preventDefault();
		event.stopImmediatePropagation();
		this.mark();
	}
}
