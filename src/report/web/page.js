// Puts the page together from the data: cards, tables, figures with their controls. Text from files only ever
// becomes text.
(function () {
  'use strict';
  const data = JSON.parse(document.getElementById('data').textContent);
  const root = document.documentElement;
  const main = document.querySelector('main');
  const charts = [];
  const PRINTED_WIDTH = 860;

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === 'text') element.textContent = value;
      else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  // ---- light and dark

  const prefersDark = window.matchMedia('(prefers-color-scheme: dark)');
  let chosen = null;  // by the reader; else the system's
  let printing = false;
  function themeName() { return printing ? 'light' : chosen || (prefersDark.matches ? 'dark' : 'light'); }
  function applyTheme() {
    root.dataset.theme = themeName();
    document.getElementById('theme').textContent = themeName() === 'dark' ? 'Light' : 'Dark';
    charts.forEach((chart) => chart.draw());
  }
  document.getElementById('theme').addEventListener('click', () => {
    chosen = themeName() === 'dark' ? 'light' : 'dark';
    applyTheme();
  });
  prefersDark.addEventListener('change', applyTheme);
  window.addEventListener('beforeprint', () => { printing = true; applyTheme(); });
  window.addEventListener('afterprint', () => { printing = false; applyTheme(); });

  // ---- sections

  const sections = new Map();
  function section(id, title) {
    if (!sections.has(id)) {
      const element = make('section', {id: id}, make('h2', {text: title}));
      main.append(element);
      document.querySelector('nav').append(make('a', {href: '#' + id, text: title}));
      sections.set(id, element);
    }
    return sections.get(id);
  }
  // Ours first, as in the figures.
  data.evaluations.forEach((e) => {
    const order = ampere.inOrder(e.methods.map((m) => m.name));
    const places = order.map((name) => e.methods.findIndex((m) => m.name === name));
    e.methods = places.map((i) => e.methods[i]);
    e.networks.forEach((n) => { n.estimates = places.map((i) => n.estimates[i]); });
  });
  const TITLES = {estimate: 'Estimate', surfaces: 'Layers', accuracy: 'Accuracy', additivity: 'Additivity',
    pruning: 'Training curves', tuning: 'Settings', profiling: 'Profiling'};

  // ---- tables

  // columns: {title, value: row -> what to sort by, text: row -> what to show, number, wide}
  function table(columns, rows, id) {
    const body = make('tbody');
    const heads = columns.map((column, index) => {
      const head = make('th', {scope: 'col', class: column.number ? 'number' : null},
        make('button', {type: 'button', text: column.title, onclick: () => sort(index)}));
      return head;
    });
    let order = rows.slice();
    function fill() {
      body.replaceChildren(...order.map((row) => make('tr', {}, ...columns.map((column) => make('td', {
        class: column.number ? 'number' : column.wide ? 'wide' : null, text: column.text ? column.text(row) : column.value(row) ?? ''})))));
    }
    function sort(index) {
      const falling = heads[index].getAttribute('aria-sort') === (columns[index].number ? 'descending' : 'ascending')
        ? !columns[index].number : Boolean(columns[index].number);
      heads.forEach((head, i) => {
        if (i === index) head.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
        else head.removeAttribute('aria-sort');
      });
      const of = columns[index].value;
      order = rows.slice().sort((p, q) => {
        const u = of(p), v = of(q);
        if (u === null || u === undefined) return 1;
        if (v === null || v === undefined) return -1;
        const less = typeof u === 'number' ? u - v : String(u).localeCompare(String(v), 'en', {numeric: true});
        return falling ? -less : less;
      });
      fill();
    }
    fill();
    return make('div', {class: 'scroll'}, make('table', {id: id}, make('thead', {}, make('tr', {}, ...heads)), body));
  }

  function csvLink(name, rows) {
    // Made when it is asked for, so that opening the report stays fast.
    const link = make('a', {class: 'download', href: '#', download: name, text: 'CSV', title: 'The numbers of this figure as CSV'});
    const fill = () => { link.href = 'data:text/csv;charset=utf-8,' + encodeURIComponent(ampere.csv(rows())); };
    for (const event of ['pointerdown', 'focus', 'click', 'pointerenter']) link.addEventListener(event, fill);
    return link;
  }

  // ---- figures

  function figureCard(figure) {
    const choice = ampere.usual(figure);
    const holder = make('div', {class: 'chart', id: 'chart-' + figure.id, role: 'img', 'aria-label': figure.title});
    const controls = make('div', {class: 'controls'});
    const words = make('ul', {class: 'words'});
    const link = csvLink('', () => figure.rows(choice));
    let chart = null;
    let drawn = '';
    const sliders = [];
    function draw() {
      // Paper gets the same width whatever the screen had, made to fit by the style sheet.
      const width = printing ? PRINTED_WIDTH : Math.max(240, holder.clientWidth);
      const height = figure.height(choice, width);
      const state = [themeName(), width, JSON.stringify(choice)].join();
      if (state === drawn) return;
      drawn = state;
      holder.style.height = height + 'px';
      if (!chart) chart = echarts.init(holder, null, {renderer: 'svg', width: width, height: height});
      else chart.resize({width: width, height: height});
      chart.setOption(figure.option(choice, ampere.THEMES[themeName()], width), {notMerge: true});
      const svg = holder.querySelector('svg');
      if (printing) svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
      else svg.removeAttribute('viewBox');
      link.download = figure.file(choice) + '.csv';
      words.replaceChildren(...(figure.words ? figure.words(choice) : []).map((sentence) => make('li', {text: sentence})));
      sliders.forEach((update) => update());
    }
    for (const c of figure.choices) {
      const label = make('label', {text: c.label});
      if (c.slider) {
        const output = make('output');
        const input = make('input', {type: 'range', min: 0, max: c.count - 1, value: choice[c.name], 'data-choice': c.name,
          oninput: () => { choice[c.name] = Number(input.value); draw(); }});
        label.append(input);
        controls.append(label, output);
        sliders.push(() => {
          input.max = c.limit(choice) - 1;
          choice[c.name] = Math.min(choice[c.name], c.limit(choice) - 1);
          input.value = choice[c.name];
          output.textContent = c.text(choice);
        });
      } else {
        const select = make('select', {'data-choice': c.name,
          onchange: () => { choice[c.name] = select.selectedIndex; label.dataset.shown = c.options[choice[c.name]]; draw(); }},
        ...c.options.map((name) => make('option', {text: name})));
        select.selectedIndex = choice[c.name];
        label.dataset.shown = c.options[choice[c.name]];
        label.append(select);
        if (c.options.length > 1) controls.append(label);
      }
    }
    controls.append(link);
    const card = make('figure', {class: 'card', id: 'figure-' + figure.id, style: 'margin-left:0;margin-right:0'},
      make('h3', {text: figure.title}), make('p', {class: 'caption', text: figure.caption}), controls, holder, figure.words ? words : null);
    section(figure.section, TITLES[figure.section]).append(card);
    const entry = {id: figure.id, draw: draw, chart: () => chart, choice: choice};
    charts.push(entry);
    return entry;
  }

  // ---- cards

  function facts(pairs) {
    const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
    const long = (value) => String(value).length > 44;
    known.sort((p, q) => long(p[1]) - long(q[1]));  // those that need a line of their own come last
    return make('dl', {class: 'facts'}, ...known.map(([name, value]) => make('div', {class: long(value) ? 'long' : null},
      make('dt', {text: name}), make('dd', {text: value}))));
  }

  function deviceCard(device) {
    const si = ampere.si;
    const unwatched = device.read_s ? null
      : make('p', {class: 'caption', style: 'margin:.9rem 0 0', text: 'Nothing here says how often the meter ticks: add what ampere detect --json prints with --results.'});
    section('device', 'Device').append(make('div', {class: 'card', id: 'device-card'}, facts([
      ['Device', device.name], ['Type', device.type === 'cuda' ? 'GPU (CUDA)' : device.type === 'cpu' ? 'CPU' : device.type],
      ['Cores', device.cores], ['Driver', device.driver], ['Framework', device.framework], ['BLAS', device.blas], ['Allocator', device.allocator],
      ['Meter', device.meter + (device.scope ? ' (' + device.scope + ')' : '')],
      ['Energy is', device.modelled === undefined ? '' : device.modelled ? 'modelled, not measured' : 'measured'],
      ['Counter ticks every', device.tick_s ? si(device.tick_s, 's') : device.read_s ? 'no steps seen' : ''], ['Smallest step', device.resolution_j ? si(device.resolution_j, 'J') : ''],
      ['One read takes', device.read_s ? si(device.read_s, 's') : ''], ['Idle power', device.idle_power_w ? si(device.idle_power_w, 'W') : ''],
      ['Recipes', (device.recipes || []).join(', ')], ['Measurements', device.points], ['Last used', device.last_used], ['Id', device.id]
    ]), unwatched));
  }

  function estimateTables() {
    const holder = section('estimate', TITLES.estimate);
    const entry = charts.find((c) => c.id === 'layers');
    const box = make('div', {class: 'card', id: 'estimate-summary'});
    const tableBox = make('div', {class: 'card', id: 'layer-table'});
    holder.insertBefore(box, holder.querySelector('figure'));
    holder.append(tableBox);
    let shown = -1;
    function show() {
      if (shown === entry.choice.network) return;
      shown = entry.choice.network;
      const e = data.estimates[shown];
      const value = (v, unit, what) => make('div', {}, make('b', {text: ampere.si(v[0], unit)}),
        make('span', {text: what + ' per iteration (95%: ' + ampere.si(v[1], unit) + ' to ' + ampere.si(v[2], unit) + ')'}));
      const notes = [];
      if (e.bill) {
        const b = e.bill, range = (v, text) => text(v[0]) + ' (95%: ' + text(v[1]) + ' to ' + text(v[2]) + ')';
        const money = (v) => Number(v.toPrecision(3)) + (b.currency ? ' ' + b.currency : '');
        notes.push('A million iterations: ' + [range(b.energy_kwh, (v) => Number(v.toPrecision(3)) + ' kWh'), b.cost && range(b.cost, money),
          b.carbon_g && range(b.carbon_g, (v) => ampere.si(v, 'g') + ' CO2e') + (b.carbon_source === 'given' ? '' : ', electricity of ' + b.carbon_source)].filter(Boolean).join('; ') + '.');
      }
      if (e.modelled) notes.push('Energy is modelled here (CPU time times watts), not measured.');
      if (e.regime === 'host-bound') notes.push('Host-bound: the device works ' + ampere.si(e.device_time_s, 's') + ' of each iteration and waits for the host for the rest.');
      if (e.regime === 'device-bound') notes.push('Device-bound: the device is busy all the time.');
      if (e.layers.some((l) => l.extrapolated)) notes.push('Some layers lie outside the profiled channels.');
      box.replaceChildren(make('h3', {text: e.model + ', batch ' + e.batch}), make('p', {class: 'caption', text: e.recipe + ', method ' + e.method + ', ' +
        e.layers.length + ' layers' + (e.composition_networks ? ', corrected by ' + e.composition_networks + ' whole networks' : '')}),
      make('div', {class: 'headline'}, value(e.energy_j, 'J', 'energy'), value(e.time_s, 's', 'time')),
      ...notes.map((text) => make('p', {class: 'note', text: text})));
      const total = e.energy_j[0];
      tableBox.replaceChildren(make('h3', {text: 'Layer by layer'}), table([
        {title: 'Layer', value: (l) => l.name, wide: true}, {title: 'Role', value: (l) => l.role}, {title: 'Kind', value: (l) => l.kind, wide: true},
        {title: 'In', value: (l) => l.in, number: true}, {title: 'Out', value: (l) => l.out, number: true},
        {title: 'Energy', value: (l) => l.energy_j[0], text: (l) => ampere.si(l.energy_j[0], 'J'), number: true},
        {title: '95% interval', value: (l) => l.energy_j[2] - l.energy_j[1], text: (l) => ampere.si(l.energy_j[1], 'J') + ' to ' + ampere.si(l.energy_j[2], 'J')},
        {title: 'Time', value: (l) => l.time_s[0], text: (l) => ampere.si(l.time_s[0], 's'), number: true},
        {title: 'Share', value: (l) => l.energy_j[0] / total, text: (l) => ampere.percent(l.energy_j[0] / total) + (l.extrapolated ? ' !' : ''), number: true}
      ], e.layers, 'layers-table'));
    }
    const draw = entry.draw;
    entry.draw = () => { draw(); show(); };
    holder.querySelectorAll('select').forEach((select) => select.addEventListener('change', show));
    show();
  }

  function surfaceTable() {
    const rows = data.surfaces.map((s) => {
      const q = s.quantities[s.steps ? s.steps.quantity : Object.keys(s.quantities)[0]];
      const fits = s.steps ? s.steps.fits : [];
      return {s: s, points: q.points.length, tests: q.tests.length, deviation: fits.length ? fits[fits.length - 1].largest_deviation : null};
    });
    const holder = section('surfaces', TITLES.surfaces);
    holder.append(make('details', {class: 'card', id: 'surface-list'}, make('summary', {text: 'All ' + rows.length + ' kinds of layers'}), table([
      {title: 'Method', value: (r) => r.s.method}, {title: 'Role', value: (r) => r.s.role}, {title: 'Kind', value: (r) => r.s.kind, wide: true},
      {title: 'Recipe', value: (r) => r.s.recipe}, {title: 'Points', value: (r) => r.points, number: true}, {title: 'Tests', value: (r) => r.tests, number: true},
      {title: 'Largest deviation', value: (r) => r.deviation, text: (r) => ampere.percent(r.deviation), number: true}], rows, 'surfaces-table')));
    if (data.unknown_surfaces.length) {
      holder.append(make('p', {class: 'caption', text: data.unknown_surfaces.length + ' surfaces are not drawn, because nothing in the store tells their layers.'}));
    }
  }

  function evaluationTables() {
    const rows = [];
    data.evaluations.forEach((e) => e.methods.forEach((m) => rows.push({e: e, m: m})));
    const percent = (of) => ({value: of, text: (r) => ampere.percent(of(r)), number: true});
    section('accuracy', TITLES.accuracy).append(make('div', {class: 'card', id: 'accuracy-table'}, make('h3', {text: 'Errors in figures'}), table([
      {title: 'Network', value: (r) => ampere.label(r.e), wide: true}, {title: 'Device', value: (r) => r.e.device},
      {title: 'Energy', value: (r) => (r.e.modelled ? 'modelled' : 'measured')}, {title: 'Networks', value: (r) => r.e.networks.length, number: true}, {title: 'Method', value: (r) => r.m.name},
      {title: 'Mean', ...percent((r) => r.m.mape)}, {title: 'Median', ...percent((r) => r.m.median)}, {title: 'p95', ...percent((r) => r.m.p95)},
      {title: 'Bias', ...percent((r) => r.m.bias)}, {title: 'In 95%', ...percent((r) => r.m.coverage)}, {title: 'Noise', ...percent((r) => r.e.noise_floor)}
    ], rows, 'accuracy-figures')));
  }

  function profilingTable() {
    const rows = ampere.profilingRows(data);
    section('profiling', TITLES.profiling).append(make('div', {class: 'card', id: 'profiling-table'}, make('h3', {text: 'Profiling in figures'}), table([
      {title: 'Device', value: (r) => r.device, wide: true}, {title: 'Network', value: (r) => r.family}, {title: 'Recipe', value: (r) => r.recipe},
      {title: 'Method', value: (r) => r.method}, {title: 'Points', value: (r) => r.points, number: true},
      {title: 'Time', value: (r) => r.time_s, text: (r) => ampere.duration(r.time_s), number: true},
      {title: 'Fitting', value: (r) => r.fitting_time_s, text: (r) => ampere.si(r.fitting_time_s, 's'), number: true}], rows, 'profiling-figures')));
  }

  // ---- the page

  document.querySelector('h1').textContent = data.title;
  document.querySelector('.lead').textContent = (data.device ? data.device.name + ' · ' : '') + data.generated_at.replace('T', ' ').replace('Z', ' UTC');
  document.querySelector('footer').textContent = 'Made by ampere ' + data.version + ' with Apache ECharts ' + echarts.version +
    ' (Apache License 2.0). Energies are per training iteration, unless a figure says otherwise. This file loads nothing from anywhere.';
  root.dataset.theme = themeName();
  if (data.device) deviceCard(data.device);
  ampere.figures(data).forEach(figureCard);
  if (data.estimates.length) estimateTables();
  if (data.surfaces.length) surfaceTable();
  if (data.evaluations.length) evaluationTables();
  if (sections.has('profiling')) profilingTable();
  applyTheme();
  let waiting = 0;
  window.addEventListener('resize', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => charts.forEach((chart) => chart.draw()), 120);
  });
  // For those who look at a report from outside, such as its tests.
  window.ampereReport = {charts: charts, data: data};
})();
