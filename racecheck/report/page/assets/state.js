// One execution, and what was the case after each of its steps. Step -1 is the start.
const CHECKPOINT = 200;

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at += 1) bytes[at] = raw.charCodeAt(at);
  return bytes;
}

class Execution {
  constructor(view) {
    Object.assign(this, view);
    this.count = this.steps.length;
    this.trees = new Map([[-1, new Map(Object.entries(this.start))]]);
    this.whole = new Map();
    this.lockChanges = this.changesOf("locks", []);
    this.waitChanges = this.changesOf("waiting", {});
    this.prints = [[-1, this.printed]];
    this.moments.forEach((moment, index) => {
      if (moment.printed) this.prints.push([index, moment.printed]);
    });
  }

  changesOf(name, first) {
    const found = [[-1, first]];
    this.moments.forEach((moment, index) => {
      if (moment[name]) found.push([index, moment[name]]);
    });
    return found;
  }

  // The last entry at or before a step, of a list in the order of steps.
  static at(changes, step) {
    let low = 0;
    let high = changes.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (changes[middle][0] <= step) low = middle;
      else high = middle - 1;
    }
    return changes[low][1];
  }

  locks(step) { return Execution.at(this.lockChanges, step); }
  waiting(step) { return Execution.at(this.waitChanges, step); }
  moment(step) { return this.moments[step] || {}; }

  tree(step) {
    let from = step;
    while (!this.trees.has(from)) from -= 1;
    const tree = new Map(this.trees.get(from));
    for (let at = from + 1; at <= step; at += 1) {
      const moment = this.moment(at);
      for (const path of moment.gone || []) tree.delete(path);
      for (const path of Object.keys(moment.changed || {})) tree.set(path, moment.changed[path]);
      if (at % CHECKPOINT === 0) this.trees.set(at, new Map(tree));
    }
    return tree;
  }

  content(number) {
    const chain = [];
    for (let at = number; !this.whole.has(at); at = this.contents[at][0]) {
      chain.push(at);
      if (this.contents[at][0] < 0) break;
    }
    for (const at of chain.reverse()) {
      const [base, start, removed, data] = this.contents[at];
      const before = base < 0 ? new Uint8Array(0) : this.whole.get(base);
      const added = bytesOf(data);
      const made = new Uint8Array(before.length - removed + added.length);
      made.set(before.subarray(0, start));
      made.set(added, start);
      made.set(before.subarray(start + removed), start + added.length);
      this.whole.set(at, made);
    }
    return this.whole.get(number);
  }

  output(step) {
    const texts = new Map();
    for (const [at, printed] of this.prints) {
      if (at > step) break;
      for (const [name, text] of Object.entries(printed)) {
        const [old, fresh] = texts.get(name) || ["", ""];
        texts.set(name, at === step ? [old + fresh, text] : [old + fresh + text, ""]);
      }
    }
    return texts;
  }

  stack(step) {
    const number = this.moment(step).stack;
    return number === undefined ? [] : this.stacks[number].map((each) => this.frames[each]);
  }

  describe(step) {
    if (step < 0) return `Before the first of ${this.count} steps`;
    const { lane, text } = this.steps[step];
    return `Step ${step}: ${this.lanes[lane].name} ${text}`;
  }
}
