// Puts a report together from its data.
(function () {
  'use strict';
  const make = ampere.make;
  const table = ampere.table;
  const data = JSON.parse(document.getElementById('data').textContent);
  const main = document.querySelector('main');
  const charts = [];

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

  // ---- figures

  function figureCard(figure) {
    const entry = ampere.figureCard(figure, ['csv']);
    section(figure.section, TITLES[figure.section]).append(entry.card);
    charts.push(entry);
    return entry;
  }

  // ---- cards

  function deviceCard(device) {
    const unwatched = device.read_s ? null
      : make('p', {class: 'caption', text: 'Nothing here says how often the meter ticks: add what ampere detect --json prints with --results.'});
    section('device', 'Device').append(make('div', {class: 'card', id: 'device-card'}, ampere.facts(ampere.deviceFacts(device)), unwatched));
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
      box.replaceChildren(make('h3', {text: e.model + ', batch ' + e.batch}), make('p', {class: 'caption', text: e.recipe + ', method ' + e.method + ', ' +
        e.layers.length + ' layers' + (e.composition_networks ? ', corrected by ' + e.composition_networks + ' whole networks' : '')}),
      make('div', {class: 'headline'}, value(e.energy_j, 'J', 'energy'), value(e.time_s, 's', 'time')),
      ...ampere.estimateNotes(e).map((text) => make('p', {class: 'note', text: text})));
      tableBox.replaceChildren(make('h3', {text: 'Layer by layer'}), table(ampere.layerColumns(e.energy_j[0]), e.layers, 'layers-table'));
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
  document.documentElement.dataset.theme = ampere.theme.name();
  if (data.device) deviceCard(data.device);
  ampere.figures(data).forEach(figureCard);
  if (data.estimates.length) estimateTables();
  if (data.surfaces.length) surfaceTable();
  if (data.evaluations.length) evaluationTables();
  if (sections.has('profiling')) profilingTable();
  ampere.theme.follow(() => charts.forEach((chart) => chart.draw()));
  ampere.theme.apply();
  // For those who look at a report from outside, such as its tests.
  window.ampereReport = {charts: charts, data: data};
})();
