// Draws the data of a page: one function a kind of block, charts by Chart.js. Names come from traces,
// so texts enter the document as text only, never as markup.
"use strict";
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const charts = [];   // functions that draw a chart, again where the colour scheme changes
  const colors = 8;    // --c0 to --c7 of the style
  const tip = document.getElementById("tip");

  // ---- small things ----
  function element(parent, tag, className, text) {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    if (parent) parent.append(e);
    return e;
  }
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const color = (i) => style("--c" + (i % colors));
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "\u2026" : text);
  const finite = (values) => values.filter((v) => Number.isFinite(v));

  const middle = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

  // Units: a factor and a name under which the largest value reads well.
  const ladders = {
    us: [[1e6, "s"], [1e3, "ms"], [1, "\u00b5s"]],
    B: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    J: [[1e3, "kJ"], [1, "J"], [1e-3, "mJ"], [1e-6, "\u00b5J"]],
    ratio: [[0.01, "%"]],
    count: [[1, ""]],
  };
  function scaleOf(unit, values) {
    const most = Math.max(0, ...finite(values).map(Math.abs));
    const ladder = ladders[unit] || [[1, unit]];
    const [divide, name] = ladder.find(([size]) => most >= size) || ladder[ladder.length - 1];
    return { divide, name };
  }
  /** Four digits, thousands apart. */
  function digits(value) {
    if (!Number.isFinite(value)) return "";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e7 || size < 1e-3)) return value.toExponential(2);
    const after = Number.isInteger(value) || size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
    return value.toLocaleString("en", { minimumFractionDigits: 0, maximumFractionDigits: after });
  }
  /** Numbers of a column below each other: as many places as four digits of the largest need. */
  function placed(value, unit) {
    if (unit.mixed) return digits(value);
    const places = unit.whole ? 0 : unit.name === "%" || unit.most >= 100 ? 1 : unit.most >= 10 ? 2 : 3;
    return value.toLocaleString("en", { minimumFractionDigits: places, maximumFractionDigits: places });
  }
  function quantity(value, unit) {
    const { divide, name } = scaleOf(unit, [value]);
    return digits(value / divide) + (name ? "\u202f" + name : "");
  }
  const titled = (axis, unit) => (unit ? `${axis} (${unit})` : axis);

  function showTip(x, y, text) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16) + "px";
  }

  // ---- figures, bands, notes ----
  function drawFigures(parent, block) {
    const grid = element(parent, "div", "figures");
    for (const [name, value, note] of block.figures) {
      const card = element(grid, "div", "figure");
      element(card, "div", "name", name);
      element(card, "div", "value", value);
      if (note) element(card, "div", "remark", note);
    }
  }

  function drawBand(parent, block) {
    const box = element(parent, "div", "band");
    element(box, "div", "small", block.name);
    const most = block.high * 1.08;
    const bar = element(box, "div", "scale");
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label",
      `${block.name}: ${quantity(block.value, block.unit)}, ${quantity(block.low, block.unit)} to ${quantity(block.high, block.unit)}`);
    const range = element(bar, "div", "range");
    range.style.left = (100 * block.low) / most + "%";
    range.style.width = (100 * (block.high - block.low)) / most + "%";
    element(bar, "div", "mark").style.left = (100 * block.value) / most + "%";
    const ends = element(box, "div", "ends");
    element(ends, "span", "", "0");
    element(ends, "span", "", `${quantity(block.low, block.unit)} \u2013 ${quantity(block.high, block.unit)} in 9 of 10 cases`);
  }

  function drawNotes(parent, block) {
    for (const [kind, title, text] of block.notes) {
      const note = element(parent, "div", "note " + kind);
      element(note, "b", "", title);
      note.append(text);
    }
  }

  // ---- charts of the library ----
  /** Draws `config()` on a canvas of `height` pixels, again for another colour scheme. */
  function drawChart(parent, block, height, config) {
    const box = element(parent, "div", "chart");
    if (block.title) element(box, "h3", "", block.title);
    const frame = element(box, "div", "canvas");
    frame.style.height = height + "px";
    const canvas = element(frame, "canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", block.title || "chart");
    let chart;
    charts.push(() => {
      if (chart) chart.destroy();
      Chart.defaults.color = style("--soft");
      Chart.defaults.borderColor = style("--line");
      Chart.defaults.font.family = getComputedStyle(document.body).fontFamily;
      chart = new Chart(canvas, config());
    });
    return box;
  }

  /** An I at each value whose dataset states `low` and `high`, along the axis of values. */
  const errorBars = {
    id: "errorBars",
    afterDatasetsDraw(chart) {
      const ctx = chart.ctx;
      const lying = chart.options.indexAxis === "y";
      const scale = lying ? chart.scales.x : chart.scales.y;
      ctx.save();
      ctx.lineWidth = 1.5;
      chart.data.datasets.forEach((set, d) => {
        if (!set.bounds || !chart.isDatasetVisible(d)) return;
        ctx.strokeStyle = set.boundColor;
        chart.getDatasetMeta(d).data.forEach((at, i) => {
          const [low, high] = set.bounds[i].map((v) => v === null ? null : scale.getPixelForValue(v));
          if (low === null || high === null || !Number.isFinite(low + high)) return;
          const across = lying ? at.y : at.x;
          const path = [[low, -4, low, 4], [high, -4, high, 4], [low, 0, high, 0]];
          ctx.beginPath();
          for (const [v1, a1, v2, a2] of path) {
            if (lying) { ctx.moveTo(v1, across + a1); ctx.lineTo(v2, across + a2); }
            else { ctx.moveTo(across + a1, v1); ctx.lineTo(across + a2, v2); }
          }
          ctx.stroke();
        });
      });
      ctx.restore();
    },
  };

  function common(block, legend) {
    return {
      animation: false, responsive: true, maintainAspectRatio: false,
      plugins: {
        legend: { display: legend, position: "bottom", labels: { boxWidth: 8, boxHeight: 8, usePointStyle: true } },
        tooltip: { displayColors: false, callbacks: {} },
      },
    };
  }

  function barDatasets(block, unit) {
    const scaled = (values) => values.map((v) => (v === null ? null : v / unit.divide));
    return block.series.map((s, i) => ({
      label: s.name || block.axis, data: scaled(s.values), backgroundColor: color(i), maxBarThickness: 26,
      boundColor: style("--text"),
      bounds: s.low.length ? scaled(s.low).map((low, b) => [low, scaled(s.high)[b]]) : null,
    }));
  }

  function drawBars(parent, block) {
    const all = block.series.flatMap((s) => [...s.values, ...s.high]);
    const unit = scaleOf(block.unit, all);
    const rows = block.bars.length * (block.stacked ? 1 : block.series.length);
    const legend = block.series.some((s) => s.name);
    const box = drawChart(parent, block, block.lying ? 60 + 27 * rows + (legend ? 30 : 0) : 290, () => {
      const options = common(block, legend);
      const room = Math.max(14, Math.floor(box.clientWidth / 22));
      options.indexAxis = block.lying ? "y" : "x";
      const end = block.most ? block.most / unit.divide : undefined;
      const values = { beginAtZero: true, max: end, stacked: block.stacked, title: { display: true, text: titled(block.axis, unit.name) } };
      const names = {
        stacked: block.stacked, grid: { display: false }, title: { display: Boolean(block.bar_axis), text: block.bar_axis },
        ticks: { autoSkip: !block.lying, maxRotation: 0, callback: (v) => cut(block.bars[v], room) },
      };
      options.scales = block.lying ? { x: values, y: names } : { x: names, y: values };
      options.plugins.tooltip.callbacks.label = (item) => {
        const set = item.dataset;
        const bounds = set.bounds ? ` (${digits(set.bounds[item.dataIndex][0])} to ${digits(set.bounds[item.dataIndex][1])})` : "";
        return `${set.label}: ${digits(item.raw)} ${unit.name}${bounds}`;
      };
      return { type: "bar", data: { labels: block.bars, datasets: barDatasets(block, unit) }, options, plugins: [errorBars] };
    });
    if (block.lying && rows > 14) box.classList.add("wide");
  }

  /** An axis of an xy chart. On a logarithmic one ticks are `own`, where they are few, else 1, 2, 5 and their tens. */
  function xyAxis(name, unit, log, values, own, fromZero) {
    const axis = { type: log ? "logarithmic" : "linear", title: { display: true, text: titled(name, unit.name) }, beginAtZero: fromZero };
    axis.ticks = { callback: (v) => digits(v) };
    if (!log) return axis;
    axis.min = 0.8 * Math.min(...values);
    axis.max = 1.25 * Math.max(...values);
    axis.afterBuildTicks = (scale) => {
      const decades = Math.log10(scale.max / scale.min);
      const round = (v) => {
        const lead = v / 10 ** Math.floor(Math.log10(v) + 1e-9);
        return Math.abs(lead - 1) < 1e-6 || (decades < 3 && [2, 5].some((l) => Math.abs(lead - l) < 1e-6));
      };
      const apart = own.every((v, i) => i === 0 || v > 1.3 * own[i - 1]);
      scale.ticks = own.length > 0 && own.length <= 10 && apart ? own.map((value) => ({ value })) : scale.ticks.filter((t) => round(t.value));
    };
    return axis;
  }

  /** What an axis takes its unit from: on a logarithmic one the value in the middle. */
  const typical = (values, log) => (log ? [middle(values)] : values);

  function xyDataset(series, i, x, y) {
    const scaled = (v, unit) => (v === null ? null : v / unit.divide);
    const data = series.points.map((p) => ({ x: p[0] / x.divide, y: p[1] / y.divide, crossed: p[4] === 1, label: p[5] }));
    const hue = series.guide ? style("--soft") : color(i);
    return {
      label: series.name, data, showLine: series.line, borderColor: hue, backgroundColor: hue, boundColor: hue,
      borderWidth: series.guide ? 1.2 : 2, borderDash: series.guide ? [5, 4] : [],
      pointRadius: series.guide ? 0 : data.map((p) => (p.crossed ? 7 : 4)),
      pointStyle: data.map((p) => (p.crossed ? "crossRot" : "circle")), pointHitRadius: 8,
      pointBorderWidth: data.map((p) => (p.crossed ? 2.5 : 1)),
      bounds: series.points.map((p) => [scaled(p[2], y), scaled(p[3], y)]),
    };
  }

  function drawXy(parent, block) {
    const points = block.series.flatMap((s) => s.points);
    const own = [...new Set(block.series.filter((s) => !s.guide).flatMap((s) => s.points.map((p) => p[0])))].sort((a, b) => a - b);
    const x = scaleOf(block.x_unit, typical(points.map((p) => p[0]), block.log_x));
    const y = scaleOf(block.y_unit, typical(points.map((p) => p[1]), block.log_y));
    const ends = finite(points.flatMap((p) => [p[1], p[2], p[3]]).filter((v) => v !== null)).map((v) => v / y.divide);
    const height = 330 + 14 * Math.max(0, block.series.length - 4);
    drawChart(parent, block, height, () => {
      const options = common(block, block.series.some((s) => s.name));
      options.scales = {
        x: xyAxis(block.x_axis, x, block.log_x, points.map((p) => p[0] / x.divide), own.map((v) => v / x.divide), false),
        y: xyAxis(block.y_axis, y, block.log_y, ends, [], block.y_from_zero),
      };
      options.scales.y.suggestedMax = Math.max(...ends);
      options.scales.y.suggestedMin = Math.min(...ends);
      options.plugins.tooltip.callbacks.title = (items) => items.map((i) => i.raw.label || i.dataset.label);
      options.plugins.tooltip.callbacks.label = (item) =>
        `${block.x_axis} ${digits(item.raw.x)} ${x.name}, ${block.y_axis} ${digits(item.raw.y)} ${y.name}` +
        (item.raw.crossed && block.crossed ? `: ${block.crossed}` : "");
      return { type: "scatter", data: { datasets: block.series.map((s, i) => xyDataset(s, i, x, y)) }, options, plugins: [errorBars] };
    });
    if (block.left_out) element(parent.lastChild, "p", "small", `${block.left_out} more points are left out.`);
    if (points.some((p) => p[4] === 1) && block.crossed) element(parent.lastChild, "p", "small", `\u2715 ${block.crossed}`);
  }

  // ---- timeline ----
  const slice_size = 5;  // begin, length (ns), name, detail, kind
  const head = 24, label = 16, bar = 20, gap = 6;

  function timeTicks(from, to, width) {
    const least = ((to - from) * 90) / width;
    const base = 10 ** Math.floor(Math.log10(least));
    const step = [1, 2, 5, 10].map((f) => f * base).find((s) => s >= least);
    const ticks = [];
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) ticks.push(t);
    return ticks;
  }

  function inkOn(background) {  // black or white, whichever reads better
    const [r, g, b] = [1, 3, 5].map((i) => parseInt(background.slice(i, i + 2), 16));
    return 0.299 * r + 0.587 * g + 0.114 * b > 135 ? "#10151a" : "#ffffff";
  }

  function paintTrack(ctx, block, track, top, view, width, hues, inks) {
    const s = track.slices;
    const perNs = width / (view.to - view.from);
    const painted = new Float64Array(block.kinds.length).fill(-1);  // last pixel, by kind
    for (let i = 0; i < s.length; i += slice_size) {
      const left = (s[i] - view.from) * perNs;
      const right = left + s[i + 1] * perNs;
      if (right < 0) continue;
      if (left > width) break;
      const kind = s[i + 4];
      if (right < painted[kind]) continue;  // within a pixel that has this colour already
      const x = Math.max(0, left);
      const w = Math.max(right - x - (right - left > 3 ? 0.6 : 0), 0.7);
      ctx.fillStyle = hues[kind];
      ctx.fillRect(x, top, w, bar);
      painted[kind] = Math.floor(x + w) + 0.5;
      if (w < 36) continue;
      ctx.fillStyle = inks[kind];
      ctx.fillText(cut(block.texts[s[i + 2]], Math.floor(w / 6.2)), x + 4, top + 14, w - 6);
    }
  }

  function paintTracks(canvas, block, view, hues, inks) {
    const width = canvas.clientWidth, height = canvas.clientHeight, dense = devicePixelRatio || 1;
    canvas.width = width * dense;
    canvas.height = height * dense;
    const ctx = canvas.getContext("2d");
    ctx.scale(dense, dense);
    ctx.font = "11px " + getComputedStyle(document.body).fontFamily;
    for (const t of timeTicks(view.from, view.to, width)) {
      const x = ((t - view.from) / (view.to - view.from)) * width;
      ctx.fillStyle = style("--line");
      ctx.fillRect(x, head - 6, 1, height);
      ctx.fillStyle = style("--soft");
      ctx.fillText(t === 0 ? "0" : quantity(t / 1000, "us"), x + 4, 13);
    }
    block.tracks.forEach((track, i) => {
      const top = head + i * (label + bar + gap);
      ctx.fillStyle = style("--text");
      ctx.fillText(cut(track.name, Math.floor(width / 6)), 6, top + 11);
      paintTrack(ctx, block, track, top + label, view, width, hues, inks);
    });
  }

  function sliceAt(block, view, width, x, y) {
    const row = Math.floor((y - head) / (label + bar + gap));
    const track = block.tracks[row];
    if (!track || y - head - row * (label + bar + gap) < label) return null;
    const s = track.slices;
    const time = view.from + (x / width) * (view.to - view.from);
    const near = ((view.to - view.from) / width) * 2;  // two pixels, for what is thin
    let low = 0, high = s.length / slice_size;  // the first slice that begins after `time`
    while (low < high) {
      const middle = (low + high) >> 1;
      if (s[middle * slice_size] <= time + near) low = middle + 1;
      else high = middle;
    }
    const i = (low - 1) * slice_size;
    return low > 0 && time <= s[i] + s[i + 1] + near ? s.slice(i, i + slice_size) : null;
  }

  function sliceText(block, s) {
    const detail = block.texts[s[3]];
    return `${block.texts[s[2]]}\n${block.kinds[s[4]]}, ${quantity(s[1] / 1000, "us")}, begins at ${quantity(s[0] / 1000, "us")}` +
      (detail ? "\n" + detail : "");
  }

  /** A view that the reader moves: drag, pinch, Ctrl and wheel, keys, buttons. */
  function moveView(canvas, view, end, repaint) {
    function zoom(factor, x) {
      const center = view.from + (x / canvas.clientWidth) * (view.to - view.from);
      const span = Math.min(end, Math.max(200, (view.to - view.from) * factor));
      shift(center - (x / canvas.clientWidth) * span, span);
    }
    function shift(from, span) {
      view.from = Math.max(0, Math.min(from, end - span));
      view.to = view.from + span;
      repaint();
    }
    const fingers = new Map();
    canvas.addEventListener("pointerdown", (e) => { fingers.set(e.pointerId, e.offsetX); canvas.setPointerCapture(e.pointerId); });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, (e) => fingers.delete(e.pointerId));
    canvas.addEventListener("pointermove", (e) => {
      if (!fingers.has(e.pointerId)) return;
      const others = [...fingers].filter(([id]) => id !== e.pointerId).map(([, x]) => x);
      const was = fingers.get(e.pointerId);
      fingers.set(e.pointerId, e.offsetX);
      const span = view.to - view.from;
      if (others.length === 0) shift(view.from - ((e.offsetX - was) / canvas.clientWidth) * span, span);
      else zoom(Math.max(20, Math.abs(was - others[0])) / Math.max(20, Math.abs(e.offsetX - others[0])), others[0]);
    });
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey) return;
      e.preventDefault();
      zoom(e.deltaY > 0 ? 1.25 : 0.8, e.offsetX);
    }, { passive: false });
    canvas.addEventListener("dblclick", (e) => zoom(0.4, e.offsetX));
    canvas.addEventListener("keydown", (e) => {
      const span = view.to - view.from, middle = canvas.clientWidth / 2;
      const actions = {
        "+": () => zoom(0.6, middle), "-": () => zoom(1.7, middle), "0": () => shift(0, end),
        ArrowLeft: () => shift(view.from - span / 5, span), ArrowRight: () => shift(view.from + span / 5, span),
      };
      if (!actions[e.key]) return;
      e.preventDefault();
      actions[e.key]();
    });
    return { zoom: (factor) => zoom(factor, canvas.clientWidth / 2), reset: () => shift(0, end) };
  }

  function drawTracks(parent, block) {
    if (block.title) element(parent, "h3", "", block.title);
    const tools = element(parent, "div", "tools");
    const legend = element(parent, "div", "legend");
    const frame = element(parent, "div", "tracks");
    const canvas = element(frame, "canvas");
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", block.title || "timeline");
    canvas.style.height = head + block.tracks.length * (label + bar + gap) + "px";
    let end = 1;
    for (const { slices } of block.tracks) {
      for (let i = 0; i < slices.length; i += slice_size) end = Math.max(end, slices[i] + slices[i + 1]);
    }
    const view = { from: 0, to: end };
    let hues = [], inks = [];
    const repaint = () => paintTracks(canvas, block, view, hues, inks);
    const move = moveView(canvas, view, end, repaint);
    for (const [text, act] of [["+ zoom in", () => move.zoom(0.5)], ["\u2212 zoom out", () => move.zoom(2)], ["whole step", move.reset]]) {
      element(tools, "button", "", text).addEventListener("click", act);
    }
    element(tools, "span", "", "drag moves; pinch or Ctrl + wheel zooms");
    canvas.addEventListener("pointermove", (e) => {
      const found = sliceAt(block, view, canvas.clientWidth, e.offsetX, e.offsetY);
      showTip(e.clientX, e.clientY, found && sliceText(block, found));
    });
    canvas.addEventListener("pointerleave", () => showTip(0, 0, ""));
    charts.push(() => {
      hues = block.kinds.map((name, i) => color(i));
      inks = hues.map(inkOn);
      legend.replaceChildren();
      block.kinds.forEach((name, i) => {
        const entry = element(legend, "span");
        element(entry, "i").style.background = hues[i];
        entry.append(name);
      });
      repaint();
    });
    new ResizeObserver(repaint).observe(frame);
    if (block.left_out) {
      element(parent, "p", "small", `${block.left_out} slices shorter than ${quantity(block.shortest_ns / 1000, "us")} are left out here.`);
    }
  }

  // ---- tables ----
  const first_rows = 15;

  const long_text = 70;

  /** Names of kernels differ at their ends: their middle is left out until the reader clicks. */
  function foldText(cell, text) {
    const folded = `${text.slice(0, 40)}\u2026${text.slice(-28)}`;
    cell.title = text;
    cell.textContent = folded;
    cell.classList.add("folded");
    cell.addEventListener("click", () => { cell.textContent = cell.textContent === folded ? text : folded; });
  }

  /** Sentences of a row, across the table and as wide as what is seen of it. */
  function fillBeneath(body, block, row) {
    const columns = block.columns.map(([name, , , beneath], c) => ({ name, beneath, text: row[c] }));
    const told = columns.filter((c) => c.beneath && c.text);
    if (told.length === 0) return;
    const cell = element(element(body, "tr", "beneath"), "td", "text");
    cell.colSpan = columns.filter((c) => !c.beneath).length;
    const box = element(cell, "div");
    for (const { name, text } of told) {
      const line = element(box, "p");
      element(line, "b", "", name);
      line.append(String(text));
    }
  }

  function fillRows(body, block, units, rows) {
    body.replaceChildren();
    for (const row of rows) {
      const line = element(body, "tr");
      block.columns.forEach(([name, unit, , beneath], c) => {
        if (beneath) return;
        const value = row[c];
        if (!unit) {
          const cell = element(line, "td", "text" + (units[c].short ? " short" : ""), value === null ? "" : String(value));
          if (cell.textContent.length > long_text) foldText(cell, cell.textContent);
          return;
        }
        const cell = element(line, "td", "", value === null ? "" : placed(value / units[c].divide, units[c]));
        if (name === "share" && value !== null) {
          cell.className = "share";
          cell.style.setProperty("--part", (100 * Math.abs(value)) / (units[c].most * units[c].divide || 1) + "%");
        }
      });
      fillBeneath(body, block, row);
    }
  }

  function sorted(rows, c, down) {
    const unknown = (v) => v === null || v === undefined;
    const order = (a, b) => (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b);
    return [...rows].sort(({ [c]: a }, { [c]: b }) =>
      unknown(a) || unknown(b) ? unknown(a) - unknown(b) : down ? order(b, a) : order(a, b));
  }

  /** Columns of one unit share the scale that suits the value in their middle, so that they compare. */
  function columnUnits(block) {
    return block.columns.map(([, unit], c) => {
      const own = block.rows.map((r) => r[c]);
      if (!unit) return { short: own.every((v) => String(v || "").length < 22) };
      const all = block.columns.flatMap(([, other], o) => (other === unit ? block.rows.map((r) => r[o]) : []));
      const { divide, name } = scaleOf(unit, [middle(finite(all).map(Math.abs).filter((v) => v > 0))]);
      const most = Math.max(0, ...finite(own).map(Math.abs)) / divide;
      return { divide, name, most, mixed: !ladders[unit], whole: finite(own).every((v) => Number.isInteger(v / divide)) };
    });
  }

  function drawTable(parent, block) {
    if (block.title) element(parent, "h3", "", block.title);
    const units = columnUnits(block);
    const tools = element(parent, "div", "tools");
    const table = element(element(parent, "div", "scroll"), "table");
    const header = element(element(table, "thead"), "tr");
    const body = element(table, "tbody");
    const state = { rows: block.rows, column: -1, down: true, filter: "", all: block.rows.length <= first_rows + 5 };
    const more = element(tools, "button", "", `all ${block.rows.length} rows`);
    function show() {
      const wanted = state.filter.toLowerCase();
      const found = state.rows.filter((r) => !wanted || r.some((v) => typeof v === "string" && v.toLowerCase().includes(wanted)));
      fillRows(body, block, units, state.all || wanted ? found : found.slice(0, first_rows));
    }
    block.columns.forEach(([name, unit, about, beneath], c) => {
      if (beneath) return;
      const cell = element(header, "th", unit ? "" : "text");
      cell.scope = "col";
      const button = element(cell, "button", "", name);
      button.type = "button";
      if (about) cell.title = about;
      if (units[c].name) element(cell, "span", "unit", units[c].name);
      button.addEventListener("click", () => {
        state.down = state.column === c ? !state.down : Boolean(unit);
        state.column = c;
        state.rows = sorted(block.rows, c, state.down);
        for (const other of header.children) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", state.down ? "descending" : "ascending");
        show();
      });
    });
    more.addEventListener("click", () => { state.all = true; more.hidden = true; show(); });
    more.hidden = state.all;
    if (block.rows.length > first_rows + 5) {
      const filter = element(tools, "input");
      filter.type = "search";
      filter.placeholder = "filter";
      filter.setAttribute("aria-label", "filter rows");
      filter.addEventListener("input", () => { state.filter = filter.value; show(); });
    }
    tools.hidden = state.all;
    if (block.all_rows > block.rows.length) element(parent, "p", "small", `The first ${block.rows.length} of ${block.all_rows} rows.`);
    show();
  }

  // ---- the page ----
  const draw = { figures: drawFigures, band: drawBand, notes: drawNotes, bars: drawBars, xy: drawXy, tracks: drawTracks, table: drawTable };

  function drawSection(section, number) {
    const box = element(document.getElementById("sections"), "section");
    box.id = "section-" + number;
    element(box, "h2", "", section.title);
    if (section.text) element(box, "p", "about", section.text);
    element(document.getElementById("contents"), "a", "", section.title).href = "#" + box.id;
    let grid = null;  // charts that follow each other stand side by side where there is room
    for (const block of section.blocks) {
      const chart = block.kind === "bars" || block.kind === "xy";
      if (chart && !grid) grid = element(box, "div", "charts");
      if (!chart) grid = null;
      draw[block.kind](chart ? grid : box, block);
    }
  }

  document.getElementById("title").textContent = page.title;
  document.getElementById("subtitle").textContent = page.subtitle;
  document.getElementById("made-by").textContent = `tandem ${page.tandem_version}`;
  page.sections.forEach(drawSection);
  /** One chart at a time, so that the reader sees the first at once. */
  function drawFrom(i) {
    if (i < charts.length) {
      charts[i]();
      setTimeout(drawFrom, 0, i + 1);
    } else {
      document.documentElement.dataset.drawn = charts.length;
    }
  }
  drawFrom(0);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawFrom(0));
})();
