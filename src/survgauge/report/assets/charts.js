"use strict";
// Draws the descriptions of survgauge.report.displays.description as SVG, for a width. Every text is set as text,
// every colour is a variable of the page, so that dark pages and paper need no second drawing.
const Charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  const canvas = document.createElement("canvas").getContext("2d");

  function node(name, attributes, parent, text) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.appendChild(made);
    return made;
  }

  function textWidth(text) {
    canvas.font = FONT;
    return canvas.measureText(text).width;
  }

  // Names often differ at their end: the middle goes.
  function shorten(text, width) {
    if (textWidth(text) <= width) return text;
    const letters = [...text];
    let kept = letters.length - 1;
    const cut = (k) => letters.slice(0, Math.ceil(k * 0.6)).join("") + "\u2026" + letters.slice(letters.length - Math.floor(k * 0.4)).join("");
    if (kept > 400) kept = 400;
    while (kept > 1 && textWidth(cut(kept)) > width) kept -= 1;
    return cut(kept);
  }

  function format(value) {
    if (value === null || value === undefined) return "\u2013";
    if (typeof value === "string") return value;
    if (!Number.isFinite(value)) return String(value);
    if (value === 0) return "0";
    const size = Math.floor(Math.log10(Math.abs(value)));
    if (size >= 9 || size < -5) return value.toExponential(2);
    return value.toFixed(Math.max(0, 3 - size));
  }

  function tickText(value, step) {
    if (step < 1e-6 || step >= 1e9) return value === 0 ? "0" : value.toExponential(1);
    let digits = 0;
    while (digits < 8 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits += 1;
    // Adding zero turns -0 into 0.
    return (Math.round(value / step) * step + 0).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }

  function ticks(low, high, count) {
    const raw = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= raw * 0.999);
    const first = Math.ceil(low / step - 1e-9);
    const size = Math.min(100, Math.max(0, Math.floor(high / step + 1e-9) - first + 1));
    return { step, values: Array.from({ length: size }, (_, k) => (first + k) * step) };
  }

  // Domain of the values in sight, with room at its ends where it is not fixed.
  function extent(values, axis, room) {
    let low = Infinity;
    let high = -Infinity;
    for (const list of values) for (const v of list || []) {
      if (!known(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (low > high) { low = 0; high = 1; }
    if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) { const pad = Math.abs(low) * 0.1 || 1; low -= pad; high += pad; }
    const pad = (high - low) * room;
    low = known(axis.low) ? axis.low : low - pad;
    high = known(axis.high) ? axis.high : high + pad;
    return low < high ? [low, high] : [low, low + 1];
  }

  const known = (v) => v !== null && v !== undefined && Number.isFinite(v);
  // Looks of the models, from survgauge.report.displays.palette: colours are variables of the page.
  let LOOKS = { colours: 1, shades: 1, dashes: [""], markers: ["dot"] };
  const use = (looks) => { LOOKS = looks; };
  // Of models and of shades: name of their colours, number, and how many colours there are.
  function counted(role) {
    if (typeof role === "number") return ["s", role, LOOKS.colours];
    return String(role).startsWith("shade") ? ["shade", Number(role.slice(5)), LOOKS.shades] : null;
  }
  function turned(list, role) {
    const [, k, colours] = counted(role);
    return list[(k + Math.floor(k / colours)) % list.length];
  }
  function colour(role) {
    const found = counted(role);
    return found ? `var(--${found[0]}${found[1] % found[2]})` : `var(--${role})`;
  }
  const DASH = { solid: "", dashed: "5 4", dotted: "2 3" };
  const ROLE_DASH = { baseline: "5 4", soft: "5 4" };
  function dash(mark) {
    if (mark.dash) return DASH[mark.dash];
    return counted(mark.role) ? turned(LOOKS.dashes, mark.role) : ROLE_DASH[mark.role] || "";
  }

  const marker = (mark) => mark.marker || (counted(mark.role) ? turned(LOOKS.markers, mark.role) : mark.role === "censored" ? "diamond" : "dot");
  const corners = (points) => `M${points.map((point) => point.join(",")).join("L")}Z`;
  const polygon = (n) => (x, y, r) => corners(Array.from({ length: n }, (_, k) => [x + 1.35 * r * Math.sin((2 * Math.PI * k) / n), y - 1.35 * r * Math.cos((2 * Math.PI * k) / n)]));
  function plus(x, y, r) {
    const [a, b] = [r * 1.2, r * 0.45];
    return corners([[-b, -a], [b, -a], [b, -b], [a, -b], [a, b], [b, b], [b, a], [-b, a], [-b, b], [-a, b], [-a, -b], [-b, -b]].map(([u, v]) => [x + u, y + v]));
  }
  function cross(x, y, r) {
    const [a, b] = [r * 1.15, r * 0.5];
    return corners([[-a, -a + b], [-a + b, -a], [0, -b], [a - b, -a], [a, -a + b], [b, 0], [a, a - b], [a - b, a], [0, b], [-a + b, a], [-a, a - b], [-b, 0]].map(([u, v]) => [x + u, y + v]));
  }
  function star(x, y, r) {
    const corner = (k) => { const size = k % 2 ? r * 0.5 : r * 1.3; const turn = (Math.PI * k) / 5; return `${x + size * Math.sin(turn)},${y - size * Math.cos(turn)}`; };
    return `M${Array.from({ length: 10 }, (_, k) => corner(k)).join("L")}Z`;
  }
  const PATHS = {
    dot: (x, y, r) => `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
    square: (x, y, r) => `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
    up: (x, y, r) => `M${x},${y - r * 1.2}L${x + r * 1.15},${y + r * 0.9}H${x - r * 1.15}Z`,
    diamond: (x, y, r) => `M${x},${y - r * 1.3}L${x + r * 1.3},${y}L${x},${y + r * 1.3}L${x - r * 1.3},${y}Z`,
    down: (x, y, r) => `M${x},${y + r * 1.2}L${x + r * 1.15},${y - r * 0.9}H${x - r * 1.15}Z`,
    left: (x, y, r) => `M${x - r * 1.2},${y}L${x + r * 0.9},${y - r * 1.15}V${y + r * 1.15}Z`,
    right: (x, y, r) => `M${x + r * 1.2},${y}L${x - r * 0.9},${y - r * 1.15}V${y + r * 1.15}Z`,
    flat: (x, y, r) => `M${x - r},${y - 1}h${2 * r}v2h${-2 * r}Z`,
    tick: (x, y, r) => `M${x - 1},${y - r}h2v${2 * r}h-2Z`,
    hexagon: polygon(6),
    pentagon: polygon(5),
    plus,
    cross,
    star,
  };
  function shape(mark, x, y, r, parent) {
    const paint = colour(mark.role);
    const style = `stroke:${paint};stroke-width:1.5;fill:${mark.hollow ? "var(--card)" : paint}`;
    return node("path", { d: PATHS[marker(mark)](x, y, r), style }, parent);
  }
  const barStyle = (mark) => `fill:${colour(mark.role)};fill-opacity:${mark.hollow ? 0.15 : 1};stroke:${mark.hollow ? colour(mark.role) : "var(--card)"};stroke-width:.75`;
  const stroke = (mark, width) => ({ style: `stroke:${colour(mark.role)};stroke-width:${width}`, "stroke-dasharray": dash(mark) });

  // The sign of a mark in a legend.
  function key(parent, x, y, mark) {
    if (mark.type === "bars") node("rect", { x: x + 6, y: y - 5, width: 12, height: 10, style: barStyle(mark) }, parent);
    else if (mark.type === "span") node("rect", { x: x + 6, y: y - 5, width: 12, height: 10, style: "fill:var(--soft);opacity:.2" }, parent);
    else {
      if (mark.type !== "points" || mark.left) node("line", { x1: x, x2: x + 24, y1: y, y2: y, ...stroke(mark, mark.type === "rule" ? 1.25 : 2) }, parent);
      if (mark.type === "points" || mark.marked) shape(mark, x + 12, y, 3.5, parent);
    }
  }
  function swatch(role) {
    const made = node("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" });
    key(made, 0, 6, { type: "line", marked: true, role });
    return made;
  }
  function legend(svg, marks, width) {
    const seen = new Map();
    const ofModels = (mark) => (mark.series && mark.series.length ? 1 : 0);
    // Models first, then what the other marks mean.
    for (const mark of [...marks].sort((a, b) => ofModels(b) - ofModels(a))) if (mark.label && !seen.has(mark.label)) seen.set(mark.label, mark);
    if (seen.size < 1) return 0;
    let x = 4;
    let y = 10;
    for (const [name, mark] of seen) {
      const label = shorten(name, Math.min(300, width - 40));
      const size = 34 + textWidth(label) + 14;
      if (x + size > width && x > 4) { x = 4; y += 18; }
      const entry = node("g", { class: "entry" }, svg);
      entry.series = mark.series || [];
      node("rect", { x, y: y - 9, width: size - 8, height: 18, style: "fill:transparent" }, entry);
      key(entry, x, y, mark);
      node("text", { x: x + 30, y: y + 4, style: "fill:var(--ink)" }, entry, label);
      x += size;
    }
    return y + 12;
  }

  const LINE = 14;
  const rowsOf = (text) => text.split("\n");
  // Text of several lines, the first at y.
  function block(parent, text, x, y, width, attributes) {
    rowsOf(text).forEach((part, k) => node("text", { x, y: y + k * LINE, ...attributes }, parent, shorten(part, width)));
  }

  // What is in sight of a panel: rows and marks of the models that are shown.
  function visible(panel, shown) {
    const sees = (part) => (part.series || []).every(shown);
    const marks = panel.marks.filter(sees);
    if (!panel.rows.length) return { ...panel, marks };
    const place = new Map();
    panel.rows.forEach((row, k) => { if (sees(row)) place.set(k, place.size); });
    const move = (v) => { const at = place.get(Math.round(v)); return at === undefined ? null : at + v - Math.round(v); };
    return {
      ...panel,
      rows: panel.rows.filter(sees),
      marks: marks.map((mark) => {
        if (mark.type === "bars") return { ...mark, base: mark.base.map(move), top: mark.top.map((v, i) => { const at = move(mark.base[i]); return at === null ? null : at + v - mark.base[i]; }) };
        return mark.y ? { ...mark, y: mark.y.map(move) } : mark;
      }),
    };
  }

  const xs = (m) => [m.x, m.left, m.right, m.to, m.edges, m.type === "rule" && m.axis === "x" ? [m.value] : []];
  const ys = (m) => [m.y, m.low, m.high, m.base, m.top, m.type === "rule" && m.axis === "y" ? [m.value] : []];
  const flat = (panels, pick) => panels.flatMap((panel) => panel.marks.flatMap(pick));

  function domains(panels, shared) {
    return panels.map((panel) => {
      const x = extent(flat(shared === "x" ? panels : [panel], xs), panel.x, panel.rows.length ? 0.08 : 0.02);
      if (panel.rows.length) return { x, y: [panel.rows.length - 0.5, -0.5] };
      return { x, y: extent(flat(shared === "y" ? panels : [panel], ys), panel.y, 0.05) };
    });
  }

  const ROW = 30;
  // Height of a row: room for the marks that share one.
  function rowHeight(panel) {
    const counts = new Array(panel.rows.length).fill(0);
    for (const mark of panel.marks) if (mark.type === "points") for (const at of new Set(mark.y.filter(known).map(Math.round))) counts[at] += 1;
    return Math.max(ROW, 10 * Math.max(...counts));
  }
  // Width of an equal panel, whose height follows from it.
  const EQUAL = 380;
  const equalWidth = (panel, room) => (panel.equal ? Math.min(room, EQUAL) : room);
  const tall = (panel, domain, room) => (panel.equal ? (equalWidth(panel, room) * (domain.y[1] - domain.y[0])) / (domain.x[1] - domain.x[0]) : bodyHeight(panel));
  const bodyHeight = (panel) => (panel.rows.length ? panel.rows.length * rowHeight(panel) : Math.max(72, panel.height * 120 - 50));
  function leftOf(panel, domain, width) {
    if (panel.rows.length) return Math.min(width * 0.4, Math.max(60, ...panel.rows.map((row) => textWidth(row.label))) + 14);
    const marks = panel.y.ticks ? panel.y.ticks.map((tick) => tick[1]) : numbered(domain, bodyHeight(panel) / 45).map((tick) => tick[1]);
    const words = panel.y.label ? 17 + LINE * rowsOf(panel.y.label).length : 8;
    return Math.max(words + Math.max(10, ...marks.map(textWidth)), ...countRows(panel).map((row) => textWidth(row.name) + 34));
  }
  const countRows = (panel) => (panel.counts ? panel.counts.rows : []);
  // Ticks that have room for their words and the numbers below them.
  function roomy(panel, ticks, room) {
    if (!panel.counts) return ticks.map((tick, k) => [...tick, k]);
    const widest = Math.max(...ticks.map((tick) => textWidth(tick[1])), ...countRows(panel).flatMap((row) => row.values.map(textWidth)));
    const every = Math.max(1, Math.ceil(((widest + 8) * ticks.length) / room));
    return ticks.map((tick, k) => [...tick, k]).filter((tick, k) => k % every === 0);
  }
  // Room for what stands beside the rows, and for half of the last number below the axis.
  function rightOf(panel, domain) {
    const last = (panel.x.ticks || numbered(domain, 8)).at(-1);
    const beside = panel.rows.map((row) => (row.beside ? Math.max(...rowsOf(row.beside).map(textWidth)) + 24 : 0));
    return Math.max(12, last ? textWidth(last[1]) / 2 + 6 : 0, ...beside);
  }
  function numbered(domain, count) {
    let found = ticks(Math.min(...domain), Math.max(...domain), count);
    // A single number does not make a scale.
    for (let more = 2; found.values.length < 2 && more < 9; more *= 2) found = ticks(Math.min(...domain), Math.max(...domain), count * more);
    return found.values.map((v) => [v, tickText(v, found.step)]);
  }
  const axisFoot = (panel) => 12 + LINE * (Math.max(1, ...(panel.x.ticks || []).map((tick) => rowsOf(tick[1]).length)) + (panel.x.label ? rowsOf(panel.x.label).length : 0)) + 6;
  const footOf = (panel) => axisFoot(panel) + (panel.counts ? LINE * (countRows(panel).length + 1) + 8 : 0);
  // Numbers below the ticks, such as subjects at risk.
  function counts(svg, panel, { left, bottom }, sx, places) {
    const first = bottom + axisFoot(panel) + LINE;
    node("text", { x: left, y: first, style: "fill:var(--soft)" }, svg, panel.counts.title);
    countRows(panel).forEach((row, k) => {
      const style = `fill:${colour(row.role)}`;
      const y = first + LINE * (k + 1);
      node("text", { x: left - 26, y, "text-anchor": "end", style }, svg, row.name);
      for (const [v, , at] of places) node("text", { x: sx(v), y, "text-anchor": "middle", style }, svg, row.values[at]);
    });
  }

  // Axes; returns the two scales.
  function axes(svg, panel, box, domain, edge) {
    const { left, top, right, bottom } = box;
    const scale = ([low, high], from, to) => (v) => from + ((v - low) / (high - low)) * (to - from);
    const sx = scale(domain.x, left, right);
    const sy = scale(domain.y, bottom, top);
    const soft = "fill:var(--soft)";
    const label = "fill:var(--ink);font-weight:500";
    const grid = "stroke:var(--faint);stroke-width:1";
    if (panel.rows.length) {
      panel.rows.forEach((row, k) => {
        node("line", { x1: left, x2: right, y1: sy(k), y2: sy(k), style: grid }, svg);
        node("text", { x: left - 10, y: sy(k) + 4, "text-anchor": "end", style: "fill:var(--ink)" }, svg, rowLabel(row, left - box.start - 14));
        if (row.beside) block(svg, row.beside, right + 8, sy(k) + 4 - (LINE / 2) * (rowsOf(row.beside).length - 1), 300, { style: row.clear ? "fill:var(--ink)" : soft });
      });
    } else {
      for (const [v, text] of panel.y.ticks || numbered(domain.y, (bottom - top) / 45)) {
        node("line", { x1: left, x2: right, y1: sy(v), y2: sy(v), style: grid }, svg);
        node("text", { x: left - 6, y: sy(v) + 4, "text-anchor": "end", style: soft }, svg, text);
      }
      if (panel.y.label && edge.first) {
        const parts = rowsOf(panel.y.label);
        parts.forEach((part, k) => {
          const at = { transform: `translate(${left - leftOf(panel, domain.y, box.end - box.start) + 12 + k * LINE},${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", style: label };
          node("text", at, svg, shorten(part, bottom - top + 60));
        });
      }
    }
    const places = roomy(panel, panel.x.ticks || numbered(domain.x, (right - left) / 75), right - left);
    for (const [v, text] of places) {
      node("line", { x1: sx(v), x2: sx(v), y1: panel.rows.length ? top : bottom, y2: bottom + 4, style: panel.rows.length ? grid : "stroke:var(--soft)" }, svg);
      if (edge.last) block(svg, text, sx(v), bottom + 17, 200, { "text-anchor": "middle", style: soft });
    }
    node("line", { x1: left, x2: right, y1: bottom, y2: bottom, style: "stroke:var(--soft)" }, svg);
    if (panel.x.label && edge.last) {
      const middle = (left + right) / 2;
      const room = 2 * Math.min(middle - box.start, box.end - middle);
      const first = bottom + axisFoot(panel) - 6 - LINE * (rowsOf(panel.x.label).length - 1) - 4;
      block(svg, panel.x.label, middle, first, room, { "text-anchor": "middle", style: label });
    }
    if (panel.counts && edge.last) counts(svg, panel, box, sx, places);
    return { sx, sy };
  }
  // A pair of long names keeps the ends of both.
  function rowLabel(row, width) {
    const pair = row.series || [];
    if (pair.length !== 2 || textWidth(row.label) <= width) return shorten(row.label, width);
    const half = (width - textWidth(" \u2212 ")) / 2;
    return pair.map((part) => shorten(part, half)).join(" \u2212 ");
  }

  function path(mark, sx, sy) {
    let d = "";
    let open = false;
    mark.x.forEach((x, i) => {
      const y = mark.y[i];
      if (!known(y)) { open = false; return; }
      const at = `${sx(x).toFixed(1)},${sy(y).toFixed(1)}`;
      if (!open) d += `M${at}`;
      else d += mark.step ? `H${sx(x).toFixed(1)}V${sy(y).toFixed(1)}` : `L${at}`;
      open = true;
    });
    return d;
  }
  function band(mark, sx, sy) {
    const upper = [];
    const lower = [];
    mark.x.forEach((x, i) => {
      if (!known(mark.low[i]) || !known(mark.high[i])) return;
      if (mark.step && upper.length) {
        upper.push([sx(x), upper[upper.length - 1][1]]);
        lower.push([sx(x), lower[lower.length - 1][1]]);
      }
      upper.push([sx(x), sy(mark.high[i])]);
      lower.push([sx(x), sy(mark.low[i])]);
    });
    if (!upper.length) return "";
    return "M" + upper.concat(lower.reverse()).map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L") + "Z";
  }

  // How each kind of mark is drawn; dots collects the points that can be read.
  const DRAW = {
    span(mark, body, { sx, sy, box }) {
      const part = mark.axis === "x" ? { x: sx(mark.start), width: Math.max(0, sx(mark.end) - sx(mark.start)), y: box.top, height: box.bottom - box.top } : { x: box.left, width: box.right - box.left, y: sy(mark.end), height: Math.max(0, sy(mark.start) - sy(mark.end)) };
      node("rect", { ...part, style: "fill:var(--soft);opacity:.12" }, body);
    },
    bars(mark, body, { sx, sy }) {
      mark.top.forEach((top, k) => {
        if (!known(top) || !known(mark.base[k])) return;
        const [from, to] = [sx(mark.edges[k]), sx(mark.edges[k + 1])];
        const gap = ((to - from) * (mark.gap || 0)) / 2;
        const [a, b] = [sy(mark.base[k]), sy(top)];
        node("rect", { x: from + gap, y: Math.min(a, b), width: Math.max(0.5, to - from - 2 * gap), height: Math.abs(a - b), style: barStyle(mark) }, body);
      });
    },
    rule(mark, body, { sx, sy, box, domain }) {
      let ends = { x1: sx(mark.value), x2: sx(mark.value), y1: box.top, y2: box.bottom };
      if (mark.axis === "y") ends = { x1: box.left, x2: box.right, y1: sy(mark.value), y2: sy(mark.value) };
      if (mark.axis === "diagonal") {
        const low = Math.max(domain.x[0], domain.y[0]);
        const high = Math.min(domain.x[1], domain.y[1]);
        ends = { x1: sx(low), y1: sy(low), x2: sx(high), y2: sy(high) };
      }
      node("line", { ...ends, ...stroke(mark, 1.25) }, body);
    },
    line(mark, body, { sx, sy }) {
      node("path", { d: path(mark, sx, sy), fill: "none", ...stroke(mark, mark.width * 1.4) }, body);
      const single = mark.y.filter(known).length === 1;
      const dots = mark.dots || mark;
      if (mark.marked || single) dots.x.forEach((x, i) => { if (known(dots.y[i])) shape(mark, sx(x), sy(dots.y[i]), 3, body); });
    },
    points(mark, body, { sx, sy, dots }) {
      const paint = `stroke:${colour(mark.role)};stroke-width:`;
      const between = (a, b) => a && b && ((i) => known(a[i]) && known(b[i]));
      const [up, across] = [between(mark.low, mark.high), between(mark.left, mark.right)];
      mark.x.forEach((x, i) => {
        const y = mark.y[i];
        if (!known(x) || !known(y)) return;
        const [px, py] = [sx(x), sy(y)];
        if (up && up(i)) node("line", { x1: px, x2: px, y1: sy(mark.low[i]), y2: sy(mark.high[i]), style: `${paint}1.5` }, body);
        if (across && across(i)) node("line", { x1: sx(mark.left[i]), x2: sx(mark.right[i]), y1: py, y2: py, style: `${paint}2.5` }, body);
        if (mark.to && known(mark.to[i])) {
          node("line", { x1: px, y1: py, x2: sx(mark.to[i]), y2: py, style: `${paint}1;opacity:.45` }, body);
          node("path", { d: `M${sx(mark.to[i])},${py}l-5,-3v6Z`, style: `fill:${colour(mark.role)};opacity:.7` }, body);
        }
        const made = shape(mark, px, py, (mark.size || 4.5) * 0.6 + 1.2, body);
        if (mark.x.length > 200) made.style.opacity = 0.65;
        if (mark.inside) node("text", { x: px, y: py + 4, "text-anchor": "middle", style: `fill:var(--${mark.hollow ? "ink" : "card"});font-size:11px` }, body, mark.names[i]);
        dots.push({ px, py, mark, i });
      });
    },
  };
  const ORDER = ["span", "bars", "rule", "line", "points"];
  const MOST_BANDS = 2;
  let drawn = 0;

  // The drawing of a mark with its model: by name, or in rows of models by its role.
  function group(mark, body, panel) {
    const made = node("g", { class: "mark" }, body);
    made.series = mark.series || [];
    const models = made.series.length || panel.rows.some((row) => (row.series || []).length === 1);
    made.look = models && typeof mark.role === "number" ? mark.role : null;
    return made;
  }
  function drawPanel(svg, panel, box, domain, edge) {
    const place = { ...axes(svg, panel, box, domain, edge), box, domain, dots: [] };
    const { sx, sy } = place;
    if (panel.title) block(svg, panel.title, box.start + (panel.rows.length ? 0 : 4), box.top - 8 - LINE * (rowsOf(panel.title).length - 1), 0.88 * (box.end - box.start) - 8, { style: "fill:var(--ink);font-weight:600" });
    const clip = `clip-${(drawn += 1)}`;
    const hole = node("clipPath", { id: clip }, node("defs", {}, svg));
    node("rect", { x: box.left - 6, y: box.top - 6, width: box.right - box.left + 12, height: box.bottom - box.top + 12 }, hole);
    const body = node("g", { "clip-path": `url(#${clip})` }, svg);
    const bands = panel.bandless ? [] : panel.marks.filter((mark) => mark.type === "line" && mark.low);
    // Many bands on top of each other tell nothing.
    for (const mark of bands) if (bands.length <= MOST_BANDS || !mark.series.length) node("path", { d: band(mark, sx, sy), style: `fill:${colour(mark.role)};opacity:0.16` }, group(mark, body, panel));
    const marks = [...panel.marks].sort((a, b) => ORDER.indexOf(a.type) - ORDER.indexOf(b.type));
    for (const mark of marks) DRAW[mark.type](mark, group(mark, body, panel), place);
    // Words instead of a mark cover the lines that they stand on.
    const over = "fill:var(--soft);stroke:var(--card);stroke-width:5;paint-order:stroke";
    panel.rows.forEach((row, k) => { if (row.inside) node("text", { x: box.left + 6, y: sy(k) + 4, style: over }, svg, row.inside); });
    return targetsOf(panel, place);
  }

  // -- what the pointer and the keys read ------------------------------------------------------
  function interval(low, high) {
    return known(low) && known(high) ? ` (${format(low)} to ${format(high)})` : "";
  }
  function targetsOf(panel, place) {
    const of = (type) => panel.marks.filter((mark) => mark.type === type);
    if (panel.rows.length) return rowTargets(panel, place);
    const bars = of("bars");
    if (bars.length && !bars[0].counts) return barTargets(panel, bars, place);
    const lines = of("line").filter((mark) => named(mark) && mark.x.length > 1);
    const above = lines.length ? lineTargets(panel, lines, place) : pointTargets(panel, place.dots);
    if (!bars.length) return above;
    // Bars below a curve with points: what is close to a point, then what is above or in the bars.
    const { box, sy } = place;
    const end = Math.max(...bars.flatMap((mark) => [...mark.base, ...mark.top]).filter(known));
    const cell = (upper, lower) => ({ start: box.start, end: box.end, upper, lower });
    const split = together([{ cell: cell(box.top, sy(end)), targets: above }, { cell: cell(sy(end), box.bottom), targets: barTargets(panel, bars, place) }]);
    return lines.length ? nearFirst(pointTargets(panel, place.dots), split) : split;
  }
  const named = (mark) => mark.name || mark.label || null;
  const oneLine = (text) => text.replaceAll("\n", " ");
  function rowTargets(panel, { dots, box, sy }) {
    return {
      count: panel.rows.length,
      at(k) {
        const mine = dots.filter(({ mark, i }) => Math.round(mark.y[i]) === k);
        const named = mine.length === 1 && mine[0].mark.names ? mine[0].mark.names[mine[0].i] : panel.rows[k].label;
        const rows = mine.map(({ mark, i }) => [mine.length > 1 ? mark.label : panel.x.label, format(mark.x[i]) + (mark.left ? interval(mark.left[i], mark.right[i]) : "")]);
        for (const text of [panel.rows[k].inside, panel.rows[k].beside]) if (text) rows.push([text, ""]);
        return { title: named, rows, marks: mine.length ? mine.map(({ px, py }) => [px, py]) : [[box.left, sy(k)]] };
      },
      nearest: (px, py) => (panel.rows.length ? Math.max(0, Math.min(panel.rows.length - 1, Math.floor(((py - box.top) / (box.bottom - box.top)) * panel.rows.length))) : -1),
    };
  }
  const heights = (mark) => mark.top.map((top, i) => Math.abs(top - mark.base[i]));
  function nearFirst(near, rest) {
    return {
      count: near.count + rest.count,
      at: (k) => (k < near.count ? near.at(k) : rest.at(k - near.count)),
      nearest(px, py) {
        const k = near.nearest(px, py);
        if (k >= 0) return k;
        const other = rest.nearest(px, py);
        return other < 0 ? -1 : near.count + other;
      },
    };
  }
  function barTargets(panel, bars, { box, sx }) {
    const { edges } = bars[0];
    return {
      count: edges.length - 1,
      at: (k) => ({
        title: `${oneLine(panel.x.label)} ${format(edges[k])} to ${format(edges[k + 1])}`,
        rows: bars.map((mark) => [mark.label, format((mark.counts || heights(mark))[k])]),
        marks: [],
        guide: { x: sx((edges[k] + edges[k + 1]) / 2), top: box.top, bottom: box.bottom },
      }),
      nearest(px) {
        const k = edges.findIndex((edge) => sx(edge) > px);
        return Math.max(0, Math.min(edges.length - 2, (k < 0 ? edges.length : k) - 1));
      },
    };
  }
  function pointTargets(panel, dots) {
    dots.sort((a, b) => a.px - b.px || a.py - b.py);
    return {
      count: dots.length,
      at(k) {
        const { px, py, mark, i } = dots[k];
        const rows = [[oneLine(panel.x.label), format(mark.x[i])], [oneLine(panel.y.label), format(mark.y[i]) + (mark.low ? interval(mark.low[i], mark.high[i]) : "")]];
        if (panel.x.ticks) rows.shift();
        if (mark.to) rows.push([mark.to_label, format(mark.to[i])]);
        return { title: [panel.x.ticks ? mark.label : "", mark.names ? mark.names[i] : mark.label].filter((text) => text).join(": "), rows, marks: [[px, py]] };
      },
      nearest(px, py) {
        let best = -1;
        let least = 30 * 30;
        dots.forEach((dot, k) => {
          const gap = (dot.px - px) ** 2 + (dot.py - py) ** 2;
          if (gap < least) { least = gap; best = k; }
        });
        return best;
      },
    };
  }
  function lineTargets(panel, lines, { sx, sy, box }) {
    const all = [...new Set(lines.flatMap((mark) => mark.x))].sort((a, b) => a - b);
    const read = (mark, x) => {
      let i = mark.x.findIndex((v) => v > x);
      i = (i < 0 ? mark.x.length : i) - 1;
      if (i < 0) return null;
      const exact = mark.x[i] === x;
      if (!exact && !mark.step && i + 1 >= mark.x.length) return null;
      const at = (list) => {
        if (!list || !known(list[i])) return null;
        if (exact || mark.step) return list[i];
        if (!known(list[i + 1])) return null;
        return list[i] + ((list[i + 1] - list[i]) * (x - mark.x[i])) / (mark.x[i + 1] - mark.x[i]);
      };
      return { y: at(mark.y), low: at(mark.low), high: at(mark.high) };
    };
    return {
      count: all.length,
      at(k) {
        const x = all[k];
        const marks = [];
        const rows = [];
        for (const mark of lines) {
          const found = read(mark, x);
          if (!found || found.y === null) continue;
          rows.push([named(mark), format(found.y) + interval(found.low, found.high)]);
          marks.push([sx(x), sy(found.y), mark.role]);
        }
        return { title: `${oneLine(panel.x.label)} ${format(x)}`, rows, marks, guide: { x: sx(x), top: box.top, bottom: box.bottom } };
      },
      nearest(px) {
        let best = -1;
        let least = Infinity;
        all.forEach((x, k) => {
          const gap = Math.abs(sx(x) - px);
          if (gap < least) { least = gap; best = k; }
        });
        return best;
      },
    };
  }
  // The targets of all panels one after the other.
  function together(parts) {
    const gap = ({ cell: c }, px, py) => Math.max(c.start - px, px - c.end, 0) + Math.max(c.upper - py, py - c.lower, 0);
    return {
      count: parts.reduce((sum, part) => sum + part.targets.count, 0),
      at(k) {
        let rest = k;
        for (const { targets } of parts) {
          if (rest < targets.count) return targets.at(rest);
          rest -= targets.count;
        }
        return undefined;
      },
      nearest(px, py) {
        let before = 0;
        let best = { gap: Infinity, at: -1 };
        for (const part of parts) {
          const far = gap(part, px, py);
          if (far < best.gap) { const k = part.targets.nearest(px, py); best = { gap: far, at: k < 0 ? -1 : before + k }; }
          before += part.targets.count;
        }
        return best.at;
      },
    };
  }

  // -- a chart: its panels in rows ---------------------------------------------------------------
  const CELL = 230;
  function draw(spec, width, shown) {
    const panels = spec.panels.filter((panel) => panel.series.every(shown)).map((panel) => visible(panel, shown));
    const columns = Math.max(1, Math.min(spec.columns, panels.length, Math.floor(width / CELL)));
    const cell = width / columns;
    const domain = domains(panels, spec.shared);
    // Panels below each other begin and end alike, those with rows of names apart from the others.
    const alike = (a, b) => Boolean(a.rows.length) === Boolean(b.rows.length);
    const widest = (at, of) => Math.max(0, ...panels.map((panel, k) => ((k % columns === at % columns && alike(panel, panels[at])) || spec.shared ? of(panel, k) : 0)));
    const left = panels.map((_, at) => widest(at, (panel, k) => leftOf(panel, domain[k].y, cell)));
    const right = panels.map((_, at) => widest(at, (panel, k) => rightOf(panel, domain[k].x)));
    const marks = panels.flatMap((panel) => panel.marks);
    let upper = legend(node("svg"), marks, width) + 8;
    const places = [];
    for (let k = 0; k < panels.length; k += columns) {
      const row = panels.slice(k, k + columns);
      const last = spec.shared !== "x" || k + columns >= panels.length;
      const head = 15 + LINE * Math.max(0, ...row.map((panel) => (panel.title ? rowsOf(panel.title).length : 0)));
      const body = Math.max(...row.map((panel, j) => tall(panel, domain[k + j], cell - left[k + j] - right[k + j])));
      const foot = last ? Math.max(...row.map(footOf)) : 10;
      row.forEach((panel, j) => {
        const start = j * cell;
        const top = upper + head;
        places.push({ start, end: start + cell, upper, lower: top + body + foot, left: start + left[k + j], right: start + left[k + j] + equalWidth(panel, cell - left[k + j] - right[k + j]), top, bottom: top + body, edge: { last, first: j === 0 || spec.shared !== "y" } });
      });
      upper += head + body + foot;
    }
    const height = Math.max(40, Math.ceil(upper));
    const svg = node("svg", { width, height, viewBox: `0 0 ${width} ${height}`, style: `font:${FONT}` });
    node("rect", { width, height, style: "fill:var(--card)" }, svg);
    legend(svg, marks, width);
    const parts = panels.map((panel, k) => ({ cell: places[k], targets: drawPanel(svg, panel, places[k], domain[k], places[k].edge) }));
    return { svg, targets: together(parts) };
  }

  // A drawing with words above it, as it leaves the page.
  function framed(svg, words) {
    const lines = words.filter((text) => text);
    const head = 10 + 20 * lines.length;
    const [width, height] = ["width", "height"].map((name) => Number(svg.getAttribute(name)));
    const whole = node("svg", { xmlns: SVG, width, height: height + head, viewBox: `0 0 ${width} ${height + head}`, style: `font:${FONT}` });
    node("title", {}, whole, lines.join(". "));
    node("rect", { width, height: height + head, style: "fill:var(--card)" }, whole);
    lines.forEach((text, k) => node("text", { x: 4, y: 18 + 19 * k, style: k ? "fill:var(--soft)" : "fill:var(--ink);font-weight:600;font-size:14px" }, whole, shorten(text, width - (k ? 8 : 90))));
    svg.setAttribute("y", head);
    whole.appendChild(svg);
    return whole;
  }

  // The numbers behind a chart, as a table.
  function table(spec) {
    const same = (pick) => new Set(spec.panels.map(pick)).size === 1;
    const { x, y } = spec.panels[0];
    const single = same((panel) => panel.y.label);
    const far = spec.panels.flatMap((panel) => panel.marks).find((mark) => mark.to_label);
    const head = ["panel", "row", "series", oneLine(x.label) || "x", (single && oneLine(y.label)) || "value", "measure", "low", "high", far ? far.to_label : "to", "label"];
    const rows = [];
    const pick = (list, i) => (list ? list[i] : null);
    for (const panel of spec.panels) for (const mark of panel.marks) {
      const row = (k) => (panel.rows.length ? panel.rows[Math.round(k)].label : null);
      const shared = [single ? null : oneLine(panel.y.label)];
      if (mark.type === "bars") mark.top.forEach((top, i) => rows.push([panel.title || null, row(mark.base[i]), mark.label || null, `${format(mark.edges[i])} to ${format(mark.edges[i + 1])}`, (mark.counts || heights(mark))[i], ...shared, null, null, null, null]));
      if ((mark.type === "line" || mark.type === "points") && mark.x) mark.x.forEach((at, i) => rows.push([
        panel.title || null, row(mark.y[i]), named(mark), at, panel.rows.length ? null : mark.y[i], ...shared,
        pick(mark.low || mark.left, i), pick(mark.high || mark.right, i), pick(mark.to, i), pick(mark.names, i),
      ]));
    }
    const used = head.map((_, k) => rows.some((row) => row[k] !== null && row[k] !== undefined));
    return [head, ...rows].map((row) => row.filter((_, k) => used[k]));
  }

  return { use, draw, framed, table, format, swatch, node, colour, shorten };
})();
