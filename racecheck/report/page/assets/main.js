// Putting it together: one chosen step, shown by all parts.
(() => {
  const data = JSON.parse(find("data").textContent);
  const executions = data.views.map((view) => new Execution(view));
  const scrubber = find("scrubber");
  const files = new Files();
  let current = 0;
  let chosen = -1;
  let told = 0;

  for (const part of document.querySelectorAll(".controls, .work")) part.hidden = false;
  const lanes = new Lanes((step) => choose(step));
  const curve = new Curve(data.curve, executions[0].count);

  function brokenAt(execution) {
    const main = execution.violations.find((each) => each.main);
    return main && main.step !== null ? main.step : execution.count - 1;
  }

  function choose(step) {
    const execution = executions[current];
    chosen = Math.max(-1, Math.min(execution.count - 1, step));
    const began = performance.now();
    scrubber.value = String(chosen);
    scrubber.setAttribute("aria-valuetext", execution.describe(chosen));
    find("now").textContent = execution.describe(chosen);
    lanes.choose(chosen);
    showCode(execution, chosen);
    files.show(execution, chosen);
    showLocks(execution, chosen);
    showOutput(execution, chosen);
    curve.show(current === 0 ? chosen : null);
    told = performance.now() - began;
  }

  function show(number) {
    current = number;
    const execution = executions[number];
    scrubber.max = String(execution.count - 1);
    lanes.show(execution);
    find("to-race").hidden = !execution.pair;
    choose(execution.pair ? execution.pair.second : brokenAt(execution));
  }

  function keys(event) {
    const page = Math.max(1, Math.floor(find("rows").clientHeight / ROW) - 2);
    const moves = {
      ArrowDown: 1, ArrowRight: 1, j: 1, ArrowUp: -1, ArrowLeft: -1, k: -1,
      PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity,
    };
    if (!(event.key in moves) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(moves[event.key] === -Infinity ? -1 : chosen + moves[event.key]);
  }

  async function copy(event) {
    const text = event.currentTarget.dataset.copy;
    let done = false;
    try {
      await navigator.clipboard.writeText(text);
      done = true;
    } catch {
      // Pages that were opened from a file may not be allowed to; then as of old.
      const range = document.createRange();
      range.selectNodeContents(find("command"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      done = document.execCommand("copy");
    }
    find("copied").textContent = done ? "Copied." : "Selected: press Ctrl+C.";
  }

  scrubber.addEventListener("input", () => choose(Number(scrubber.value)));
  find("rows").addEventListener("keydown", keys);
  find("previous").addEventListener("click", () => choose(chosen - 1));
  find("next").addEventListener("click", () => choose(chosen + 1));
  find("to-race").addEventListener("click", () => choose(executions[current].pair.second));
  find("to-broken").addEventListener("click", () => choose(brokenAt(executions[current])));
  if (find("copy")) find("copy").addEventListener("click", copy);
  for (const radio of document.querySelectorAll("input[name=view]")) {
    radio.addEventListener("change", () => show(Number(radio.value)));
  }
  for (const button of document.querySelectorAll(".goto")) {
    button.addEventListener("click", () => {
      const first = document.querySelector("input[name=view][value='0']");
      if (first) first.checked = true;
      if (current !== 0) show(0);
      choose(Number(button.dataset.step));
      find("execution").scrollIntoView({ block: "start" });
    });
  }
  // For whoever measures the page: what the last choice took, in milliseconds.
  window.racecheck = { choose, show, lastChoiceMs: () => told, chosen: () => chosen };
  show(0);
})();
