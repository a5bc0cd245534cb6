"use strict";
// Small SVG charts from plain descriptions. A chart is drawn for a width; every text is set as text,
// every colour is a variable of the page, so that dark pages and paper need no second drawing.
const Charts = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif";
  const DASHES = ["", "7 3", "2 3", "9 3 2 3", "4 2", "12 4"];
  const SHAPES = 6;
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
  function extent(values, fixed, room) {
    let low = Infinity;
    let high = -Infinity;
    for (const list of values) for (const v of list || []) {
      if (v === null || v === undefined || !Number.isFinite(v)) continue;
      if (v < low) low = v;
      if (v > high) high = v;
    }
    if (low > high) { low = 0; high = 1; }
    if (high - low <= 1e-9 * Math.max(Math.abs(low), Math.abs(high))) { const pad = Math.abs(low) * 0.1 || 1; low -= pad; high += pad; }
    const pad = (high - low) * room;
    const [a, b] = fixed || [null, null];
    low = a === null || a === undefined ? low - pad : a;
    high = b === null || b === undefined ? high + pad : b;
    return low < high ? [low, high] : [low, low + 1];
  }

  const colour = (c) => (typeof c === "number" ? `var(--s${c % 8})` : `var(--${c || "ref"})`);
  const dash = (c) => (typeof c === "number" ? DASHES[c % DASHES.length] : "4 3");
  const known = (v) => v !== null && v !== undefined && Number.isFinite(v);

  function shape(c, x, y, r, parent, filled) {
    const kind = typeof c === "number" ? c % SHAPES : 0;
    const paths = [
      `M${x - r},${y}a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
      `M${x - r},${y - r}h${2 * r}v${2 * r}h${-2 * r}Z`,
      `M${x},${y - r * 1.2}L${x + r * 1.15},${y + r * 0.9}H${x - r * 1.15}Z`,
      `M${x},${y - r * 1.3}L${x + r * 1.3},${y}L${x},${y + r * 1.3}L${x - r * 1.3},${y}Z`,
      `M${x},${y + r * 1.2}L${x + r * 1.15},${y - r * 0.9}H${x - r * 1.15}Z`,
      `M${x - r * 1.2},${y - r * 0.5}h${r * 2.4}v${r}h${-r * 2.4}Z`,
    ];
    const paint = colour(c);
    const style = `stroke:${paint};stroke-width:1.5;fill:${filled ? paint : "var(--card)"}`;
    return node("path", { d: paths[kind], style }, parent);
  }

  function swatch(c, kind) {
    const made = node("svg", { width: 26, height: 12, viewBox: "0 0 26 12", "aria-hidden": "true" });
    key(made, 0, 6, c, kind);
    return made;
  }

  function key(parent, x, y, c, kind, solid, open) {
    if (kind === "bars") {
      node("rect", { x: x + 6, y: y - 5, width: 12, height: 10, style: `fill:${colour(c)}` }, parent);
      return;
    }
    if (kind !== "points") {
      node("line", { x1: x, x2: x + 24, y1: y, y2: y, style: `stroke:${colour(c)};stroke-width:2`, "stroke-dasharray": solid ? "" : dash(c) }, parent);
    }
    if (kind !== "line") shape(c, x + 12, y, 3.5, parent, !open);
  }

  function legend(svg, layers, width) {
    const seen = new Map();
    for (const layer of layers) {
      const own = `${layer.series}|${layer.color}`;
      if (layer.series && !seen.has(own)) seen.set(own, layer);
    }
    if (seen.size < 1) return 0;
    let x = 4;
    let y = 10;
    for (const layer of seen.values()) {
      const label = shorten(layer.series, 200);
      const size = 34 + textWidth(label) + 14;
      if (x + size > width && x > 4) { x = 4; y += 18; }
      key(svg, x, y, layer.color, layer.type, layer.solid, layer.open);
      node("text", { x: x + 30, y: y + 4, style: "fill:var(--ink)" }, svg, label);
      x += size;
    }
    return y + 12;
  }

  function frame(spec, width, height) {
    const svg = node("svg", { width, height, viewBox: `0 0 ${width} ${height}`, style: `font:${FONT}` });
    node("rect", { width, height, style: "fill:var(--card)" }, svg);
    return svg;
  }

  // Axes; returns the two scales and the box that the data are drawn into.
  function axes(svg, spec, box, xDomain, yDomain) {
    const { left, top, right, bottom } = box;
    const sx = (v) => left + ((v - xDomain[0]) / (xDomain[1] - xDomain[0])) * (right - left);
    const sy = (v) => bottom - ((v - yDomain[0]) / (yDomain[1] - yDomain[0])) * (bottom - top);
    const grid = "stroke:var(--faint);stroke-width:1";
    const soft = "fill:var(--soft)";
    const yTicks = ticks(...yDomain, (bottom - top) / 45);
    for (const v of yTicks.values) {
      node("line", { x1: left, x2: right, y1: sy(v), y2: sy(v), style: grid }, svg);
      node("text", { x: left - 6, y: sy(v) + 4, "text-anchor": "end", style: soft }, svg, tickText(v, yTicks.step));
    }
    if (!spec.x.categories) {
      const xTicks = ticks(...xDomain, (right - left) / 75);
      for (const v of xTicks.values) {
        node("line", { x1: sx(v), x2: sx(v), y1: bottom, y2: bottom + 4, style: "stroke:var(--soft)" }, svg);
        node("text", { x: sx(v), y: bottom + 17, "text-anchor": "middle", style: soft }, svg, tickText(v, xTicks.step));
      }
    }
    node("line", { x1: left, x2: right, y1: bottom, y2: bottom, style: "stroke:var(--soft)" }, svg);
    const label = "fill:var(--ink);font-weight:500";
    node("text", { x: (left + right) / 2, y: bottom + 36, "text-anchor": "middle", style: label }, svg, shorten(spec.x.label, right - left + 40));
    const up = node("text", { transform: `translate(12,${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle", style: label }, svg);
    up.textContent = shorten(spec.y.label, bottom - top + 30);
    return { sx, sy };
  }

  function yAxisWidth(domain, height) {
    const marks = ticks(...domain, height / 45);
    return 26 + Math.max(...marks.values.map((v) => textWidth(tickText(v, marks.step))), 10);
  }

  function path(layer, sx, sy) {
    let d = "";
    let open = false;
    layer.x.forEach((x, i) => {
      const y = layer.y[i];
      if (!known(y)) { open = false; return; }
      const at = `${sx(x).toFixed(1)},${sy(y).toFixed(1)}`;
      if (!open) d += `M${at}`;
      else d += layer.step ? `H${sx(x).toFixed(1)}V${sy(y).toFixed(1)}` : `L${at}`;
      open = true;
    });
    return d;
  }

  function band(layer, sx, sy) {
    const upper = [];
    const lower = [];
    layer.x.forEach((x, i) => {
      if (!known(layer.low[i]) || !known(layer.high[i])) return;
      if (layer.step && upper.length) {
        upper.push([sx(x), upper[upper.length - 1][1]]);
        lower.push([sx(x), lower[lower.length - 1][1]]);
      }
      upper.push([sx(x), sy(layer.high[i])]);
      lower.push([sx(x), sy(layer.low[i])]);
    });
    if (!upper.length) return "";
    return "M" + upper.concat(lower.reverse()).map((p) => p.map((v) => v.toFixed(1)).join(",")).join("L") + "Z";
  }

  function rule(svg, layer, box, sx, sy) {
    if (layer.axis !== "diagonal" && !known(layer.value)) return;
    const style = "stroke:var(--soft);stroke-width:1.25";
    const words = { style: "fill:var(--soft);font-size:11px" };
    if (layer.axis === "x") {
      const x = sx(layer.value);
      if (x < box.left - 1 || x > box.right + 1) return;
      node("line", { x1: x, x2: x, y1: box.top, y2: box.bottom, style, "stroke-dasharray": "5 4" }, svg);
      const end = x > (box.left + box.right) / 2;
      node("text", { ...words, x: x + (end ? -5 : 5), y: box.top + 11, "text-anchor": end ? "end" : "start" }, svg, layer.label || "");
    } else if (layer.axis === "y") {
      const y = sy(layer.value);
      node("line", { x1: box.left, x2: box.right, y1: y, y2: y, style, "stroke-dasharray": "5 4" }, svg);
      node("text", { ...words, x: box.right - 4, y: y - 5, "text-anchor": "end" }, svg, layer.label || "");
    } else {
      const low = Math.max(layer.low, layer.floor);
      node("line", { x1: sx(low), y1: sy(low), x2: sx(layer.high), y2: sy(layer.high), style, "stroke-dasharray": "5 4" }, svg);
    }
  }

  function interval(low, high) {
    return known(low) && known(high) ? ` (${format(low)} to ${format(high)})` : "";
  }

  function drawXY(spec, width, shown) {
    const layers = spec.layers.filter((layer) => !layer.toggle || shown(layer.series));
    const height = (spec.height || 320) + Math.max(0, legend(node("svg"), layers, width) - 22);
    const svg = frame(spec, width, height);
    const top = legend(svg, layers, width) + 10;
    const flat = (pick) => layers.flatMap(pick);
    const xd = extent(flat((l) => [l.x, l.x1]), spec.x.domain, 0.02);
    const yd = extent(flat((l) => [l.y, l.y1, l.low, l.high, l.type === "rule" && l.axis === "y" ? [l.value] : []]), spec.y.domain, 0.05);
    const left = yAxisWidth(yd, height - top - 44);
    const box = { left, top, right: width - 12, bottom: height - 44 };
    const { sx, sy } = axes(svg, spec, box, xd, yd);
    const clip = `clip-${(drawXY.count = (drawXY.count || 0) + 1)}`;
    const hole = node("clipPath", { id: clip }, node("defs", {}, svg));
    node("rect", { x: box.left - 5, y: box.top - 5, width: box.right - box.left + 10, height: box.bottom - box.top + 10 }, hole);
    const body = node("g", { "clip-path": `url(#${clip})` }, svg);
    // Many bands on top of each other tell nothing.
    const bands = layers.filter((layer) => layer.type === "line" && layer.low).length;
    for (const layer of layers) {
      if (layer.type === "line" && layer.low && bands <= 4) {
        node("path", { d: band(layer, sx, sy), style: `fill:${colour(layer.color)};opacity:.16` }, body);
      }
    }
    const dots = [];
    for (const layer of layers) {
      const paint = colour(layer.color);
      if (layer.type === "rule") rule(svg, { floor: Math.max(xd[0], yd[0]), low: -Infinity, high: Math.min(xd[1], yd[1]), ...layer }, box, sx, sy);
      if (layer.type === "line") {
        node("path", { d: path(layer, sx, sy), fill: "none", style: `stroke:${paint};stroke-width:${layer.thin ? 1 : 2}`, "stroke-dasharray": layer.solid ? "" : dash(layer.color) }, body);
      }
      if (layer.type === "points") {
        layer.x.forEach((x, i) => {
          const y = layer.y[i];
          if (!known(x) || !known(y)) return;
          if (layer.low && known(layer.low[i])) {
            node("line", { x1: sx(x), x2: sx(x), y1: sy(layer.low[i]), y2: sy(layer.high[i]), style: `stroke:${paint};stroke-width:1.25` }, body);
          }
          if (layer.x1 && known(layer.x1[i])) {
            node("line", { x1: sx(x), y1: sy(y), x2: sx(layer.x1[i]), y2: sy(y), style: `stroke:${paint};opacity:.45` }, body);
            node("path", { d: `M${sx(layer.x1[i])},${sy(y)}l-5,-3v6Z`, style: `fill:${paint};opacity:.7` }, body);
          }
          const mark = shape(layer.color, sx(x), sy(y), layer.size || 3, body, !layer.open);
          mark.style.opacity = layer.x.length > 200 ? 0.65 : 1;
          dots.push({ px: sx(x), py: sy(y), layer, i });
        });
      }
    }
    return { svg, targets: dots.length ? pointTargets(dots, spec) : lineTargets(layers, spec, sx, sy, box) };
  }

  function pointTargets(dots, spec) {
    dots.sort((a, b) => a.px - b.px || a.py - b.py);
    return {
      count: dots.length,
      at(k) {
        const { px, py, layer, i } = dots[k];
        const rows = [[spec.x.label, format(layer.x[i])], [spec.y.label, format(layer.y[i]) + (layer.low ? interval(layer.low[i], layer.high[i]) : "")]];
        if (layer.x1) rows.push([layer.x1Label, format(layer.x1[i])]);
        return { title: layer.labels ? layer.labels[i] : layer.series, rows, marks: [[px, py]] };
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

  function lineTargets(layers, spec, sx, sy, box) {
    const lines = layers.filter((layer) => layer.type === "line");
    const xs = [...new Set(lines.flatMap((layer) => layer.x))].sort((a, b) => a - b);
    const read = (layer, x) => {
      let i = layer.x.findIndex((v) => v > x);
      i = (i < 0 ? layer.x.length : i) - 1;
      if (i < 0) return null;
      const exact = layer.x[i] === x;
      if (!exact && !layer.step && i + 1 >= layer.x.length) return null;
      const at = (list) => {
        if (!list || !known(list[i])) return null;
        if (exact || layer.step) return list[i];
        if (!known(list[i + 1])) return null;
        return list[i] + ((list[i + 1] - list[i]) * (x - layer.x[i])) / (layer.x[i + 1] - layer.x[i]);
      };
      return { y: at(layer.y), low: at(layer.low), high: at(layer.high) };
    };
    return {
      count: xs.length,
      at(k) {
        const x = xs[k];
        const marks = [];
        const rows = [];
        for (const layer of lines) {
          const found = read(layer, x);
          if (!found || found.y === null) continue;
          rows.push([layer.series, format(found.y) + interval(found.low, found.high)]);
          marks.push([sx(x), sy(found.y), layer.color]);
        }
        return { title: `${spec.x.label} ${format(x)}`, rows, marks, guide: { x: sx(x), top: box.top, bottom: box.bottom } };
      },
      nearest(px) {
        let best = -1;
        let least = Infinity;
        xs.forEach((x, k) => {
          const gap = Math.abs(sx(x) - px);
          if (gap < least) { least = gap; best = k; }
        });
        return best;
      },
    };
  }

  function drawBars(spec, width, shown) {
    const layers = spec.layers.filter((layer) => !layer.toggle || shown(layer.series));
    const bars = layers.filter((layer) => layer.type === "bars");
    const height = (spec.height || 320) + Math.max(0, legend(node("svg"), layers, width) - 22);
    const svg = frame(spec, width, height);
    const top = legend(svg, layers, width) + 10;
    const yd = extent(bars.flatMap((l) => [l.y, l.low, l.high]).concat(layers.map((l) => (l.type === "rule" ? [l.value] : []))), spec.y.domain || [0, null], 0.05);
    const left = yAxisWidth(yd, height - top - 44);
    const box = { left, top, right: width - 12, bottom: height - 44 };
    const names = spec.x.categories;
    const { sy } = axes(svg, spec, box, [0, names.length], yd);
    const slot = (box.right - box.left) / names.length;
    const every = Math.ceil((Math.max(...names.map(textWidth)) + 8) / slot);
    names.forEach((name, k) => {
      if (k % every) return;
      node("text", { x: box.left + (k + 0.5) * slot, y: box.bottom + 17, "text-anchor": "middle", style: "fill:var(--soft)" }, svg, name);
    });
    const one = Math.min(40, (slot * 0.8) / Math.max(1, bars.length));
    const start = (slot - one * bars.length) / 2;
    bars.forEach((layer, b) => {
      layer.y.forEach((y, k) => {
        if (!known(y)) return;
        const x = box.left + k * slot + start + b * one;
        const base = sy(Math.max(yd[0], 0));
        node("rect", { x: x + 0.5, y: Math.min(base, sy(y)), width: Math.max(1, one - 1), height: Math.abs(base - sy(y)), style: `fill:${colour(layer.color)}` }, svg);
        if (layer.low && known(layer.low[k])) {
          node("line", { x1: x + one / 2, x2: x + one / 2, y1: sy(layer.low[k]), y2: sy(layer.high[k]), style: "stroke:var(--ink);stroke-width:1.5" }, svg);
        }
      });
    });
    for (const layer of layers) if (layer.type === "rule") rule(svg, layer, box, null, sy);
    const targets = {
      count: names.length,
      at: (k) => ({
        title: `${spec.x.label} ${names[k]}`,
        rows: bars.map((l) => [l.series, format(l.y[k]) + (l.low ? interval(l.low[k], l.high[k]) : "") + (l.notes ? `, ${l.notes[k]}` : "")]),
        marks: [],
        guide: { x: box.left + (k + 0.5) * slot, top: box.top, bottom: box.bottom },
      }),
      nearest: (px) => Math.max(0, Math.min(names.length - 1, Math.floor((px - box.left) / slot))),
    };
    return { svg, targets };
  }

  function drawForest(spec, width, shown) {
    const rows = spec.rows.filter((row) => row.series.every(shown));
    const line = 30;
    const labels = Math.min(width * 0.4, Math.max(60, ...rows.map((row) => textWidth(row.label))) + 14);
    const height = rows.length * line + 62;
    const svg = frame(spec, width, height);
    const finite = rows.filter((row) => known(row.value));
    const marks = spec.zero !== undefined && spec.zero !== null ? [spec.zero] : [];
    const xd = extent([finite.map((r) => r.value), finite.map((r) => r.low), finite.map((r) => r.high), marks], spec.x.domain, 0.08);
    const box = { left: labels, top: 16, right: width - 14, bottom: height - 44 };
    const sx = (v) => box.left + ((v - xd[0]) / (xd[1] - xd[0])) * (box.right - box.left);
    const found = ticks(...xd, (box.right - box.left) / 75);
    for (const v of found.values) {
      node("line", { x1: sx(v), x2: sx(v), y1: box.top, y2: box.bottom, style: "stroke:var(--faint)" }, svg);
      node("text", { x: sx(v), y: box.bottom + 17, "text-anchor": "middle", style: "fill:var(--soft)" }, svg, tickText(v, found.step));
    }
    if (marks.length) rule(svg, { axis: "x", value: spec.zero, label: spec.zeroLabel || "" }, { ...box, top: 2 }, sx);
    node("text", { x: (box.left + box.right) / 2, y: box.bottom + 36, "text-anchor": "middle", style: "fill:var(--ink);font-weight:500" }, svg, shorten(spec.x.label, width - 20));
    const dots = rows.map((row, k) => {
      const y = box.top + (k + 0.5) * line + 2;
      const half = (labels - 14 - textWidth(" \u2212 ")) / 2;
      const name = row.pair && textWidth(row.label) > labels - 14 ? row.pair.map((part) => shorten(part, half)).join(" \u2212 ") : shorten(row.label, labels - 14);
      node("text", { x: box.left - 10, y: y + 4, "text-anchor": "end", style: "fill:var(--ink)" }, svg, name);
      if (!known(row.value)) {
        node("text", { x: box.left + 6, y: y + 4, style: "fill:var(--soft)" }, svg, typeof row.value === "string" ? row.value : "no value");
        return { row, px: box.left, py: y };
      }
      if (known(row.low) && known(row.high)) {
        node("line", { x1: sx(row.low), x2: sx(row.high), y1: y, y2: y, style: `stroke:${colour(row.color)};stroke-width:2.5` }, svg);
      }
      shape(row.color, sx(row.value), y, 5, svg, !row.open);
      return { row, px: sx(row.value), py: y };
    });
    const targets = {
      count: dots.length,
      at(k) {
        const { row, px, py } = dots[k];
        const list = [[spec.x.label, format(row.value) + interval(row.low, row.high)]];
        for (const [name, text] of row.notes || []) list.push([name, text]);
        return { title: row.label, rows: list, marks: [[px, py]] };
      },
      nearest(px, py) { return dots.length ? Math.max(0, Math.min(dots.length - 1, Math.floor((py - box.top) / line))) : -1; },
    };
    return { svg, targets };
  }

  const draw = { xy: drawXY, bars: drawBars, forest: drawForest };

  // The numbers behind a chart, as a table.
  function table(spec) {
    if (spec.kind === "forest") {
      return [["", spec.x.label, "low", "high"], ...spec.rows.map((r) => [r.label, r.value, r.low, r.high])];
    }
    const far = spec.layers.find((layer) => layer.x1Label);
    const head = ["series", spec.x.label, spec.y.label, "low", "high", far ? far.x1Label : "x1", "label"];
    const rows = [];
    for (const layer of spec.layers) {
      if (layer.type === "rule") continue;
      layer.y.forEach((y, i) => rows.push([
        layer.series, spec.kind === "bars" ? spec.x.categories[i] : layer.x[i], y,
        layer.low ? layer.low[i] : null, layer.high ? layer.high[i] : null,
        layer.x1 ? layer.x1[i] : null, layer.labels ? layer.labels[i] : null,
      ]));
    }
    const used = head.map((_, k) => rows.some((row) => row[k] !== null && row[k] !== undefined));
    return [head, ...rows].map((row) => row.filter((_, k) => used[k]));
  }

  return { draw: (spec, width, shown) => draw[spec.kind](spec, width, shown), table, format, swatch, node, colour };
})();
