// Figures of one device: where the joules of a network go, the surfaces of its layers, and how they came to be
// known.
(function () {
  'use strict';
  var a = ampere;
  var MOST_BARS = 40;
  var CROSS = 'path://M0,0L10,10M10,0L0,10';

  // ---- where the joules go

  function bars(estimate, quantity) {
    var rows = estimate.layers.map(function (l) {
      return {name: l.name, what: l.role + ' ' + l.kind + ', ' + l.in + ' → ' + l.out + ' channels', value: l[quantity]};
    });
    var fixed = estimate[quantity === 'energy_j' ? 'fixed_energy_j' : 'fixed_time_s'];
    if (fixed > 0) {
      rows.push({name: estimate.host_time_s === undefined ? '(empty iteration)' : '(waiting for the host)',
        what: 'what an iteration costs besides its layers', value: [fixed, fixed, fixed]});
    }
    if (rows.length <= MOST_BARS) return rows;
    var sorted = rows.slice().sort(function (p, q) { return q.value[0] - p.value[0]; });
    var least = sorted[MOST_BARS - 1].value[0], rest = 0, others = 0;
    var kept = rows.filter(function (r) {
      if (r.value[0] >= least) return true;
      rest += r.value[0];
      ++others;
      return false;
    });
    kept.push({name: '(' + others + ' smaller ones)', what: others + ' layers together', value: [rest, rest, rest]});
    return kept;
  }

  function layersFigure(estimates) {
    var quantities = ['energy_j', 'time_s'];
    return {
      id: 'layers', section: 'estimate', title: 'Where the joules go',
      caption: 'Estimated cost of each layer in one training iteration, with its 95% interval.',
      choices: [
        {name: 'network', label: 'Network', options: estimates.map(function (e) { return e.model + ', batch ' + e.batch + ', ' + e.recipe; })},
        {name: 'quantity', label: 'Quantity', options: quantities.map(function (q) { return a.QUANTITIES[q].label; })}
      ],
      height: function (c) { return 90 + 24 * bars(estimates[c.network], quantities[c.quantity]).length; },
      option: function (c, theme, width) {
        var q = quantities[c.quantity], unit = a.QUANTITIES[q].unit;
        var rows = bars(estimates[c.network], q);
        var option = a.base(theme);
        option.grid = {left: 8, right: 24, top: 8, bottom: 44, containLabel: true};
        option.xAxis = a.axis(theme, a.QUANTITIES[q].axis, {axisLabel: a.unitLabel(unit), min: 0});
        option.yAxis = {type: 'category', inverse: true, data: rows.map(function (r) { return r.name; }),
          axisLabel: {color: theme.text, width: Math.max(70, width * 0.3), overflow: 'truncate', interval: 0}, axisTick: {show: false},
          axisLine: {lineStyle: {color: theme.muted}}};
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (p) {
          var r = rows[p.dataIndex];
          return a.lines(r.name, r.what, a.si(r.value[0], unit) + ' (' + a.si(r.value[1], unit) + ' to ' + a.si(r.value[2], unit) + ')');
        };
        option.series = [
          {type: 'bar', name: 'layer', barMaxWidth: 16, itemStyle: {color: a.COLOURS[0], borderRadius: [0, 3, 3, 0]},
            data: rows.map(function (r) { return r.value[0]; })},
          {type: 'custom', name: '95% interval', silent: true, encode: {x: [1, 2], y: 0}, z: 3,
            data: rows.map(function (r, i) { return [i, r.value[1], r.value[2]]; }),
            renderItem: function (params, api) {
              var low = api.coord([api.value(1), api.value(0)]), high = api.coord([api.value(2), api.value(0)]);
              return {type: 'line', shape: {x1: low[0], y1: low[1], x2: high[0], y2: high[1]},
                style: {stroke: theme.strong, lineWidth: 1.5}};
            }}
        ];
        return option;
      },
      rows: function (c) {
        var e = estimates[c.network];
        return {header: ['layer', 'role', 'kind', 'channels_in', 'channels_out', 'energy_j', 'energy_low_j', 'energy_high_j',
          'time_s', 'time_low_s', 'time_high_s', 'extrapolated'],
        rows: e.layers.map(function (l) {
          return [l.name, l.role, l.kind, l.in, l.out].concat(l.energy_j, l.time_s, [l.extrapolated]);
        })};
      },
      file: function (c) {
        var e = estimates[c.network];
        return 'layers-' + a.slug(e.model + ' b' + e.batch + ' ' + e.recipe) + '-' + quantities[c.quantity].split('_')[0];
      }
    };
  }

  // ---- surfaces

  // The recipe only where there are several.
  function surfaceLabels(surfaces) {
    var several = surfaces.some(function (s) { return s.recipe !== surfaces[0].recipe; });
    return surfaces.map(function (s) { return s.kind + ' · ' + s.role + ' · ' + s.method + (several ? ' · ' + s.recipe : ''); });
  }

  function channelAxis(theme, name, values, more) {
    var low = values[0], high = values[values.length - 1];
    var settings = {type: 'log', logBase: 2, min: low, max: high, axisLabel: {formatter: function (v) { return String(Math.round(v)); }},
      minorTick: {show: false}};
    for (var key in more || {}) settings[key] = more[key];
    return a.axis(theme, name, settings);
  }
  function axisName(axis) { return axis === 'channels' ? 'channels' : axis + 'put channels'; }

  // The edges of a cell lie half-way, in the logarithm, to its neighbours.
  function edges(values) {
    return values.map(function (v, i) {
      var before = i > 0 ? Math.sqrt(v * values[i - 1]) : v;
      var after = i + 1 < values.length ? Math.sqrt(v * values[i + 1]) : v;
      return [before, after];
    });
  }

  // Rows [x from, x to, y from, y to, value, x, y] of a heat map.
  function cells(x, y, values, transform) {
    var ex = edges(x), ey = edges(y), out = [];
    for (var j = 0; j < y.length; ++j) {
      for (var i = 0; i < x.length; ++i) {
        var v = values[j * x.length + i];
        if (v !== null && (transform !== log10 || v > 0)) out.push([ex[i][0], ex[i][1], ey[j][0], ey[j][1], transform(v), x[i], y[j]]);
      }
    }
    return out;
  }
  function log10(v) { return Math.log(v) / Math.LN10; }
  function same(v) { return v; }

  function cell(p, q, colour) {
    // A little more on each side, or seams would show between the cells.
    return {type: 'rect', shape: {x: Math.min(p[0], q[0]) - 0.3, y: Math.min(p[1], q[1]) - 0.3,
      width: Math.abs(q[0] - p[0]) + 0.6, height: Math.abs(q[1] - p[1]) + 0.6}, style: {fill: colour}};
  }
  function heatSeries(name, data, grid, scale) {
    // In a file nothing is pointed at, so all cells of one colour can be one path: much faster, and smaller.
    if (ampere.still) {
      return {
        type: 'custom', name: name, data: [data[0]], xAxisIndex: grid, yAxisIndex: grid, z: 1, clip: true, encode: {x: [0, 1], y: [2, 3]},
        renderItem: function (params, api) {
          var paths = {}, range = extent(data, 4), levels = 48;
          data.forEach(function (d) {
            var level = range[1] > range[0] ? Math.round((d[4] - range[0]) / (range[1] - range[0]) * levels) / levels : 0;
            var c = cell(api.coord([d[0], d[2]]), api.coord([d[1], d[3]]), '').shape;
            var one = [c.x, c.y, c.width, c.height].map(function (v) { return v.toFixed(1); });
            paths[level] = (paths[level] || '') + 'M' + one[0] + ' ' + one[1] + 'h' + one[2] + 'v' + one[3] + 'h-' + one[2] + 'Z';
          });
          return {type: 'group', children: Object.keys(paths).map(function (level) {
            return {type: 'path', shape: {pathData: paths[level]}, style: {fill: scale(range[0] + Number(level) * (range[1] - range[0]))}};
          })};
        }
      };
    }
    return {
      type: 'custom', name: name, data: data, xAxisIndex: grid, yAxisIndex: grid, z: 1, clip: true, encode: {x: [0, 1], y: [2, 3], tooltip: [4]},
      renderItem: function (params, api) {
        return cell(api.coord([api.value(0), api.value(2)]), api.coord([api.value(1), api.value(3)]), scale(api.value(4)));
      }
    };
  }
  // A colour between those of a list.
  function scaleOf(colours, low, high) {
    function part(text, at) { return parseInt(text.substr(at, 2), 16); }
    return function (value) {
      var t = high > low ? (value - low) / (high - low) : 0.5;
      var at = Math.min(Math.max(t, 0), 1) * (colours.length - 1), i = Math.min(Math.floor(at), colours.length - 2), share = at - i;
      var rgb = [1, 3, 5].map(function (k) {
        return Math.round(part(colours[i], k) * (1 - share) + part(colours[i + 1], k) * share);
      });
      return 'rgb(' + rgb.join(',') + ')';
    };
  }
  function extent(data, k) {
    var low = Infinity, high = -Infinity;
    data.forEach(function (d) { low = Math.min(low, d[k]); high = Math.max(high, d[k]); });
    return [low, high];
  }
  function visualMap(theme, series, range, colours, place, formatter) {
    return {type: 'continuous', seriesIndex: [], min: range[0], max: range[1] > range[0] ? range[1] : range[0] + 1e-9, calculable: false,
      orient: 'horizontal', itemWidth: 12, itemHeight: place.width, left: place.left, top: place.top, hoverLink: false,
      inRange: {color: colours}, text: [formatter(range[1]), formatter(range[0])], textStyle: {color: theme.muted, fontSize: 11}};
  }

  function pointSeries(name, data, more) {
    var series = {type: 'scatter', name: name, data: data, z: 5, symbolSize: 9};
    for (var key in more) series[key] = more[key];
    return series;
  }
  function profiled(theme, data, grid) {
    return pointSeries('profiled', data, {xAxisIndex: grid || 0, yAxisIndex: grid || 0,
      itemStyle: {color: '#ffffff', borderColor: '#0b3c5d', borderWidth: 2}});
  }
  function tested(data, grid) {
    return pointSeries('test', data, {xAxisIndex: grid || 0, yAxisIndex: grid || 0, symbol: CROSS, symbolSize: 9,
      itemStyle: {color: 'transparent', borderColor: '#D55E00', borderWidth: 2.4}});
  }

  function bandSeries(name, x, low, high, colour) {
    var lower = [], upper = [];
    x.forEach(function (v, i) { lower.push([v, low[i]]); upper.push([v, high[i]]); });
    return {
      type: 'custom', name: name, silent: true, z: 0, data: [[x[0], 0]], itemStyle: {color: colour}, clip: true,
      renderItem: function (params, api) {
        var outline = upper.concat(lower.slice().reverse()).map(function (p) { return api.coord(p); });
        return {type: 'polygon', shape: {points: outline}, style: {fill: colour, opacity: 0.45}};
      }
    };
  }

  function along(s) { return s.axes[0] === 'out' ? 1 : 0; }
  function onAxis(s, rows) { return rows.map(function (r) { return [r[along(s)], r[2]]; }); }

  function curveOption(s, q, curve, points, tests, theme) {
    var unit = a.QUANTITIES[q].unit, option = a.base(theme);
    option.grid = {left: 12, right: 26, top: 34, bottom: 46, containLabel: true};
    option.legend = a.legend(theme, ['expected', '95% interval', 'profiled'].concat(tests.length ? ['test'] : []));
    option.xAxis = channelAxis(theme, axisName(s.axes[0]), curve.x);
    option.yAxis = a.axis(theme, '', {axisLabel: a.unitLabel(unit)});
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = function (p) {
      return a.lines(p.seriesName, p.value[0] + ' ' + axisName(s.axes[0]), a.si(p.value[1], unit));
    };
    option.series = [
      bandSeries('95% interval', curve.x, curve.low, curve.high, theme.shade),
      {type: 'line', name: 'expected', showSymbol: false, data: curve.x.map(function (v, i) { return [v, curve.mean[i]]; }),
        itemStyle: {color: a.COLOURS[0]}, lineStyle: {color: a.COLOURS[0], width: 2}, z: 2},
      profiled(theme, onAxis(s, points))
    ];
    // The interval has no point of its own, so the axis must be told how far it goes.
    var most = Math.max.apply(null, curve.high.concat(points.map(function (p) { return p[2]; })));
    var least = Math.min.apply(null, curve.low.concat(0));
    var end = a.round(most);
    option.yAxis.max = end.max;
    option.yAxis.interval = end.interval;
    option.yAxis.min = least < 0 ? -Math.ceil(-least / end.interval) * end.interval : 0;
    if (tests.length) option.series.push(tested(onAxis(s, tests)));
    return option;
  }

  // One or two heat maps, beside each other or below. `maps`: {title, x, y, data, colours, formatter, points, tests}.
  function heatOption(maps, axes, theme, width) {
    var option = a.base(theme), beside = width >= 720 && maps.length > 1;
    var each = beside ? width / maps.length : width, height = 300;
    var names = ['profiled'].concat(maps.some(function (m) { return m.tests.length; }) ? ['test'] : []);
    option.legend = a.legend(theme, names);
    ['grid', 'xAxis', 'yAxis', 'visualMap', 'title', 'series'].forEach(function (key) { option[key] = []; });
    maps.forEach(function (m, i) {
      var left = (beside ? i * each : 0), top = (beside ? 0 : i * (height + 140)) + 62;
      option.title.push({text: m.title, left: left + 58, top: top - 30, textStyle: {color: theme.text, fontSize: 13, fontWeight: 600}});
      option.grid.push({left: left + 58, top: top, width: each - 84, height: height});
      option.xAxis.push(channelAxis(theme, axisName(axes[0]), m.x, {gridIndex: i, splitLine: {show: false}}));
      option.yAxis.push(channelAxis(theme, axisName(axes[1]), m.y, {gridIndex: i, splitLine: {show: false}, nameGap: 36}));
      var range = extent(m.data, 4), scale = scaleOf(m.colours, range[0], range[1]);
      option.visualMap.push(visualMap(theme, i, range, m.colours,
        {left: left + 58, top: top + height + 48, width: Math.max(80, each - 240)}, m.formatter));
      option.series.push(heatSeries(m.title, m.data, i, scale));
      option.series.push(profiled(theme, m.points, i));
      if (m.tests.length) option.series.push(tested(m.tests, i));
    });
    option.tooltip.trigger = 'item';
    option.tooltip.formatter = function (p) {
      var m = maps[p.componentIndex < option.series.length / maps.length ? 0 : maps.length - 1], v = p.value;
      if (p.seriesType === 'line') return a.lines(v[0] + ' points', 'largest deviation ' + a.percent(v[1]));
      if (p.seriesType === 'custom') {
        return a.lines(m.title, v[5] + ' ' + axisName(axes[0]) + ', ' + v[6] + ' ' + axisName(axes[1]), m.formatter(v[4]));
      }
      return a.lines(p.seriesName, v[0] + ' ' + axisName(axes[0]) + ', ' + v[1] + ' ' + axisName(axes[1]), v[3] || '');
    };
    return option;
  }
  function heatHeight(count, width) { return width >= 720 || count === 1 ? 460 : 900; }

  function quantitiesOf(s) { return ['energy_j', 'time_s'].filter(function (q) { return s.quantities[q]; }); }
  function quantityOf(s, c) {
    var wanted = ['energy_j', 'time_s'][c.quantity];
    return s.quantities[wanted] ? wanted : quantitiesOf(s)[0];
  }

  function surfaceFigure(surfaces) {
    return {
      id: 'surface', section: 'surfaces', title: 'What a layer costs, by its channels',
      caption: 'Circles were profiled and the model is fitted to them; crosses were measured later and the model has not seen them. ' +
        'Bands and deviations tell how sure the model is.',
      choices: [
        {name: 'surface', label: 'Kind of layer', options: surfaceLabels(surfaces)},
        {name: 'quantity', label: 'Quantity', options: ['Energy', 'Time']}
      ],
      exports: function () {
        var all = [];
        surfaces.forEach(function (s, i) {
          quantitiesOf(s).forEach(function (q) { all.push({surface: i, quantity: q === 'energy_j' ? 0 : 1}); });
        });
        return all;
      },
      height: function (c, width) { return surfaces[c.surface].axes.length > 1 ? heatHeight(2, width) : 380; },
      option: function (c, theme, width) {
        var s = surfaces[c.surface], q = quantityOf(s, c), d = s.quantities[q], unit = a.QUANTITIES[q].unit;
        if (s.axes.length < 2) return curveOption(s, q, d, d.points, d.tests, theme);
        var points = d.points.map(function (p) { return [p[0], p[1], p[2], a.si(p[2], unit)]; });
        var tests = d.tests.map(function (p) { return [p[0], p[1], p[2], a.si(p[2], unit)]; });
        return heatOption([
          {title: a.QUANTITIES[q].label + ' per iteration', x: d.x, y: d.y, data: cells(d.x, d.y, d.mean, log10), colours: a.VIRIDIS,
            points: points, tests: tests, formatter: function (v) { return a.si(Math.pow(10, v), unit); }},
          {title: 'Standard deviation', x: d.x, y: d.y, data: cells(d.x, d.y, d.deviation, same), colours: a.CIVIDIS,
            points: points, tests: tests, formatter: a.percent}
        ], s.axes, theme, width);
      },
      rows: function (c) {
        var s = surfaces[c.surface], q = quantityOf(s, c), d = s.quantities[q], rows = [];
        var fixed = d.points[0] || [0, 0];
        if (s.axes.length > 1) {
          d.y.forEach(function (out, j) {
            d.x.forEach(function (into, i) {
              var k = j * d.x.length + i;
              rows.push(['model', into, out, d.mean[k], d.deviation[k] * d.mean[k]]);
            });
          });
        } else {
          d.x.forEach(function (v, i) {
            var place = s.axes[0] === 'out' ? [fixed[0], v] : s.axes[0] === 'in' ? [v, fixed[1]] : [v, v];
            rows.push(['model'].concat(place, [d.mean[i], (d.high[i] - d.low[i]) / 3.92]));
          });
        }
        d.points.forEach(function (p) { rows.push(['profiled', p[0], p[1], p[2], p[2] * p[3]]); });
        d.tests.forEach(function (p) { rows.push(['test', p[0], p[1], p[2], '']); });
        return {header: ['what', 'channels_in', 'channels_out', q, 'standard_deviation_' + q.split('_')[1]], rows: rows};
      },
      file: function (c) {
        var s = surfaces[c.surface];
        return 'surface-' + a.slug(s.recipe + ' ' + s.name) + '-' + quantityOf(s, c).split('_')[0];
      }
    };
  }

  // ---- how a surface came to be known

  // One axis shows best what happens.
  function firstCurve(surfaces) {
    for (var i = 0; i < surfaces.length; ++i) {
      if (surfaces[i].axes.length < 2) return i;
    }
    return 0;
  }

  // Beside the heat map of a step: how the largest deviation fell with the points.
  function addFall(option, s, fit, theme, width) {
    var beside = width >= 720, left = beside ? width / 2 : 0, colour = a.COLOURS[0];
    option.title.push({text: 'Largest deviation', left: left + 58, top: (beside ? 0 : 440) + 32, textStyle: {color: theme.text, fontSize: 13, fontWeight: 600}});
    option.grid.push({left: left + 58, top: (beside ? 0 : 440) + 62, width: (beside ? width / 2 : width) - 84, height: beside ? 300 : 200});
    var last = s.steps.fits[s.steps.fits.length - 1].points;
    option.xAxis.push(a.axis(theme, 'points measured', {gridIndex: 1, min: 0, max: last, minInterval: 1}));
    option.yAxis.push(a.axis(theme, '', {gridIndex: 1, min: 0, axisLabel: {formatter: a.percent}}));
    option.series.push({type: 'line', name: 'largest deviation', xAxisIndex: 1, yAxisIndex: 1, symbol: 'circle', symbolSize: 6, itemStyle: {color: colour},
      lineStyle: {color: colour, width: 2}, data: s.steps.fits.map(function (f) { return [f.points, f.largest_deviation]; }),
      markLine: {silent: true, symbol: 'none', label: {show: false}, lineStyle: {color: theme.strong, type: 'dashed'}, data: [{xAxis: fit.points}]}});
  }

  function stepsFigure(surfaces) {
    function fitOf(c) {
      var s = surfaces[c.surface];
      return s.steps.fits[Math.min(c.step, s.steps.fits.length - 1)];
    }
    var most = Math.max.apply(null, surfaces.map(function (s) { return s.steps.fits.length; }));
    return {
      id: 'steps', section: 'surfaces', title: 'The steps of guided profiling',
      caption: 'The same surface after its first points. The next one is measured where the model is least sure or, with split, where it fills a gap or follows a jump.',
      choices: [
        {name: 'surface', label: 'Kind of layer', options: surfaceLabels(surfaces), usual: firstCurve(surfaces)},
        {name: 'step', label: 'After', slider: true, count: most, usual: 1, limit: function (c) { return surfaces[c.surface].steps.fits.length; },
          text: function (c) { return fitOf(c).points + ' points, largest deviation ' + a.percent(fitOf(c).largest_deviation); }}
      ],
      exports: function () {
        var all = [];
        surfaces.forEach(function (s, i) {
          var last = s.steps.fits.length - 1;
          [Math.min(1, last), last].forEach(function (step, k) { if (k === 0 || last > 1) all.push({surface: i, step: step}); });
        });
        return all;
      },
      height: function (c, width) { return surfaces[c.surface].axes.length < 2 ? 380 : width >= 720 ? 460 : 760; },
      option: function (c, theme, width) {
        var s = surfaces[c.surface], fit = fitOf(c), q = s.steps.quantity, unit = a.QUANTITIES[q].unit;
        var all = s.quantities[q].points, seen = all.slice(0, fit.points), next = all[fit.points];
        var option;
        if (s.axes.length < 2) {
          option = curveOption(s, q, fit, seen, [], theme);
        } else {
          var map = {title: 'Deviation after ' + fit.points + ' points', x: s.steps.x, y: s.steps.y,
            data: cells(s.steps.x, s.steps.y, fit.deviation, same), colours: a.CIVIDIS, tests: [], formatter: a.percent,
            points: seen.map(function (p) { return [p[0], p[1], p[2], a.si(p[2], unit)]; })};
          option = heatOption([map], s.axes, theme, width >= 720 ? width / 2 : width);
          addFall(option, s, fit, theme, width);
        }
        if (next) {
          option.legend.data.push('measured next');
          option.series.push(pointSeries('measured next', [s.axes.length < 2 ? [next[along(s)], next[2]] : [next[0], next[1], next[2], a.si(next[2], unit)]],
            {symbol: 'diamond', symbolSize: 15, itemStyle: {color: '#D55E00', borderColor: '#ffffff', borderWidth: 1}}));
        }
        return option;
      },
      rows: function (c) {
        var s = surfaces[c.surface];
        return {header: ['step', 'channels_in', 'channels_out', s.steps.quantity, 'relative_error', 'largest_deviation_after'],
          rows: s.quantities[s.steps.quantity].points.map(function (p, i) {
            var after = s.steps.fits.filter(function (f) { return f.points === i + 1; })[0];
            return [i + 1].concat(p, [after ? after.largest_deviation : '']);
          })};
      },
      file: function (c) {
        var s = surfaces[c.surface];
        return 'steps-' + a.slug(s.recipe + ' ' + s.name) + '-' + fitOf(c).points;
      }
    };
  }

  ampere.surfaceFigures = function (data) {
    var figures = [];
    // Ours first, as everywhere.
    var drawn = [];
    a.inOrder(data.surfaces.map(function (s) { return s.method; })).filter(function (m, i, all) { return i === 0 || all[i - 1] !== m; })
      .forEach(function (method) {
        data.surfaces.forEach(function (s) { if (s.method === method && s.axes.length > 0) drawn.push(s); });
      });
    var stepped = drawn.filter(function (s) { return s.steps && s.steps.fits.length > 0; });
    if (data.estimates.length) figures.push(layersFigure(data.estimates));
    if (drawn.length) figures.push(surfaceFigure(drawn));
    if (stepped.length) figures.push(stepsFigure(stepped));
    return figures;
  };
})();
