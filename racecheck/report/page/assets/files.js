// The box after a step: its names, and what one of the files holds, with what changed.
const MOST_BYTES = 2048;
const CONTEXT_BYTES = 256;

class Files {
  constructor() {
    this.pinned = "";
    this.form = "";
  }

  show(execution, step) {
    this.execution = execution;
    this.step = step;
    const box = find("files");
    if (!execution.recorded) {
      box.replaceChildren(nothing("Files were not recorded in this execution."));
      find("content").replaceChildren();
      return;
    }
    const { changed = {}, gone = [] } = step < 0 ? {} : execution.moment(step);
    this.before = step < 0 ? new Map() : execution.tree(step - 1);
    this.tree = execution.tree(step);
    const paths = [...new Set([...this.tree.keys(), ...gone])].sort();
    this.chosen = this.choice(Object.keys(changed), gone);
    const made = paths.map((path) => this.name(path, path in changed, !this.tree.has(path)));
    box.replaceChildren(
      made.length ? make("ul", { class: "tree mono" }, ...made) : nothing("The box is empty."),
      ...(execution.note ? [nothing(execution.note)] : []));
    const pressed = box.querySelector("[aria-pressed=true]");
    if (pressed) {
      const list = pressed.closest("ul");
      const top = pressed.offsetTop - list.offsetTop;
      if (top < list.scrollTop || top > list.scrollTop + list.clientHeight - 24) list.scrollTop = top - 60;
    }
    this.showContent();
  }

  choice(changed, gone) {
    if (this.pinned && (this.tree.has(this.pinned) || this.before.has(this.pinned))) return this.pinned;
    const isFile = (path) => this.tree.get(path)[0] !== "folder";
    return changed.find(isFile) || gone[0] || changed[0]
      || (this.tree.has(this.chosen) ? this.chosen : [...this.tree.keys()].find(isFile)) || "";
  }

  name(path, changed, gone) {
    const node = this.tree.get(path) || this.before.get(path);
    const parts = path.split("/");
    const folder = parts.slice(0, -1).join("/");
    const nested = folder && (this.tree.has(folder) || this.before.has(folder));
    const from = this.from(path);
    const state = gone ? "gone" : changed ? (this.before.has(path) ? "changed" : "new") : "";
    const shown = nested ? parts[parts.length - 1] : path;
    return make("li", {}, make("button", {
      type: "button",
      class: "mono",
      "aria-pressed": String(path === this.chosen),
      title: path,
      style: nested ? `padding-left:${6 + 16 * (parts.length - 1)}px` : null,
      click: () => { this.pinned = path; this.show(this.execution, this.step); this.focus(path); },
    },
    make("span", { class: state }, node[0] === "folder" ? `${shown}/` : shown),
    make("span", { class: "faint" }, ` ${this.size(node)}`),
    state ? make("span", { class: "tag" }, from && state !== "gone" ? `was ${from}` : state) : null));
  }

  // Under which name a file was known before this step, if it was under another one.
  from(path) {
    const node = this.tree.get(path);
    const old = this.before.get(path);
    if (!node || !node[2] || (old && old[2] === node[2])) return "";
    for (const [other, each] of this.before) if (each[2] === node[2]) return other;
    return "";
  }

  focus(path) {
    const buttons = [...find("files").querySelectorAll("button")];
    const button = buttons.find((each) => each.title === path);
    if (button) button.focus();
  }

  size(node) {
    if (node[0] === "link") return `\u2192 ${node[4]}`;
    if (node[0] !== "file") return node[1];
    if (node[3] < 0) return "unreadable";
    return `${this.execution.contents[node[3]][4]} B`;
  }

  showContent() {
    const box = find("content");
    const path = this.chosen;
    const node = this.tree.get(path) || this.before.get(path);
    if (!node) return box.replaceChildren();
    const about = `mode ${node[1]}, inode ${node[2] || "unknown"}`;
    const heading = make("p", {}, make("b", { class: "mono" }, path), make("span", { class: "faint" },
      this.tree.has(path) ? `, ${about}` : `, ${about}, as it was before this step`));
    if (node[0] === "link") return box.replaceChildren(heading, make("p", {}, `A symbolic link to ${node[4]}`));
    if (node[0] !== "file" || node[3] < 0) return box.replaceChildren(heading);
    const bytes = this.execution.content(node[3]);
    const length = this.execution.contents[node[3]][4];
    const old = this.before.get(this.from(path) || path);
    const [from, to] = this.difference(old, node, bytes);
    const form = this.form || (isText(bytes) ? "text" : "hex");
    const start = from < 0 || from < MOST_BYTES ? 0 : Math.max(0, (from - CONTEXT_BYTES) & ~15);
    const piece = bytes.subarray(start, start + MOST_BYTES);
    const parts = form === "text" ? asText(piece, from - start, to - start) : asHex(piece, start, from, to);
    const more = length - start - piece.length;
    const fewer = old && old[0] === "file" && old[3] >= 0 ? this.execution.contents[old[3]][4] - length : 0;
    const said = (length ? `${length} bytes` : "empty") + (fewer > 0 ? `, ${fewer} fewer than before this step` : "");
    return box.replaceChildren(heading, this.forms(form),
      make("pre", { tabindex: 0, "aria-label": `Content of ${path}` }, ...parts),
      nothing(start || more > 0 ? `${said}, shown from byte ${start} to ${start + piece.length}` : said));
  }

  difference(old, node, bytes) {
    if (this.step < 0 || !this.tree.has(this.chosen)) return [-1, -1];
    if (!old || old[0] !== "file" || old[3] < 0) return [0, bytes.length];
    if (old[3] === node[3]) return [-1, -1];
    const before = this.execution.content(old[3]);
    const most = Math.min(before.length, bytes.length);
    let from = 0;
    while (from < most && before[from] === bytes[from]) from += 1;
    let end = 0;
    while (end < most - from && before[before.length - 1 - end] === bytes[bytes.length - 1 - end]) end += 1;
    return [from, bytes.length - end];
  }

  forms(form) {
    const radio = (name, label) => make("label", {}, make("input", {
      type: "radio", name: "form", value: name, checked: form === name,
      change: () => {
        this.form = name;
        this.showContent();
        find("content").querySelector(`input[value="${name}"]`).focus();
      },
    }), ` ${label}`);
    return make("fieldset", { class: "forms" }, make("legend", {}, "Show as"), radio("text", "text"), radio("hex", "bytes"));
  }
}

function isText(bytes) {
  let odd = 0;
  for (const byte of bytes.subarray(0, 512)) {
    if (byte === 0) return false;
    if (byte < 32 && byte !== 10 && byte !== 9 && byte !== 13) odd += 1;
  }
  return odd * 20 <= Math.min(bytes.length, 512);
}

function asText(bytes, from, to) {
  const decode = (piece) => visible(new TextDecoder().decode(piece));
  if (from < 0 || to <= from) return [decode(bytes)];
  return [decode(bytes.subarray(0, from)), make("mark", {}, decode(bytes.subarray(from, to))), decode(bytes.subarray(to))];
}

function asHex(bytes, start, from, to) {
  const made = [];
  const marked = (at) => at >= from && at < to;
  const pieces = (line, at, show, between) => {
    let index = 0;
    while (index < line.length) {
      const mark = marked(at + index);
      let end = index;
      while (end < line.length && marked(at + end) === mark) end += 1;
      const text = Array.from(line.subarray(index, end), show).join(between);
      made.push(mark ? make("mark", {}, text) : text, between && end < line.length ? between : "");
      index = end;
    }
  };
  for (let at = 0; at < bytes.length; at += 16) {
    const line = bytes.subarray(at, at + 16);
    made.push(`${(start + at).toString(16).padStart(6, "0")}  `);
    pieces(line, start + at, (byte) => byte.toString(16).padStart(2, "0"), " ");
    made.push(" ".repeat(3 * (16 - line.length) + 2));
    pieces(line, start + at, (byte) => (byte > 31 && byte < 127 ? String.fromCharCode(byte) : "\u00b7"), "");
    made.push("\n");
  }
  return made;
}
