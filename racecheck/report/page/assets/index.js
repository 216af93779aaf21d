"use strict";
// Showing some of the scenarios only.
(() => {
  const find = (id) => document.getElementById(id);
  const rows = [...document.querySelectorAll("#all tbody tr")];
  const filters = document.querySelector(".filters");
  filters.hidden = false;

  function filter() {
    const name = find("name").value.toLowerCase();
    let count = 0;
    for (const row of rows) {
      const { dataset } = row;
      const shown = dataset.name.toLowerCase().includes(name)
        && (!find("verdict").value || dataset.verdict === find("verdict").value)
        && (!find("coverage").value || dataset.coverage === find("coverage").value)
        && (!find("surprises").checked || dataset.word !== "ok");
      row.hidden = !shown;
      count += shown ? 1 : 0;
    }
    find("count").textContent = `${count} of ${rows.length} shown`;
  }

  filters.addEventListener("input", filter);
  filters.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
