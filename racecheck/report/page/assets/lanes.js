// The steps as rows, time downwards, with a lane a task. Only rows in view exist.
const ROW = 24;
const GUTTER = 62;
const SPARE = 12;

class Lanes {
  constructor(onChoose) {
    this.box = find("rows");
    this.space = make("div", { class: "space", role: "presentation" });
    this.box.replaceChildren(this.space);
    this.onChoose = onChoose;
    this.chosen = -1;
    this.all = false;
    this.box.addEventListener("scroll", () => this.render());
    this.box.addEventListener("click", (event) => {
      const row = event.target.closest("[data-step]");
      if (row) onChoose(Number(row.dataset.step));
    });
    new ResizeObserver(() => this.layOut()).observe(this.box);
    window.addEventListener("beforeprint", () => { this.all = this.rows.length < 3000; this.layOut(); });
    window.addEventListener("afterprint", () => { this.all = false; this.layOut(); });
  }

  show(execution) {
    this.execution = execution;
    this.rows = [];
    this.rowOf = [];
    const broken = new Map();
    for (const each of execution.violations) {
      const at = each.step === null ? execution.count - 1 : each.step;
      broken.set(at, [...(broken.get(at) || []), each]);
    }
    let before = "";
    execution.steps.forEach((step, index) => {
      const place = step.where || step.code ? `${step.lane}\0${step.where}\0${step.code}` : "";
      if (place && place !== before) this.rows.push({ kind: "code", step: index });
      before = place;
      this.rowOf.push(this.rows.length);
      this.rows.push({ kind: "step", step: index });
      if (step.ended) this.rows.push({ kind: "ended", step: index });
      for (const each of broken.get(index) || []) {
        this.rows.push({ kind: "broken", step: index, text: `${each.invariant} broken: ${each.message}` });
      }
    });
    if (execution.verdict) this.rows.push({ kind: "broken", step: execution.count - 1, text: execution.verdict });
    this.chosen = -1;
    this.box.style.height = `min(${this.rows.length * ROW + 6}px, 72vh, 900px)`;
    this.box.scrollTop = 0;
    this.layOut();
  }

  layOut() {
    if (!this.execution) return;
    const { lanes } = this.execution;
    const width = this.box.clientWidth;
    this.close = width < 620 || lanes.length > 6;
    const spread = (width - GUTTER - 390) / Math.max(1, lanes.length - 1);
    this.lane = this.close ? 16 : Math.max(40, Math.min(230, spread));
    this.space.style.height = `${this.rows.length * ROW}px`;
    const heads = find("heads");
    heads.classList.toggle("close", this.close);
    heads.replaceChildren(...lanes.map((lane, index) => make("div", {
      class: "head",
      title: lane.name,
      style: `color:${laneColor(index)};` + (this.close ? "max-width:45%" : `left:${this.x(index) - 6}px;max-width:${index + 1 < lanes.length ? this.lane - 8 : 390}px`),
    }, make("b", {}, lane.name), make("span", {}, lane.about))));
    this.render();
  }

  x(lane) { return GUTTER + 10 + lane * this.lane; }
  left(lane) { return this.close ? this.x(this.execution.lanes.length) : this.x(lane) + 12; }

  choose(step) {
    this.chosen = step;
    const row = step < 0 ? 0 : this.rowOf[step];
    const top = row * ROW;
    const height = this.box.clientHeight;
    if (top < this.box.scrollTop + ROW) this.box.scrollTop = top - 2 * ROW;
    else if (top > this.box.scrollTop + height - 3 * ROW) this.box.scrollTop = top - height + 4 * ROW;
    this.render();
  }

  render() {
    const { box, rows } = this;
    let first = Math.max(0, Math.floor(box.scrollTop / ROW) - SPARE);
    let last = Math.min(rows.length, Math.ceil((box.scrollTop + box.clientHeight) / ROW) + SPARE);
    if (this.all) [first, last] = [0, rows.length];
    const made = [this.lines(first, last)];
    for (let at = first; at < last; at += 1) made.push(this.row(rows[at], at));
    this.space.replaceChildren(...made);
    if (this.chosen >= 0) box.setAttribute("aria-activedescendant", `step-${this.chosen}`);
    else box.removeAttribute("aria-activedescendant");
  }

  standing(index) {
    const { pair } = this.execution;
    if (!pair) return "";
    if (index === pair.first || index === pair.second) return " racing";
    if (index === pair.relied) return " relied";
    const from = pair.relied === null ? pair.first : pair.relied;
    return index > from && index < pair.second ? " between" : "";
  }

  row(row, at) {
    const step = this.execution.steps[row.step];
    const top = `top:${at * ROW}px`;
    const left = `left:${this.left(step.lane)}px`;
    const standing = this.standing(row.step);
    if (row.kind === "code") {
      const between = standing && this.standing(row.step - 1) ? " between" : "";
      return make("div", { class: `row code${between}`, style: top, role: "presentation" },
        make("span", { class: "say", style: left }, step.where ? `${step.where}  ` : "", make("i", {}, step.code)));
    }
    if (row.kind === "broken") {
      return make("div", { class: "row broken", style: top, role: "presentation", title: row.text },
        make("span", { class: "say", style: "left:14px" }, row.text));
    }
    if (row.kind === "ended") {
      return make("div", { class: `row end${standing}`, style: top, role: "presentation" },
        make("span", { class: "say", style: left }, step.ended));
    }
    const chosen = row.step === this.chosen;
    return make("div", {
      id: `step-${row.step}`,
      class: `row ${step.mark}${standing}${chosen ? " chosen" : ""}`,
      style: top,
      role: "option",
      "aria-selected": String(chosen),
      "aria-posinset": row.step + 1,
      "aria-setsize": this.execution.count,
      "aria-label": this.execution.describe(row.step),
      "data-step": row.step,
    },
    make("span", { class: "num" }, String(row.step)),
    make("span", { class: "say", style: left, title: step.full || null }, step.text));
  }

  // Lanes, dots, and the lines between them, for the rows in view.
  lines(first, last) {
    const { steps, lanes, pair } = this.execution;
    const y = (at) => (at - first) * ROW + ROW / 2;
    const made = [];
    lanes.forEach((_, lane) => made.push(draw("line", {
      x1: this.x(lane), x2: this.x(lane), y1: 0, y2: (last - first) * ROW,
      stroke: laneColor(lane), "stroke-width": 2, "stroke-opacity": 0.3,
    })));
    const shown = this.rows.slice(first, last).filter((row) => row.kind === "step");
    for (const { step } of shown) {
      const [at, lane] = [this.rowOf[step], steps[step].lane];
      if (step > 0 && steps[step - 1].lane !== lane) {
        const [x1, y1] = [this.x(steps[step - 1].lane), y(this.rowOf[step - 1])];
        const [x2, y2] = [this.x(lane), y(at)];
        const middle = (y1 + y2) / 2;
        made.push(draw("path", {
          d: `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`,
          fill: "none", stroke: "var(--soft)", "stroke-width": 1.5, "stroke-dasharray": "3 3",
        }));
      }
      made.push(this.dot(steps[step], y(at)));
    }
    if (pair) made.push(...this.joined(pair, y));
    return draw("svg", {
      width: this.box.clientWidth, height: (last - first) * ROW,
      style: `top:${first * ROW}px;z-index:1`, "aria-hidden": "true",
    }, ...made);
  }

  dot(step, y) {
    const x = this.x(step.lane);
    const color = laneColor(step.lane);
    if (step.mark === "crash" || step.mark === "fault") {
      return draw("rect", {
        x: x - 5, y: y - 5, width: 10, height: 10, fill: "var(--fault)",
        transform: step.mark === "crash" ? `rotate(45 ${x} ${y})` : null,
      });
    }
    const failed = step.mark === "failed";
    return draw("circle", {
      cx: x, cy: y, r: step.mark === "end" ? 3 : 5,
      fill: failed ? "var(--paper)" : color, stroke: failed ? "var(--failed)" : color,
      "stroke-width": failed ? 3 : 1,
    });
  }

  joined(pair, y) {
    const [one, two] = [y(this.rowOf[pair.first]), y(this.rowOf[pair.second])];
    return [
      draw("path", {
        d: `M14 ${one}H8Q4 ${one} 4 ${one + 4}V${two - 4}Q4 ${two} 8 ${two}H14`,
        fill: "none", stroke: "var(--race)", "stroke-width": 3,
      }),
      draw("circle", { cx: 14, cy: one, r: 4, fill: "var(--race)" }),
      draw("circle", { cx: 14, cy: two, r: 4, fill: "var(--race)" }),
    ];
  }
}
