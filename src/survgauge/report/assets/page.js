"use strict";
// What makes the page move: theme, series on and off, sortable and filterable tables, charts.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  Charts.use(data.looks);
  const all = (selector, root) => [...(root || document).querySelectorAll(selector)];
  const root = document.documentElement;
  const hidden = new Set();
  // Elements name a series by its number: HTML would change some characters of a name.
  const nameOf = (number) => data.series[Number(number)];
  const shown = (name) => !hidden.has(name);

  // -- theme ---------------------------------------------------------------------------------
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  let chosen = null;
  function theme() {
    const name = chosen || (dark.matches ? "dark" : "light");
    root.dataset.theme = name;
    toggle.textContent = name === "dark" ? "Light page" : "Dark page";
  }
  toggle.addEventListener("click", () => {
    chosen = root.dataset.theme === "dark" ? "light" : "dark";
    theme();
  });
  dark.addEventListener("change", theme);
  theme();

  // -- folded sections: what is open is printed ----------------------------------------------------
  const folds = all("section.folded > details");
  const unfold = document.getElementById("unfold");
  function say() {
    if (unfold) unfold.textContent = folds.every((part) => part.open) ? "Close all sections" : "Open all sections";
  }
  for (const part of folds) part.addEventListener("toggle", say);
  if (unfold) unfold.addEventListener("click", () => { const open = !folds.every((part) => part.open); for (const part of folds) part.open = open; });
  // A link into a folded section opens it.
  function reach() {
    const target = window.location.hash.length > 1 && document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    const part = target && target.closest("section.folded");
    if (!part || part.querySelector("details").open) return;
    part.querySelector("details").open = true;
    target.scrollIntoView();
  }
  window.addEventListener("hashchange", reach);
  for (const link of all('a[href^="#"]')) link.addEventListener("click", () => setTimeout(reach));
  reach();
  document.getElementById("print").addEventListener("click", () => window.print());

  // -- saving --------------------------------------------------------------------------------
  function save(name, content, type) {
    const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
    const link = document.createElement("a");
    link.href = address;
    link.download = name;
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }
  function csv(rows) {
    const cell = (value) => {
      let text = value === null || value === undefined ? "" : String(value);
      // A spreadsheet would run a text that starts like a formula.
      if (typeof value === "string" && /^[=+\-@\t\r]/.test(text)) text = `'${text}`;
      return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
  }
  function records(list) {
    const names = [...new Set(list.flatMap((row) => Object.keys(row)))];
    const plain = (value) => (value !== null && typeof value === "object" ? JSON.stringify(value) : value);
    return [names, ...list.map((row) => names.map((name) => plain(row[name])))];
  }
  for (const button of all("button[data-save]")) {
    button.addEventListener("click", () => {
      const what = button.dataset.save;
      if (what === "json") save(`${data.file}.json`, JSON.stringify(data.record, null, 1), "application/json");
      else save(`${data.file}-${what}.csv`, csv(records(data.record[what])), "text/csv");
    });
  }

  // -- tables --------------------------------------------------------------------------------
  function keyOf(row, column) {
    const cell = row.cells[column];
    const given = cell.dataset.sort;
    const text = given === undefined ? cell.textContent.trim() : given;
    const value = text === "" ? NaN : Number(text);
    return Number.isNaN(value) ? text : value;
  }
  function order(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    if (typeof a === "number") return -1; // numbers before gaps
    if (typeof b === "number") return 1;
    return a.localeCompare(b);
  }
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((head, column) => {
      const button = head.querySelector("button");
      if (!button) return;
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
        rows.sort((a, b) => {
          const gap = order(a[0], b[0]);
          const gaps = typeof a[0] !== "number" && typeof b[0] === "number" ? 1 : typeof a[0] === "number" && typeof b[0] !== "number" ? -1 : 0;
          return gaps || (up ? gap : -gap);
        });
        for (const [, row] of rows) body.appendChild(row);
      });
    });
  }
  function filterRows() {
    for (const table of all("table[data-filtered]")) {
      const controls = all(`[data-filter="${table.id}"]`);
      let count = 0;
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        const passes = controls.every((control) => {
          const words = control.value.toLowerCase().split(/\s+/).filter((word) => word);
          return words.every((word) => text.includes(word));
        });
        row.hidden = !(passes && (row.dataset.series === undefined || shown(nameOf(row.dataset.series))));
        count += row.hidden ? 0 : 1;
      }
      const note = document.getElementById(`${table.id}-count`);
      if (note) note.textContent = `${count} of ${table.tBodies[0].rows.length} rows`;
    }
  }
  for (const control of all("[data-filter]")) control.addEventListener("input", filterRows);
  for (const box of all("input[data-show-column]")) {
    const apply = () => {
      for (const cell of all(`[data-column-name="${CSS.escape(box.dataset.showColumn)}"]`)) cell.classList.toggle("off", !box.checked);
    };
    box.addEventListener("change", apply);
    apply();
  }

  // -- charts --------------------------------------------------------------------------------
  const tip = document.getElementById("tip");
  const said = document.getElementById("said");
  function fillTip(target) {
    tip.replaceChildren();
    const title = document.createElement("b");
    title.textContent = target.title;
    tip.appendChild(title);
    for (const [name, text] of target.rows) {
      const row = document.createElement("div");
      row.className = "row";
      for (const part of [name, text]) {
        const span = document.createElement("span");
        span.textContent = part;
        row.appendChild(span);
      }
      tip.appendChild(row);
    }
    said.textContent = `${target.title}: ${target.rows.map((row) => row.join(" ")).join("; ")}`;
  }
  function placeTip(x, y) {
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = x + 16 + box.width > window.innerWidth ? x - box.width - 16 : x + 16;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(y + 12, window.innerHeight - box.height - 8))}px`;
  }

  // Fade all marks but those of one model; null shows all alike again.
  let bright = null;
  function highlight(name) {
    if (name === bright) return;
    bright = name;
    const place = data.series.indexOf(name);
    for (const part of all("g.mark")) {
      const mine = part.series.length ? part.series.includes(name) : part.look === place;
      part.style.opacity = name === null || part.look === null || mine ? "" : 0.1;
    }
  }
  // A text as a part of a file name.
  const plain = (text) => text.normalize("NFKD").toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 50);

  // The figure whose values are being read, if any.
  let reading = null;

  class Figure {
    constructor(element, spec) {
      this.element = element;
      this.spec = spec;
      this.plot = element.querySelector(".plot");
      this.select = element.querySelector("select.choice");
      this.options = this.select ? [...this.select.options] : [];
      this.find = element.querySelector("input.find");
      this.choice = spec.first || 0;
      this.current = -1;
      if (this.select) this.select.value = String(this.choice);
      if (this.select) this.select.addEventListener("change", () => this.choose(this.select.value));
      if (this.find) this.find.addEventListener("input", () => this.list());
      for (const button of all("button[data-tool]", element)) {
        button.addEventListener("click", () => this.use(button.dataset.tool, button));
      }
      this.plot.addEventListener("pointermove", (event) => this.point(event));
      this.plot.addEventListener("pointerleave", () => { highlight(null); if (!this.byKeys) this.leave(); });
      this.plot.addEventListener("keydown", (event) => this.press(event));
      this.plot.addEventListener("blur", () => this.leave());
      new ResizeObserver(() => {
        const width = Math.floor(this.plot.clientWidth);
        if (width && width !== this.width) this.render();
      }).observe(this.plot);
    }
    choose(value) {
      this.choice = Number(value);
      this.select.value = value;
      this.render(this.width);
    }
    get chosen() { return this.select ? this.spec.choices.options[this.choice] : ""; }
    get chart() { return this.spec.specs[this.choice]; }
    render(width) {
      if (!this.chart) return;
      const size = width || Math.floor(this.plot.clientWidth);
      if (!size) return;
      this.width = size;
      const { svg, targets } = Charts.draw(this.chart, size, shown);
      svg.setAttribute("aria-hidden", "true");
      this.targets = targets;
      this.svg = svg;
      this.current = -1;
      this.plot.replaceChildren(svg);
      const note = this.element.querySelector(".note");
      if (note) note.textContent = this.chart.note || "";
      const picked = this.element.querySelector(".chosen");
      if (picked && this.select) picked.textContent = `: ${this.chosen}`;
      const table = this.element.querySelector(".numbers");
      if (table) this.fill(table);
    }
    // Keep the choices that belong to a view: the first part of their key.
    offer(view) {
      if (!this.spec.keys) return;
      this.view = view;
      this.list();
    }
    // Offer the options of the view that hold all words searched for.
    list() {
      const words = this.find ? this.find.value.toLowerCase().split(/\s+/).filter((word) => word) : [];
      const fits = this.options.filter((option) => (this.view === undefined || this.spec.keys[Number(option.value)][0] === this.view) && words.every((word) => option.textContent.toLowerCase().includes(word)));
      const none = new Option("nothing found", "");
      none.disabled = true;
      this.select.replaceChildren(...(fits.length ? fits : [none]));
      const kept = fits.find((option) => Number(option.value) === this.choice) || fits[0];
      if (kept) this.choose(kept.value);
    }
    show(k, x, y) {
      if (k < 0 || k >= this.targets.count) return this.leave();
      const target = this.targets.at(k);
      if (reading && reading !== this) reading.leave();
      reading = this;
      this.byKeys = x === undefined;
      this.current = k;
      if (this.over) this.over.remove();
      this.over = Charts.node("g", { "pointer-events": "none" }, this.svg);
      if (target.guide) {
        const { x: at, top, bottom } = target.guide;
        Charts.node("line", { x1: at, x2: at, y1: top, y2: bottom, style: "stroke:var(--soft)" }, this.over);
      }
      for (const [px, py, c] of target.marks) {
        Charts.node("circle", { cx: px, cy: py, r: 6, style: `fill:none;stroke-width:2;stroke:${c === undefined ? "var(--ink)" : Charts.colour(c)}` }, this.over);
      }
      fillTip(target);
      if (x === undefined) {
        const box = this.svg.getBoundingClientRect();
        const mark = target.marks[0] || [target.guide.x, target.guide.top];
        placeTip(box.left + (mark[0] * box.width) / this.width, box.top + mark[1]);
      } else placeTip(x, y);
      return undefined;
    }
    point(event) {
      if (!this.svg) return;
      const entry = event.target.closest("g.entry");
      highlight(entry && entry.series.length ? entry.series[0] : null);
      const box = this.svg.getBoundingClientRect();
      const scale = this.width / box.width;
      this.show(this.targets.nearest((event.clientX - box.left) * scale, (event.clientY - box.top) * scale), event.clientX, event.clientY);
    }
    press(event) {
      if (!this.targets || !this.targets.count) return;
      const last = this.targets.count - 1;
      const step = Math.max(1, Math.floor(this.targets.count / 50));
      const move = { ArrowRight: this.current + step, ArrowDown: this.current + step, ArrowLeft: this.current - step, ArrowUp: this.current - step, Home: 0, End: last }[event.key];
      if (event.key === "Escape") this.leave();
      if (move === undefined) return;
      event.preventDefault();
      this.show(Math.max(0, Math.min(last, move)));
    }
    leave() {
      if (reading === this) { tip.hidden = true; reading = null; }
      this.current = -1;
      if (this.over) this.over.remove();
    }
    // Title, what was chosen, and how many subjects: in the picture and in the name of its file.
    get words() {
      return [this.spec.title + (this.chosen ? `: ${this.chosen}` : ""), this.chart.about || data.about || ""];
    }
    get file() {
      const size = this.words[1].match(/[\d,]+/);
      const parts = [data.file, this.spec.id, this.select ? `${this.choice + 1}-${plain(this.chosen)}` : "", size ? `n${size[0].replaceAll(",", "")}` : ""];
      return parts.filter((part) => part).join("-");
    }
    use(tool, button) {
      if (tool === "csv") save(`${this.file}.csv`, csv(Charts.table(this.chart)), "text/csv");
      if (tool === "svg") save(`${this.file}.svg`, this.picture(), "image/svg+xml");
      if (tool === "png") this.png(this.file);
      if (tool === "table") this.toggleTable(button);
    }
    // A drawing of its own, in the light colours, whatever the page looks like.
    picture() {
      const svg = Charts.framed(Charts.draw(this.chart, 720, shown).svg, this.words);
      return new XMLSerializer().serializeToString(svg).replace(/var\(--([\w-]+)\)/g, (_, key) => data.light[key] || "#000");
    }
    png(name) {
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = image.width * 2;
        canvas.height = image.height * 2;
        const context = canvas.getContext("2d");
        context.scale(2, 2);
        context.drawImage(image, 0, 0);
        canvas.toBlob((blob) => save(`${name}.png`, blob), "image/png");
      };
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(this.picture())}`;
    }
    toggleTable(button) {
      let table = this.element.querySelector(".numbers");
      if (table) table.remove();
      else {
        table = document.createElement("div");
        table.className = "table numbers";
        this.element.appendChild(table);
        this.fill(table);
      }
      button.setAttribute("aria-expanded", String(!!this.element.querySelector(".numbers")));
    }
    fill(place) {
      const limit = 200;
      const rows = Charts.table(this.chart);
      const table = document.createElement("table");
      rows.slice(0, limit + 1).forEach((row, k) => {
        const line = (k ? table.tBodies[0] || table.createTBody() : table.createTHead()).insertRow();
        for (const value of row) {
          const cell = document.createElement(k ? "td" : "th");
          cell.textContent = typeof value === "number" ? Charts.format(value) : value === null || value === undefined ? "" : value;
          if (typeof value === "number") cell.className = "number";
          line.appendChild(cell);
        }
      });
      place.replaceChildren(table);
      if (rows.length > limit + 1) {
        const more = document.createElement("p");
        more.className = "small soft";
        more.textContent = `The first ${limit} of ${rows.length - 1} rows; CSV has all.`;
        place.appendChild(more);
      }
    }
  }
  const figures = new Map();
  for (const spec of data.figures) {
    const element = document.getElementById(spec.id);
    if (element) figures.set(spec.id, new Figure(element, spec));
  }
  // -- views: one of several tables or charts ---------------------------------------------------
  for (const select of all("select[data-views]")) {
    const apply = () => {
      for (const part of all(`[data-view-of="${select.dataset.views}"]`)) part.hidden = part.dataset.view !== select.value;
      for (const figure of figures.values()) figure.offer(select.value);
    };
    select.addEventListener("change", apply);
    apply();
  }

  for (const button of all("button[data-goto]")) {
    button.addEventListener("click", () => {
      const figure = figures.get(button.dataset.goto);
      figure.choose(button.dataset.choice);
      figure.element.scrollIntoView({ block: "center" });
      figure.plot.focus({ preventScroll: true });
    });
  }

  // -- series on and off -----------------------------------------------------------------------
  const chips = all("button.chip");
  for (const place of all("[data-look]")) place.append(Charts.swatch(Number(place.dataset.look)));
  for (const chip of chips) {
    chip.setAttribute("aria-label", chip.title);
    for (const name of chip.querySelectorAll("span")) name.textContent = Charts.shorten(name.textContent, 165);
    if (chip.dataset.color) chip.prepend(Charts.swatch(Number(chip.dataset.color)));
    for (const [start, end] of [["pointerenter", "pointerleave"], ["focus", "blur"]]) {
      chip.addEventListener(start, () => highlight(nameOf(chip.dataset.series)));
      chip.addEventListener(end, () => highlight(null));
    }
    chip.addEventListener("click", () => {
      const name = nameOf(chip.dataset.series);
      if (hidden.has(name)) hidden.delete(name);
      else if (hidden.size < chips.length - 1) hidden.add(name);
      update();
    });
  }
  const everything = document.getElementById("all-series");
  if (everything) everything.addEventListener("click", () => { hidden.clear(); update(); });
  function update() {
    for (const chip of chips) chip.setAttribute("aria-pressed", String(shown(nameOf(chip.dataset.series))));
    for (const cell of all("[data-series-column]")) cell.hidden = !shown(nameOf(cell.dataset.seriesColumn));
    for (const count of all(".series-count")) count.textContent = hidden.size ? `${chips.length - hidden.size} of ${chips.length} shown` : "";
    filterRows();
    for (const figure of figures.values()) figure.render(figure.width);
  }
  for (const name of data.hidden || []) hidden.add(name);
  update();

  // -- tables that are wider than the page say so -----------------------------------------------
  const overflow = (place) => place.classList.toggle("wider", place.scrollWidth > place.clientWidth + 1);
  const measure = new ResizeObserver((entries) => { for (const entry of entries) overflow(entry.target.closest(".table")); });
  for (const table of all("table.pinned")) { measure.observe(table); measure.observe(table.closest(".table")); }

  // -- where we are ------------------------------------------------------------------------------
  const links = all("nav.contents a");
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links) link.setAttribute("aria-current", String(link.hash === `#${entry.target.id}`));
    }
  }, { rootMargin: "-10% 0px -75% 0px" });
  for (const section of all("section[id]")) watcher.observe(section);
  window.addEventListener("beforeprint", () => { for (const figure of figures.values()) figure.render(640); });
  window.addEventListener("afterprint", () => { for (const figure of figures.values()) figure.render(); });
  root.dataset.ready = "true";
})();
