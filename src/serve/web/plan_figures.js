// A plan of jobs over time, and the batteries under it.
import {ampere as a} from './library.js';
import {joules} from './adapt.js';

const UNITS = [
  [86400, 'days'],
  [3600, 'hours'],
  [60, 'minutes'],
  [1, 'seconds']
];
const unitOf = (end) => UNITS.find((u) => end >= 2 * u[0]) || UNITS[UNITS.length - 1];
const endOf = (plan) => Math.max(1, ...plan.jobs.map((j) => j.end_s));
const place = (names, name) => names.indexOf(name);

export function planFigure(plan) {
  const devices = plan.devices.map((d) => d.name);
  return {
    id: 'plan',
    title: 'Which job runs where and when',
    caption: 'Dark is the median time of a job, light what is set aside so that it holds at the chosen risk. Triangles are deadlines.',
    choices: [],
    height: () => 90 + 44 * devices.length,
    option: (c, theme, width) => {
      const unit = unitOf(endOf(plan)),
        x = (s) => s / unit[0],
        option = a.base(theme);
      option.grid = {left: 8, right: 24, top: 12, bottom: 44, containLabel: true};
      option.xAxis = a.axis(theme, unit[1] + ' from now', {
        min: 0,
        max: Number((x(endOf(plan)) * 1.04).toPrecision(3)),
        splitNumber: width < 500 ? 4 : 8,
        axisLabel: {showMaxLabel: false}
      });
      option.yAxis = {
        type: 'category',
        inverse: true,
        data: devices,
        axisTick: {show: false},
        axisLine: {lineStyle: {color: theme.muted}},
        splitLine: {show: true, lineStyle: {color: theme.line}},
        axisLabel: {color: theme.text, width: Math.max(70, width * 0.22), overflow: 'break', lineOverflow: 'truncate', lineHeight: 14, height: 42, interval: 0}
      };
      option.tooltip.trigger = 'item';
      option.tooltip.formatter = (p) => {
        const j = plan.jobs[p.data.job];
        return a.lines(
          j.name,
          `${a.duration(j.start_s)} to ${a.duration(j.end_s)} on ${j.device}`,
          `${a.si(j.energy_j, 'J')}, set aside ${a.si(j.energy_set_aside_j, 'J')}`,
          ...(j.deadline_s === null ? [] : ['deadline after ' + a.duration(j.deadline_s)])
        );
      };
      const colour = (i) => a.COLOURS[i % a.COLOURS.length];
      option.series = [
        {
          type: 'custom',
          name: 'job',
          clip: true,
          encode: {x: [0, 1, 2], y: 3},
          data: plan.jobs.map((j, i) => ({
            value: [x(j.start_s), x(Math.min(j.end_s, j.start_s + j.time_s)), x(j.end_s), place(devices, j.device)],
            job: i,
            itemStyle: {color: colour(i)}
          })),
          renderItem: (params, api) => {
            const from = api.coord([api.value(0), api.value(3)]),
              to = api.coord([api.value(1), api.value(3)]),
              end = api.coord([api.value(2), api.value(3)]);
            const name = plan.jobs[params.dataIndexInside ?? params.dataIndex].name,
              wide = Math.max(2, end[0] - from[0]),
              fits = 7 * name.length + 10 < wide;
            return {
              type: 'group',
              children: [
                {
                  type: 'rect',
                  shape: {x: from[0], y: from[1] - 13, width: wide, height: 26, r: 4},
                  style: {fill: api.visual('color'), opacity: 0.35}
                },
                {
                  type: 'rect',
                  shape: {x: from[0], y: from[1] - 13, width: Math.max(2, to[0] - from[0]), height: 26, r: 4},
                  style: {fill: api.visual('color')}
                },
                {
                  type: 'text',
                  style: {
                    text: fits ? name : '',
                    x: from[0] + 6,
                    y: from[1],
                    verticalAlign: 'middle',
                    fill: '#ffffff',
                    font: '600 12.5px system-ui, sans-serif',
                    stroke: api.visual('color'),
                    lineWidth: 2
                  }
                }
              ]
            };
          }
        },
        {
          type: 'scatter',
          name: 'deadline',
          symbol: 'triangle',
          symbolRotate: 180,
          symbolSize: 9,
          symbolOffset: [0, -16],
          z: 5,
          data: plan.jobs.flatMap((j, i) =>
            j.deadline_s === null || j.deadline_s > endOf(plan) * 1.04
              ? []
              : [{value: [x(j.deadline_s), place(devices, j.device)], job: i, itemStyle: {color: colour(i)}}]
          )
        }
      ];
      return option;
    },
    rows: () => ({
      header: ['job', 'device', 'start_s', 'end_s', 'time_s', 'energy_j', 'energy_set_aside_j', 'battery_after_j', 'deadline_s'],
      rows: plan.jobs.map((j) => [
        j.name,
        j.device,
        j.start_s,
        j.end_s,
        j.time_s,
        j.energy_j,
        j.energy_set_aside_j,
        j.battery_after_j,
        j.deadline_s
      ])
    }),
    file: () => 'plan'
  };
}

// Of devices with a battery: what is left after each job, on the safe side. Null when there are none.
export function batteryFigure(plan, file) {
  const lines = plan.devices
    .filter((d) => d.battery_reserve_j !== null)
    .map((d) => {
      const asked = (file.devices || []).find((f) => f.name === d.name)?.battery || {};
      const points = [[0, joules(asked.charge ?? asked.capacity)]];
      plan.jobs
        .filter((j) => j.device === d.name)
        .sort((p, q) => p.start_s - q.start_s)
        .forEach((j) => {
          points.push([j.end_s, j.battery_after_j]);
        });
      return {
        name: d.name,
        reserve: d.battery_reserve_j,
        points: points.filter((p) => p[1] !== null)
      };
    });
  if (!lines.length) return null;
  const end = endOf(plan),
    unit = unitOf(end);
  return {
    id: 'batteries',
    title: 'Batteries',
    caption: 'What each battery has now and after each of its jobs, with what is set aside taken off; dashed is its reserve.',
    choices: [],
    height: () => 300,
    option: (c, theme, width) => {
      const option = a.base(theme);
      option.grid = {left: 12, right: 24, top: 40, bottom: 44, containLabel: true};
      option.legend = a.legend(
        theme,
        lines.map((l) => l.name)
      );
      option.xAxis = a.axis(theme, unit[1] + ' from now', {
        min: 0,
        max: Number(((end / unit[0]) * 1.04).toPrecision(3)),
        splitNumber: width < 500 ? 4 : 8,
        axisLabel: {showMaxLabel: false}
      });
      option.yAxis = a.axis(theme, '', {min: 0, axisLabel: {formatter: (v) => a.siTick(v, 'Wh')}});
      option.tooltip.trigger = 'item';
      option.tooltip.formatter = (p) => a.lines(p.seriesName, `${a.si(p.value[1], 'Wh')} after ${a.duration(p.value[0] * unit[0])}`);
      option.series = lines.map((l, i) => ({
        type: 'line',
        name: l.name,
        symbol: a.SYMBOLS[i % a.SYMBOLS.length],
        symbolSize: 9,
        itemStyle: {color: a.COLOURS[i % a.COLOURS.length]},
        data: l.points.map((p) => [p[0] / unit[0], p[1] / 3600]),
        markLine: {
          silent: true,
          symbol: 'none',
          lineStyle: {color: a.COLOURS[i % a.COLOURS.length], type: 'dashed'},
          label: {show: false},
          data: [{yAxis: l.reserve / 3600}]
        }
      }));
      return option;
    },
    rows: () => ({
      header: ['device', 'time_s', 'left_j', 'reserve_j'],
      rows: lines.flatMap((l) => l.points.map((p) => [l.name, p[0], p[1], l.reserve]))
    }),
    file: () => 'batteries'
  };
}
