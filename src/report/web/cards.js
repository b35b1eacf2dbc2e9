// What reports and the page say of a device and of an estimate, in the same words.
(function () {
  'use strict';
  const si = ampere.si;

  ampere.typeOf = (type) => (type === 'cuda' ? 'GPU (CUDA)' : type === 'cpu' ? 'CPU' : type);

  ampere.deviceFacts = (device) => [
    ['Device', device.name], ['Type', ampere.typeOf(device.type)],
    ['Cores', device.cores], ['Driver', device.driver], ['Framework', device.framework], ['BLAS', device.blas], ['Allocator', device.allocator],
    ['Meter', device.meter + (device.scope ? ' (' + device.scope + ')' : '')],
    ['Energy is', device.modelled === undefined ? '' : device.modelled ? 'modelled, not measured' : 'measured'],
    ['Counter ticks every', device.tick_s ? si(device.tick_s, 's') : device.read_s ? 'no steps seen' : ''], ['Smallest step', device.resolution_j ? si(device.resolution_j, 'J') : ''],
    ['One read takes', device.read_s ? si(device.read_s, 's') : ''], ['Idle power', device.idle_power_w ? si(device.idle_power_w, 'W') : ''],
    ['Recipes', (device.recipes || []).join(', ')], ['Measurements', device.points], ['Last used', device.last_used], ['Id', device.id]
  ];

  const range = (v, text) => text(v[0]) + ' (95%: ' + text(v[1]) + ' to ' + text(v[2]) + ')';
  // [value, low, high] in words.
  ampere.range = (v, unit) => range(v, (x) => si(x, unit));

  ampere.estimateNotes = function (e) {
    const notes = [];
    if (e.bill) {
      const b = e.bill;
      const money = (v) => Number(v.toPrecision(3)) + (b.currency ? ' ' + b.currency : '');
      notes.push('A million iterations: ' + [range(b.energy_kwh, (v) => Number(v.toPrecision(3)) + ' kWh'), b.cost && range(b.cost, money),
        b.carbon_g && range(b.carbon_g, (v) => si(v, 'g') + ' CO2e') + (b.carbon_source === 'given' ? '' : ', electricity of ' + b.carbon_source)].filter(Boolean).join('; ') + '.');
    }
    if (e.modelled) notes.push('Energy is modelled here (CPU time times watts), not measured.');
    if (e.regime === 'host-bound') notes.push('Host-bound: the device works ' + si(e.device_time_s, 's') + ' of each iteration and waits for the host for the rest.');
    if (e.regime === 'device-bound') notes.push('Device-bound: the device is busy all the time.');
    if (e.layers.some((l) => l.extrapolated)) notes.push('Some layers lie outside the profiled channels.');
    return notes;
  };

  // Of a table of layers. total: the energy that shares are of.
  ampere.layerColumns = (total) => [
    {title: 'Layer', value: (l) => l.name, wide: true}, {title: 'Role', value: (l) => l.role, from: 62}, {title: 'Kind', value: (l) => l.kind, wide: true, from: 62},
    {title: 'In', value: (l) => l.in, number: true, from: 42}, {title: 'Out', value: (l) => l.out, number: true, from: 42},
    {title: 'Energy', value: (l) => l.energy_j[0], text: (l) => si(l.energy_j[0], 'J'), number: true},
    {title: '95% interval', value: (l) => l.energy_j[2] - l.energy_j[1], text: (l) => si(l.energy_j[1], 'J') + ' to ' + si(l.energy_j[2], 'J'), from: 30},
    {title: 'Time', value: (l) => l.time_s[0], text: (l) => si(l.time_s[0], 's'), number: true, from: 23},
    {title: 'Share', value: (l) => l.energy_j[0] / total, text: (l) => ampere.percent(l.energy_j[0] / total) + (l.extrapolated ? ' !' : ''), number: true}
  ];
})();
