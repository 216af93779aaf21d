// What is beside the lanes: the code of a step, the locks then held, what was printed.
const TAIL = 4000;

function showCode(execution, step) {
  const box = find("code");
  if (step < 0) return box.replaceChildren(nothing("No step was taken yet."));
  const { program } = execution.moment(step);
  const taken = execution.steps[step];
  const made = [make("p", { class: "call" }, taken.full || taken.text)];
  const stack = execution.stack(step);
  if (program !== undefined) {
    made.push(make("p", {}, "by the program "), make("pre", { tabindex: 0 }, execution.programs[program]));
  } else if (!stack.length) {
    made.push(nothing(taken.mark === "end" ? "The end of an operation is no line of code." : "It is not known where in its program this was."));
  } else {
    const own = stack.findIndex((frame) => !frame[3]);
    made.push(source(execution, stack[own < 0 ? 0 : own]), frames(stack));
  }
  return box.replaceChildren(...made);
}

function source(execution, [file, line, name]) {
  const lines = Object.entries(execution.sources[file] || {}).filter(([number]) => Math.abs(number - line) <= 3);
  return make("div", {},
    make("p", {}, make("b", {}, `${file}:${line}`), ` in ${name}`),
    make("table", { class: "source mono", role: "presentation" }, make("tbody", {}, ...lines.map(([number, text]) =>
      make("tr", { class: Number(number) === line ? "here" : null }, make("td", {}, number), make("td", {}, text))))));
}

function frames(stack) {
  const item = ([file, line, name]) => make("li", {}, `${file}:${line} in ${name}`);
  const made = [];
  let folded = [];
  const fold = () => {
    if (!folded.length) return;
    made.push(make("li", { class: "library" }, make("details", {},
      make("summary", {}, folded.length === 1 ? "1 call inside libraries" : `${folded.length} calls inside libraries`),
      make("ul", { class: "stack" }, ...folded.map(item)))));
    folded = [];
  };
  for (const frame of stack) {
    if (frame[3]) folded.push(frame);
    else { fold(); made.push(item(frame)); }
  }
  fold();
  return make("details", {}, make("summary", {}, "Stack, innermost first"), make("ul", { class: "stack" }, ...made));
}

function showLocks(execution, step) {
  const locks = execution.locks(step);
  const waiting = Object.entries(execution.waiting(step));
  const made = [];
  if (!locks.length) made.push(nothing("No file lock is held."));
  else {
    made.push(make("table", { class: "plain" },
      make("thead", {}, make("tr", {}, ...["held by", "file", "kind", "range", "since step"].map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...locks.map((lock) => make("tr", {},
        ...[lock.lane, lock.path, lock.how, lock.range, String(lock.step)].map((text) => make("td", {}, text)))))));
  }
  for (const [lane, what] of waiting) made.push(make("p", {}, make("b", {}, lane), ` waits: ${what}`));
  find("locks").replaceChildren(...made);
}

function showOutput(execution, step) {
  const made = [];
  for (const [name, [old, fresh]] of execution.output(step)) {
    const cut = old.length > TAIL;
    made.push(make("p", {}, make("b", {}, name)), make("pre", { tabindex: 0 },
      cut ? "\u2026" : "", old.slice(-TAIL), fresh ? make("mark", {}, fresh) : ""));
  }
  find("output").replaceChildren(...(made.length ? made : [nothing("Nothing was printed.")]));
}
