// The JSON of the command line, as reports want it: their figures, tables and words are used here, too.
export const interval = (o, name, unit) => [
  o[`${name}_${unit}`],
  o[`${name}_low_${unit}`] ?? o[`${name}_${unit}`],
  o[`${name}_high_${unit}`] ?? o[`${name}_${unit}`]
];

// Whom an estimate is of. `known`: devices and data sheets, which have an id and a name.
export function deviceOf(answer, known) {
  const id = answer.asked || answer.device_id || '';
  const found = known.find((d) => d.id === id);
  return {id, name: found ? found.name : (answer.device && answer.device.name) || id || 'unknown device'};
}

// Layers and the edges between them, from ops and theirs. What lies between layers and belongs to none is passed through.
export function graphOf(answer) {
  const {nodes, layers} = answer.graph,
    from = [],
    edges = new Set();
  nodes.forEach((node, i) => {
    const sources = [...new Set(node.inputs.flatMap((k) => from[k] || []))];
    if (node.layer !== null) sources.filter((l) => l !== node.layer).forEach((l) => edges.add(l + ',' + node.layer));
    from[i] = node.layer !== null ? [node.layer] : sources;
  });
  const ops = layers.map((_, l) =>
    nodes
      .filter((n) => n.layer === l)
      .map((n) => n.op)
      .join(', ')
  );
  return {layers: layers.map((name, l) => ({name, ops: ops[l]})), edges: [...edges].map((e) => e.split(',').map(Number))};
}

export function estimateOf(e) {
  return {
    model: e.model,
    batch: e.batch,
    recipe: e.recipe,
    method: e.method,
    modelled: e.modelled,
    regime: e.regime,
    energy_j: interval(e.iteration, 'energy', 'j'),
    time_s: interval(e.iteration, 'time', 's'),
    fixed_energy_j: e.fixed ? e.fixed.energy_j : 0,
    fixed_time_s: e.fixed ? e.fixed.time_s : 0,
    device_time_s: e.device_time_s,
    ...(e.regime && e.regime !== 'single' ? {host_time_s: e.host_time_s} : {}),
    layers: (e.layers || []).map((l) => ({
      name: l.name,
      role: l.role,
      kind: l.kind,
      in: l.channels.in,
      out: l.channels.out,
      energy_j: interval(l, 'energy', 'j'),
      time_s: interval(l, 'time', 's'),
      extrapolated: l.extrapolated,
      measured: l.measured
    }))
  };
}

export function tuningOf(t) {
  const share = (s) => [s.value, s.low, s.high];
  return {
    file: 'now',
    model: t.model,
    objective: t.objective,
    present: t.present,
    best: t.best,
    most_slower: t.most_slower,
    deadline_s: t.deadline_s,
    steps: t.steps.map((s) => ({change: s.change, energy: share(s.energy_saved), time: share(s.time_saved)})),
    advice: t.advice,
    points: t.outcomes.map((o) => ({
      batch: o.batch,
      recipe: o.recipe + (o.channels_last ? ', channels last' : ''),
      power_limit_w: o.power_limit_w,
      clock_mhz: o.clock_mhz,
      energy_j: interval(o, 'energy', 'j'),
      time_s: interval(o, 'time', 's'),
      on_front: o.on_front,
      allowed: o.allowed,
      measured: o.measured
    }))
  };
}

// "15Wh", "40kJ", "7800mAh@3.85V" in joules; null where it says something else.
export function joules(text) {
  const found = /^\s*([\d.]+(?:e[+-]?\d+)?)\s*(mJ|J|kJ|MJ|GJ|mWh|Wh|kWh|mAh|Ah)\s*(?:@\s*([\d.]+)\s*V)?\s*$/i.exec(text || '');
  if (!found) return null;
  const per = {
    mj: found[2] === 'MJ' ? 1e6 : 1e-3,
    j: 1,
    kj: 1e3,
    gj: 1e9,
    mwh: 3.6,
    wh: 3600,
    kwh: 3.6e6,
    mah: 3.6 * (found[3] || NaN),
    ah: 3600 * (found[3] || NaN)
  };
  const value = Number(found[1]) * per[found[2].toLowerCase()];
  return Number.isFinite(value) ? value : null;
}
