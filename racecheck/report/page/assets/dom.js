"use strict";
// Making elements. Text is only ever set as text, never as markup.
const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null));
  return element;
}

const make = (tag, attributes, ...children) =>
  fill(document.createElement(tag), attributes, children);
const draw = (tag, attributes, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);
const find = (id) => document.getElementById(id);
const laneColor = (lane) => `var(--lane-${lane % 8})`;
const nothing = (text) => make("p", { class: "none" }, text);

// What cannot be seen is shown by its number; so are marks that turn text around.
const visible = (text) =>
  text.replace(/[^\P{C}\n\t]|[\u2028\u2029]/gu, (character) => {
    const number = character.codePointAt(0);
    return number < 256
      ? `\\x${number.toString(16).padStart(2, "0")}`
      : `\\u{${number.toString(16)}}`;
  });
