// How likely the violation is from each point of the execution on.
class Curve {
  constructor(shares, count) {
    this.box = find("curve");
    if (!this.box) return;
    const [width, height, left, bottom] = [900, 190, 44, 26];
    this.x = (step) => left + ((width - left - 16) * step) / Math.max(1, count);
    const y = (share) => 10 + (height - bottom - 10) * (1 - share);
    const points = shares.map(([step, failing, total]) => [this.x(step), y(failing / total), step, failing, total]);
    const made = [];
    for (const share of [0, 0.5, 1]) {
      made.push(
        draw("line", { x1: left, x2: width - 16, y1: y(share), y2: y(share), stroke: "var(--rule)" }),
        draw("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${share * 100} %`));
    }
    const ticks = Math.min(count, 10);
    for (let tick = 0; tick <= ticks; tick += 1) {
      const step = Math.round((count * tick) / ticks);
      made.push(draw("text", { x: this.x(step), y: height - 6, "text-anchor": "middle" }, String(step)));
    }
    this.line = draw("line", { y1: 10, y2: height - bottom, stroke: "var(--link)", "stroke-width": 2 });
    made.push(this.line,
      draw("polyline", { points: points.map(([x, y1]) => `${x},${y1}`).join(" "), fill: "none", stroke: "var(--race)", "stroke-width": 2.5 }),
      ...points.map(([x, y1, step, failing, total]) => draw("circle", { cx: x, cy: y1, r: 4, fill: "var(--race)" },
        draw("title", {}, `after ${step} steps: ${failing} of ${total}`))));
    this.box.replaceChildren(draw("svg", {
      class: "curve", viewBox: `0 0 ${width} ${height}`, role: "img",
      "aria-label": "Share of executions that break the invariant, by the step from which they went on at random; the numbers are in the table below",
    }, ...made));
  }

  show(step) {
    if (!this.line) return;
    const hidden = step === null;
    this.line.setAttribute("visibility", hidden ? "hidden" : "visible");
    if (hidden) return;
    this.line.setAttribute("x1", this.x(step + 1));
    this.line.setAttribute("x2", this.x(step + 1));
  }
}
