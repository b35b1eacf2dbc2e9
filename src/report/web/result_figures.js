// Figures of results: estimates against real training, errors by method, additivity, training curves, and what
// profiling took.
(function () {
  'use strict';
  var a = ampere;

  function names(evaluations) {
    return evaluations.map(function (e) { return a.label(e) + ' · ' + e.device + ' · ' + e.file; });
  }
  function methodAt(evaluation, method) {
    for (var i = 0; i < evaluation.methods.length; ++i) {
      if (evaluation.methods[i].name === method) return i;
    }
    return -1;
  }
  function allMethods(evaluations) {
    var seen = {};
    evaluations.forEach(function (e) { e.methods.forEach(function (m) { seen[m.name] = true; }); });
    return a.inOrder(Object.keys(seen));
  }
  function errors(evaluation, method) {
    var at = methodAt(evaluation, method);
    if (at < 0) return [];
    return evaluation.networks.filter(function (n) { return n.estimates[at]; }).map(function (n) {
      return Math.abs(n.estimates[at][0] - n.energy_j) / n.energy_j;
    });
  }

  // ---- estimated against measured

  function scatterFigure(evaluations) {
    var methods = allMethods(evaluations).filter(function (m) { return m !== 'flops'; });
    if (!methods.length) methods = ['flops'];
    // The methods of one evaluation in the order of all.
    function methodOf(c) {
      var e = evaluations[c.evaluation];
      return methodAt(e, methods[c.method]) >= 0 ? methods[c.method] : a.inOrder(e.methods.map(function (m) { return m.name; }))[0];
    }
    function panel(evaluation, method) {
      var at = methodAt(evaluation, method);
      return evaluation.networks.filter(function (n) { return at >= 0 && n.estimates[at]; }).map(function (n) {
        return {name: n.name, measured: n.energy_j, estimate: n.estimates[at]};
      });
    }
    return {
      id: 'scatter', section: 'accuracy', title: 'Estimated against measured',
      caption: 'Each point is a network that was really trained. On the line the estimate is right; bars are 95% intervals. Beside it what FLOPs alone can tell.',
      choices: [
        {name: 'evaluation', label: 'Evaluation', options: names(evaluations)},
        {name: 'method', label: 'Method', options: methods}
      ],
      exports: function () {
        var all = [];
        evaluations.forEach(function (e, i) {
          methods.forEach(function (m, k) { if (methodAt(e, m) >= 0) all.push({evaluation: i, method: k}); });
        });
        return all;
      },
      height: function (c, width) { return width >= 720 ? 440 : 860; },
      option: function (c, theme, width) {
        var e = evaluations[c.evaluation], left = methodOf(c), option = a.base(theme), beside = width >= 720;
        var shown = [left].concat(methodAt(e, 'flops') >= 0 && left !== 'flops' ? ['flops'] : []);
        var panels = shown.map(function (m) { return panel(e, m); });
        var values = [];
        panels.forEach(function (p) { p.forEach(function (n) { values.push(n.measured, n.estimate[0]); }); });
        values = values.filter(function (v) { return v > 0; });
        var low = Math.min.apply(null, values) * 0.9, high = Math.max.apply(null, values) * 1.03;
        if (!(high > low)) { low = 0; high = 1; }
        var log = high > 40 * low, end = a.round(high);
        if (!log) high = end.max;
        var each = beside ? width / panels.length : width, height = 330;
        ['grid', 'xAxis', 'yAxis', 'title', 'series'].forEach(function (key) { option[key] = []; });
        panels.forEach(function (points, i) {
          var x = beside ? i * each : 0, y = (beside ? 0 : i * 430) + 40;
          option.title.push({text: shown[i] + ', off by ' + a.percent(e.methods[methodAt(e, shown[i])].mape) + ' on average', left: x + 66, top: y - 30,
            textStyle: {color: theme.text, fontSize: 13, fontWeight: 600}});
          option.grid.push({left: x + 66, top: y, width: each - 96, height: height});
          var scale = {type: log ? 'log' : 'value', min: log ? low : 0, max: high, gridIndex: i, axisLabel: a.unitLabel('J')};
          if (!log) scale.interval = width < 500 ? Math.max(end.interval, high / 3) : end.interval;
          option.xAxis.push(a.axis(theme, 'measured energy per iteration', scale));
          option.yAxis.push(a.axis(theme, 'estimated', extended(scale, {nameGap: 54})));
          var colour = a.colourOf(shown[i]);
          option.series.push({type: 'line', name: 'ideal', xAxisIndex: i, yAxisIndex: i, silent: true, showSymbol: false, z: 0,
            data: [[log ? low : 0, log ? low : 0], [high, high]], lineStyle: {color: theme.muted, type: 'dashed', width: 1.5}});
          option.series.push(a.whiskers('95% interval', points.filter(function (p) { return p.estimate[1] !== null; }).map(function (p) {
            return [p.measured, Math.max(p.estimate[1], low * 0.2), p.estimate[2]];
          }), colour, {xAxisIndex: i, yAxisIndex: i, clip: true}));
          option.series.push({type: 'scatter', name: shown[i], xAxisIndex: i, yAxisIndex: i, symbol: a.symbolOf(shown[i]), symbolSize: points.length > 150 ? 5 : 9, z: 4,
            itemStyle: {color: colour, opacity: 0.85, borderColor: theme.surface, borderWidth: 0.5},
            data: points.map(function (p) { return {value: [p.measured, p.estimate[0]], name: p.name}; })});
        });
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (p) {
          return a.lines(p.name, 'measured ' + a.si(p.value[0], 'J'), 'estimated ' + a.si(p.value[1], 'J') + ' (' + p.seriesName + ')',
            'off by ' + a.percent(p.value[1] / p.value[0] - 1));
        };
        return option;
      },
      rows: function (c) {
        var e = evaluations[c.evaluation], list = a.inOrder(e.methods.map(function (m) { return m.name; }));
        var header = ['network', 'flops', 'measured_time_s', 'measured_energy_j'];
        list.forEach(function (m) { header.push(m + '_energy_j', m + '_energy_low_j', m + '_energy_high_j'); });
        return {header: header, rows: e.networks.map(function (n) {
          var row = [n.name, n.flops, n.time_s, n.energy_j];
          list.forEach(function (m) { row = row.concat(n.estimates[methodAt(e, m)] || ['', '', '']); });
          return row;
        })};
      },
      file: function (c) { return 'scatter-' + a.slug(label(evaluations, c.evaluation)) + '-' + a.slug(methodOf(c)); }
    };
  }
  function extended(object, more) {
    var out = {};
    [object, more].forEach(function (from) { for (var key in from) out[key] = from[key]; });
    return out;
  }
  // Evaluations of the same run on two devices still get two files.
  function label(evaluations, index) {
    var e = evaluations[index];
    return e.device + ' ' + e.file.replace(/\.json$/, '');
  }

  // ---- errors by family and method

  var STATISTICS = [['mape', 'Mean'], ['median', 'Median'], ['p95', '95th percentile']];
  function mapeFigure(evaluations) {
    var methods = allMethods(evaluations);
    return {
      id: 'mape', section: 'accuracy', title: 'Error by family and method',
      caption: 'Absolute error of the energy, relative to what was measured. The FLOPs baselines were fitted to these very networks. The dashed mark is the noise floor: how far measuring again is off.',
      choices: [{name: 'statistic', label: 'Error', options: STATISTICS.map(function (s) { return s[1]; })}],
      height: function (c, width) { return width >= 720 ? 400 : 120 + 30 * evaluations.length * (methods.length > 4 ? 4 : 3); },
      option: function (c, theme, width) {
        var key = STATISTICS[c.statistic][0], option = a.base(theme), upright = width >= 720;
        var devices = {};
        evaluations.forEach(function (e) { devices[e.device] = true; });
        var several = Object.keys(devices).length > 1;
        var category = {type: 'category', inverse: !upright, axisTick: {show: false}, axisLine: {lineStyle: {color: theme.muted}},
          data: evaluations.map(function (e) { return a.label(e) + (several ? '\n' + e.device : ''); }),
          axisLabel: {color: theme.text, interval: 0, width: upright ? Math.max(60, (width - 120) / evaluations.length - 8) : 96, overflow: 'break', lineHeight: 14}};
        var value = a.axis(theme, '', {axisLabel: {formatter: function (v) { return Math.round(100 * v) + '%'; }}, min: 0});
        option.grid = {left: 12, right: 20, top: width >= 720 ? 40 : 40, bottom: 12, containLabel: true};
        option.legend = a.legend(theme, methods.concat('noise floor'));
        option.xAxis = upright ? category : value;
        option.yAxis = upright ? value : category;
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (p) {
          var e = evaluations[p.dataIndex], m = e.methods[methodAt(e, p.seriesName)];
          if (!m) return a.lines(a.label(e), p.seriesName + ' ' + a.percent(e.noise_floor));
          return a.lines(p.seriesName + ', ' + a.label(e), 'mean ' + a.percent(m.mape) + ', median ' + a.percent(m.median) + ', p95 ' + a.percent(m.p95),
            m.coverage === null ? '' : a.percent(m.coverage) + ' inside the 95% interval', e.networks.length + ' networks');
        };
        option.series = methods.map(function (method) {
          return {type: 'bar', name: method, itemStyle: {color: a.colourOf(method)}, barGap: '8%', data: evaluations.map(function (e) {
            var at = methodAt(e, method);
            return at < 0 ? null : e.methods[at][key];
          })};
        });
        option.series.push({type: 'scatter', name: 'noise floor', symbol: 'rect', z: 6, itemStyle: {color: theme.strong},
          symbolSize: upright ? [Math.min(120, (width - 100) / evaluations.length * 0.8), 2] : [2, 30],
          data: evaluations.map(function (e, i) {
            var floor = e.noise_floor === null ? '-' : e.noise_floor;
            return upright ? [i, floor] : [floor, i];
          })});
        return option;
      },
      rows: function () {
        var rows = [];
        evaluations.forEach(function (e) {
          e.methods.forEach(function (m) {
            rows.push([e.device, e.model, e.batch, e.mode, e.recipe, m.name, e.networks.length, m.mape, m.median, m.p95, m.bias, m.coverage, e.noise_floor]);
          });
        });
        return {header: ['device', 'model', 'batch', 'mode', 'recipe', 'method', 'networks', 'mape', 'median', 'p95', 'bias', 'coverage', 'noise_floor'], rows: rows};
      },
      file: function (c) { return 'error-by-method-' + STATISTICS[c.statistic][0]; }
    };
  }

  // ---- distribution of errors

  function cdfFigure(evaluations) {
    return {
      id: 'cdf', section: 'accuracy', title: 'How many networks are off by how much',
      caption: 'Share of networks whose energy is off by at most so much: the further up and left, the better.',
      choices: [{name: 'evaluation', label: 'Evaluation', options: names(evaluations)}],
      height: function () { return 400; },
      option: function (c, theme) {
        var e = evaluations[c.evaluation], option = a.base(theme);
        var methods = a.inOrder(e.methods.map(function (m) { return m.name; }));
        option.grid = {left: 12, right: 24, top: 40, bottom: 46, containLabel: true};
        option.legend = a.legend(theme, methods);
        option.xAxis = a.axis(theme, 'absolute error', {axisLabel: {formatter: function (v) { return Math.round(100 * v) + '%'; }}, min: 0});
        option.yAxis = a.axis(theme, '', {axisLabel: {formatter: function (v) { return Math.round(100 * v) + '%'; }}, min: 0, max: 1});
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (p) {
          return a.lines(p.seriesName, a.percent(p.value[1]) + ' of the networks are off by', 'at most ' + a.percent(p.value[0]));
        };
        option.series = methods.map(function (method, i) {
          var sorted = errors(e, method).sort(function (p, q) { return p - q; });
          return {type: 'line', step: 'end', name: method, showSymbol: true, symbol: a.symbolOf(method), symbolSize: sorted.length > 100 ? 0 : 5,
            itemStyle: {color: a.colourOf(method)},
            lineStyle: {color: a.colourOf(method), width: 2, type: /^flops/.test(method) ? 'dashed' : 'solid'},
            data: [[0, 0]].concat(sorted.map(function (v, k) { return [v, (k + 1) / sorted.length]; }))};
        });
        return option;
      },
      rows: function (c) {
        var e = evaluations[c.evaluation], rows = [];
        a.inOrder(e.methods.map(function (m) { return m.name; })).forEach(function (method) {
          var sorted = errors(e, method).sort(function (p, q) { return p - q; });
          sorted.forEach(function (v, k) { rows.push([method, v, (k + 1) / sorted.length]); });
        });
        return {header: ['method', 'absolute_relative_error', 'share_of_networks'], rows: rows};
      },
      file: function (c) { return 'cdf-' + a.slug(label(evaluations, c.evaluation)); }
    };
  }

  // ---- do layers add up

  function additivityFigure(files) {
    return {
      id: 'additivity', section: 'additivity', title: 'Do layers add up?',
      caption: 'Networks that grow by one identical layer at a time were trained; if layers add up, they lie on a line. Bars are the spread between passes.',
      choices: [{name: 'file', label: 'Measurement', options: files.map(function (f) { return f.device + ' · batch ' + f.batch + ' · ' + f.file; })}],
      height: function () { return 380; },
      option: function (c, theme) {
        var f = files[c.file], option = a.base(theme), legend = [];
        option.grid = {left: 12, right: 24, top: 40, bottom: 46, containLabel: true};
        option.xAxis = a.axis(theme, 'layers added', {minInterval: 1});
        option.yAxis = a.axis(theme, '', {axisLabel: a.unitLabel('J'), min: 0});
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (p) { return a.lines(p.seriesName, p.value[0] + ' layers added', a.si(p.value[1], 'J')); };
        option.series = [];
        f.modes.forEach(function (m, i) {
          var colour = a.COLOURS[i], last = m.points.length - 1;
          legend.push(m.name);
          option.series.push({type: 'line', name: m.name + ' line', silent: true, showSymbol: false, z: 0, lineStyle: {color: colour, type: 'dashed'},
            data: [[0, m.intercept], [last, m.intercept + m.slope * last]]});
          option.series.push(a.whiskers(m.name + ' spread', m.points.map(function (p, k) { return [k, p[0] - (p[1] || 0) / 2, p[0] + (p[1] || 0) / 2]; }), colour));
          option.series.push({type: 'scatter', name: m.name, symbol: a.SYMBOLS[i], symbolSize: 10, itemStyle: {color: colour},
            data: m.points.map(function (p, k) { return [k, p[0]]; })});
        });
        if (f.phases.length) {
          legend.push('forward + backward + update');
          option.series.push({type: 'scatter', name: 'forward + backward + update', symbol: 'diamond', symbolSize: 11, itemStyle: {color: a.COLOURS[3]},
            data: f.phases.map(function (v, k) { return [k, v]; })});
        }
        option.legend = a.legend(theme, legend);
        return option;
      },
      rows: function (c) {
        var f = files[c.file], rows = [];
        f.modes.forEach(function (m) {
          m.points.forEach(function (p, k) { rows.push([m.name, k, p[0], p[1], m.intercept + m.slope * k]); });
        });
        f.phases.forEach(function (v, k) { rows.push(['phases', k, v, '', '']); });
        return {header: ['mode', 'layers_added', 'energy_j', 'spread_j', 'line_j'], rows: rows};
      },
      file: function (c) { return 'additivity-' + a.slug(label(files, c.file)); }
    };
  }

  // ---- training curves, as of pruned networks

  function curvesFigure(files) {
    var ACROSS = [[1, 'Energy spent'], [0, 'Iteration']], UP = [[2, 'Test loss'], [3, 'Test accuracy']];
    return {
      id: 'curves', section: 'pruning', title: 'What the joules bought',
      caption: 'Test loss and accuracy while networks train, over the energy spent so far. The vertical line is the energy budget.',
      choices: [
        {name: 'file', label: 'Run', options: files.map(function (f) { return f.file; })},
        {name: 'up', label: 'Shown', options: UP.map(function (u) { return u[1]; })},
        {name: 'across', label: 'Over', options: ACROSS.map(function (u) { return u[1]; })}
      ],
      height: function () { return 400; },
      option: function (c, theme) {
        var f = files[c.file], x = ACROSS[c.across][0], y = UP[c.up][0], option = a.base(theme);
        var label = y === 3 ? function (v) { return a.percent(v); } : function (v) { return v.toPrecision(3); };
        option.grid = {left: 12, right: 28, top: 56, bottom: 46, containLabel: true};
        option.legend = a.legend(theme, f.curves.map(function (k) { return k.network; }));
        option.xAxis = a.axis(theme, x === 1 ? 'energy spent' : 'iteration', {min: 0, axisLabel: x === 1 ? a.unitLabel('J') : {}});
        option.yAxis = a.axis(theme, '', {scale: true, axisLabel: y === 3 ? {formatter: a.percent} : {}});
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (p) {
          return a.lines(p.seriesName, x === 1 ? a.si(p.value[0], 'J') : 'iteration ' + p.value[0], UP[c.up][1] + ' ' + label(p.value[1]));
        };
        option.series = f.curves.map(function (k, i) {
          var colour = a.COLOURS[i % a.COLOURS.length];
          return {type: 'line', name: k.network, symbol: a.SYMBOLS[i % a.SYMBOLS.length], symbolSize: 6, itemStyle: {color: colour}, lineStyle: {color: colour, width: 2},
            data: k.points.filter(function (p) { return p[x] !== null && p[y] !== null; }).map(function (p) { return [p[x], p[y]]; })};
        });
        if (f.budget_j !== null && x === 1 && option.series.length) {
          option.series[0].markLine = {silent: true, symbol: 'none', lineStyle: {color: theme.strong, type: 'dashed'},
            label: {color: theme.text, formatter: 'budget ' + a.si(f.budget_j, 'J')}, data: [{xAxis: f.budget_j}]};
          var far = Math.max.apply(null, f.curves.map(function (k) { return Math.max.apply(null, k.points.map(function (p) { return p[1]; })); }));
          if (f.budget_j > far) option.xAxis.max = f.budget_j * 1.02;
        }
        return option;
      },
      rows: function (c) {
        var rows = [];
        files[c.file].curves.forEach(function (k) { k.points.forEach(function (p) { rows.push([k.network].concat(p)); }); });
        return {header: ['network', 'iteration', 'energy_j', 'test_loss', 'test_accuracy'], rows: rows};
      },
      file: function (c) { return 'curves-' + a.slug(files[c.file].file.replace(/\.json$/, '')) + '-' + a.slug(UP[c.up][1] + ' over ' + ACROSS[c.across][1]); }
    };
  }

  // ---- what profiling took

  ampere.profilingRows = function (data) {
    var rows = data.profiling.map(function (p) {
      return {device: p.device, family: p.family, recipe: p.recipe, method: p.method, points: p.points, time_s: p.time_s, fitting_time_s: p.fitting_time_s};
    });
    data.evaluations.forEach(function (e) {
      e.profiling.forEach(function (p) {
        if (p.time_s === null) return;
        var row = {device: e.device, family: e.model + '@b' + e.batch, recipe: e.recipe, method: p.method, points: p.points, time_s: p.time_s, fitting_time_s: p.fitting_time_s};
        // The store tells the same of its own device.
        var told = rows.some(function (r) {
          return r.device === row.device && r.family === row.family && r.recipe === row.recipe && r.method === row.method;
        });
        if (!told) rows.push(row);
      });
    });
    return rows;
  };
  function profilingFigure(data) {
    var rows = a.profilingRows(data);
    if (!rows.length) return null;
    var several = rows.some(function (r) { return r.device !== rows[0].device; });
    function name(r) { return r.family + (/autotune/.test(r.recipe) ? ' autotuned' : '') + ' ' + r.method + (several ? ', ' + r.device : ''); }
    return {
      id: 'profiling', section: 'profiling', title: 'What profiling took',
      caption: 'Once per device and family: training small networks, and fitting the models to what was measured.',
      choices: [],
      height: function (c, width) { return 100 + (width < 500 ? 40 : 26) * rows.length; },
      option: function (c, theme, width) {
        var option = a.base(theme);
        option.grid = {left: 8, right: 40, top: 34, bottom: 44, containLabel: true};
        option.legend = a.legend(theme, ['training', 'fitting']);
        option.xAxis = a.axis(theme, 'time', {axisLabel: {formatter: a.duration}, min: 0, splitNumber: width < 500 ? 3 : 5});
        option.yAxis = {type: 'category', inverse: true, data: rows.map(name), axisTick: {show: false}, axisLine: {lineStyle: {color: theme.muted}},
          axisLabel: {color: theme.text, interval: 0, width: Math.max(110, width * 0.36), overflow: width < 500 ? 'break' : 'truncate', lineHeight: 14}};
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (p) {
          var r = rows[p.dataIndex];
          return a.lines(name(r), r.device + ', ' + r.recipe, r.points + ' points', a.duration(r.time_s) + ', of which fitting ' + a.si(r.fitting_time_s || 0, 's'));
        };
        option.series = [
          {type: 'bar', name: 'training', stack: 'time', barMaxWidth: 16, itemStyle: {color: a.COLOURS[0]},
            data: rows.map(function (r) { return Math.max(0, r.time_s - (r.fitting_time_s || 0)); })},
          {type: 'bar', name: 'fitting', stack: 'time', barMaxWidth: 16, itemStyle: {color: a.COLOURS[4]}, data: rows.map(function (r) { return r.fitting_time_s || 0; })}
        ];
        return option;
      },
      rows: function () {
        return {header: ['device', 'family', 'recipe', 'method', 'points', 'time_s', 'fitting_time_s'], rows: rows.map(function (r) {
          return [r.device, r.family, r.recipe, r.method, r.points, r.time_s, r.fitting_time_s];
        })};
      },
      file: function () { return 'profiling-time'; }
    };
  }

  ampere.resultFigures = function (data) {
    var figures = [], evaluations = data.evaluations.filter(function (e) { return e.networks.length > 0 && e.methods.length > 0; });
    if (evaluations.length) figures.push(scatterFigure(evaluations), mapeFigure(evaluations), cdfFigure(evaluations));
    if (data.additivity.length) figures.push(additivityFigure(data.additivity));
    var curves = data.curves.filter(function (f) { return f.curves.length > 0; });
    if (curves.length) figures.push(curvesFigure(curves));
    figures = figures.concat(a.settingFigures(data));
    figures.push(profilingFigure(data));
    return figures.filter(function (f) { return f !== null; });
  };

  // All figures of a report, in the order they are shown.
  ampere.figures = function (data) { return ampere.surfaceFigures(data).concat(ampere.resultFigures(data)); };

  ampere.csv = function (table) {
    function cell(value) {
      if (value === null || value === undefined) return '';
      var text = String(value);
      // Programs that open the file take such a cell for a formula, unless it is a number.
      if (/^[=+\-@\t\r]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) text = "'" + text;
      return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
    }
    return [table.header].concat(table.rows).map(function (row) { return row.map(cell).join(','); }).join('\n') + '\n';
  };

  // A figure as an SVG file, on white.
  ampere.svg = function (figure, choice, width) {
    var chart = echarts.init(null, null, {renderer: 'svg', ssr: true, width: width, height: figure.height(choice, width)});
    var option = figure.option(choice, ampere.THEMES.light, width);
    option.backgroundColor = '#ffffff';
    option.textStyle.fontFamily = 'Helvetica, Arial, sans-serif';
    option.aria = {enabled: false};
    chart.setOption(option);
    var svg = chart.renderToSVGString();
    chart.dispose();
    return svg;
  };

  // The first choice of everything.
  ampere.usual = function (figure) {
    var choice = {};
    figure.choices.forEach(function (c) { choice[c.name] = c.usual || 0; });
    return choice;
  };
  // Every way a figure can be shown, for files.
  ampere.exports = function (figure) {
    if (figure.exports) return figure.exports();
    var all = [{}];
    figure.choices.forEach(function (choice) {
      var wider = [];
      all.forEach(function (one) {
        for (var i = 0; i < (choice.options ? choice.options.length : choice.count); ++i) {
          var more = extended(one, {});
          more[choice.name] = i;
          wider.push(more);
        }
      });
      all = wider;
    });
    return all;
  };
})();
