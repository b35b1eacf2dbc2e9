// Devices side by side: energy, time, money or carbon of an iteration, an epoch or the job.
import {ampere as a} from './library.js';

export const SPANS = [
  ['iteration', 'an iteration', 'Iteration'],
  ['epoch', 'an epoch', 'Epoch'],
  ['job', 'the job', 'Job']
];
const QUANTITIES = [
  ['energy', 'j', 'J', 'Energy'],
  ['time', 's', 's', 'Time'],
  ['cost', '', '', 'Cost'],
  ['carbon', 'g', 'g', 'Carbon']
];
// [value, low, high], or null where it was not told.
export function valueOf(estimate, span, quantity) {
  const [name, unit] = QUANTITIES.find((q) => q[0] === quantity);
  const of = estimate[span],
    end = unit ? '_' + unit : '';
  if (!of || of[name + end] === undefined || of[name + end] === null) return null;
  return [of[name + end], of[`${name}_low${end}`], of[`${name}_high${end}`]];
}
export function textOf(value, quantity, currency) {
  if (quantity === 'time' && value >= 60) return a.duration(value);
  // Less than a cent as 2.31 mEUR.
  if (quantity === 'cost')
    return value < 0.01
      ? a.si(value, currency || '').trim()
      : (value >= 1000 ? value.toFixed(0) : Number(value.toPrecision(3))) + (currency ? ' ' + currency : '');
  if (quantity === 'carbon') return a.si(value, 'g');
  return a.si(value, quantity === 'time' ? 's' : 'J');
}

// rows: [{name, estimate}], those that could be told.
export function compareFigure(rows, currency) {
  const quantities = QUANTITIES.filter((q) => rows.some((r) => valueOf(r.estimate, 'iteration', q[0])));
  const chosen = (c) => ({quantity: quantities[Math.min(c.quantity, quantities.length - 1)], span: SPANS[c.span]});
  const values = (c) => rows.map((r) => valueOf(r.estimate, chosen(c).span[0], chosen(c).quantity[0]));
  return {
    id: 'compare',
    title: 'Device by device',
    caption: 'The estimate and its 95% interval; shorter lines are surer.',
    choices: [
      {name: 'quantity', label: 'Quantity', options: quantities.map((q) => q[3])},
      {name: 'span', label: 'Of', options: SPANS.map((s) => s[1]), usual: 2}
    ],
    height: () => 80 + 40 * rows.length,
    option: (c, theme, width) => {
      const {quantity, span} = chosen(c),
        all = values(c),
        told = all.filter(Boolean),
        option = a.base(theme);
      const text = (v) => textOf(v, quantity[0], currency);
      const least = Math.min(...told.map((v) => v[1])),
        most = Math.max(...told.map((v) => v[2]));
      // Devices may be a thousand times apart.
      const log = least > 0 && most / least > 30;
      option.grid = {left: 8, right: 28, top: 8, bottom: 44, containLabel: true};
      option.xAxis = a.axis(theme, `${quantity[3].toLowerCase()} of ${span[1]}${log ? ', logarithmic' : ''}`, {
        type: log ? 'log' : 'value',
        min: log ? undefined : 0,
        splitNumber: width < 500 ? 3 : 6,
        axisLabel: quantity[2] ? a.unitLabel(quantity[2]) : {}
      });
      option.yAxis = {
        type: 'category',
        inverse: true,
        data: rows.map((r) => r.name),
        axisTick: {show: false},
        axisLine: {lineStyle: {color: theme.muted}},
        axisLabel: {color: theme.text, width: Math.max(80, width * 0.28), overflow: 'break', lineOverflow: 'truncate', lineHeight: 14, height: 42, interval: 0}
      };
      option.tooltip.trigger = 'item';
      option.tooltip.formatter = (p) => {
        const v = all[p.data.row];
        return a.lines(rows[p.data.row].name, `${text(v[0])} (95%: ${text(v[1])} to ${text(v[2])})`);
      };
      const points = [],
        lines = [];
      all.forEach((v, i) => {
        if (!v) return;
        points.push({value: [v[0], i], row: i, itemStyle: {color: a.COLOURS[i % a.COLOURS.length]}});
        lines.push({value: [i, v[1], v[2]], itemStyle: {color: a.COLOURS[i % a.COLOURS.length]}});
      });
      option.series = [
        {
          type: 'custom',
          name: '95% interval',
          silent: true,
          encode: {x: [1, 2], y: 0},
          data: lines,
          renderItem: (params, api) => {
            const low = api.coord([api.value(1), api.value(0)]),
              high = api.coord([api.value(2), api.value(0)]);
            return {
              type: 'line',
              shape: {x1: low[0], y1: low[1], x2: high[0], y2: high[1]},
              style: {stroke: api.visual('color'), lineWidth: 4, opacity: 0.6, lineCap: 'round'}
            };
          }
        },
        {type: 'scatter', name: 'estimate', symbolSize: 13, data: points}
      ];
      return option;
    },
    rows: () => ({
      header: [
        'device',
        'of',
        ...quantities.flatMap((q) => [
          `${q[0]}${q[1] && '_' + q[1]}`,
          `${q[0]}_low${q[1] && '_' + q[1]}`,
          `${q[0]}_high${q[1] && '_' + q[1]}`
        ])
      ],
      rows: rows.flatMap((r) =>
        SPANS.map((s) => [r.name, s[0], ...quantities.flatMap((q) => valueOf(r.estimate, s[0], q[0]) || ['', '', ''])])
      )
    }),
    file: (c) => `devices-${chosen(c).quantity[0]}-${chosen(c).span[0]}`
  };
}
