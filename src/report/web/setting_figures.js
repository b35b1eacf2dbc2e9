// Settings to train with: energy and time of a job under each, and the front. ECMAScript 5, because Duktape
// runs it too.
(function () {
  'use strict';
  var a = ampere;
  var UNITS = [[86400, 'days'], [3600, 'hours'], [60, 'minutes'], [1, 'seconds'], [1e-3, 'milliseconds']];

  function power(p) {
    var words = [];
    if (p.power_limit_w !== null) words.push(p.power_limit_w + ' W');
    if (p.clock_mhz !== null) words.push(p.clock_mhz + ' MHz');
    return words.length ? words.join(', ') : 'as it comes';
  }
  function training(p) { return 'batch ' + p.batch + ', ' + p.recipe; }
  function range(v, text) { return text(v[0]) + ' (95%: ' + text(v[1]) + ' to ' + text(v[2]) + ')'; }
  function joules(v) { return a.si(v, 'J'); }
  function saved(share, more, less) { return a.percent(Math.abs(share)) + (share >= 0 ? less : more); }

  // The unit in which three or more whole numbers lie on the axis.
  function unitOf(points) {
    var most = Math.max.apply(null, points.map(function (p) { return p.time_s[0]; }));
    for (var i = 0; i < UNITS.length; ++i) {
      if (most >= 3 * UNITS[i][0] || i === UNITS.length - 1) return UNITS[i];
    }
  }
  // How many lines the names of a legend take, about.
  function legendLines(names, width) {
    var used = 0, lines = 1;
    names.forEach(function (name) {
      var wide = 44 + 6.6 * name.length;
      if (used + wide > width && used > 0) { ++lines; used = 0; }
      used += wide;
    });
    return lines;
  }
  function against(p, present) {
    return saved(1 - p.energy_j[0] / present.energy_j[0], ' more energy', ' less energy') + ' than now, ' +
      saved(1 - p.time_s[0] / present.time_s[0], ' slower', ' quicker');
  }

  // Whiskers in both directions: x, y, and the ends of both.
  function crosses(name, rows, colour) {
    return {type: 'custom', name: name, data: rows, silent: true, z: 1, clip: true, itemStyle: {color: colour},
      encode: {x: [0, 2, 3], y: [1, 4, 5]},
      renderItem: function (params, api) {
        function line(from, to) {
          var p = api.coord(from), q = api.coord(to);
          return {type: 'line', shape: {x1: p[0], y1: p[1], x2: q[0], y2: q[1]}, style: {stroke: colour, lineWidth: 1, opacity: 0.55}};
        }
        return {type: 'group', children: [
          line([api.value(2), api.value(1)], [api.value(3), api.value(1)]),
          line([api.value(0), api.value(4)], [api.value(0), api.value(5)])]};
      }};
  }

  var SHOWN = ['All settings', 'The front, with 95% intervals'];
  function tuningFigure(files) {
    return {
      id: 'settings', section: 'tuning', title: 'Energy and time of the job under every setting',
      caption: 'Each point is the whole job under one setting; the line joins those that no other beats in both. Large are the present setting (now) and the recommended one (best).',
      choices: [
        {name: 'file', label: 'Tuned', options: files.map(function (f) { return f.model + ' (' + f.file + ')'; })},
        {name: 'shown', label: 'Shown', options: SHOWN}
      ],
      height: function (c, width) { return (width < 500 ? 420 : 440) + (width < 500 ? 0 : 24 * legendLines(namesOf(c), width - 40)); },
      option: function (c, theme, width) {
        var f = files[c.file], option = a.base(theme), names = namesOf(c), unit = unitOf(f.points), narrow = width < 500;
        var present = f.points[f.present], front = [], alone = c.shown === 1;
        function x(seconds) { return seconds / unit[0]; }
        f.points.forEach(function (p) { if (p.on_front) front.push([x(p.time_s[0]), p.energy_j[0]]); });
        front.sort(function (p, q) { return p[0] - q[0]; });
        // Room for the name of the upward axis, which stands above it.
        var top = 34 + (narrow ? 26 : 24 * legendLines(names, width - 40));
        option.grid = {left: 12, right: 22, top: top, bottom: 44, containLabel: true};
        option.legend = a.legend(theme, names, {type: narrow ? 'scroll' : 'plain', itemWidth: 14});
        option.xAxis = a.axis(theme, 'time of the job, ' + unit[1], {scale: true, splitNumber: narrow ? 4 : 8});
        option.yAxis = a.axis(theme, 'energy of the job', {scale: true, axisLabel: a.unitLabel('J'), nameLocation: 'end', nameGap: 10,
          nameTextStyle: {color: theme.muted, fontSize: 12, align: 'left', padding: [0, 0, 0, -40]}});
        option.tooltip.trigger = 'item';
        option.tooltip.formatter = function (s) {
          var p = s.data && s.data.point !== undefined ? f.points[s.data.point] : null;
          if (!p) return '';
          return a.lines(training(p), power(p), range(p.energy_j, joules), range(p.time_s, a.duration),
            p === present ? 'the present setting' : against(p, present),
            (p.measured ? 'trained for a moment' : 'estimated') + (p.allowed ? '' : '; takes longer than was allowed'));
        };
        var limit = {silent: true, symbol: 'none', lineStyle: {color: theme.muted, type: 'dashed'},
          label: {color: theme.muted, formatter: '{b}', position: 'insideEndTop'}, data: []};
        if (f.most_slower !== null) limit.data.push({name: 'at most ' + a.percent(f.most_slower) + ' slower', xAxis: x(present.time_s[0] * (1 + f.most_slower))});
        if (f.deadline_s !== null) limit.data.push({name: 'deadline', xAxis: x(f.deadline_s)});
        option.series = [{type: 'line', name: 'front', symbol: 'none', silent: true, z: 2, lineStyle: {color: theme.muted, width: 1.5}, data: front, markLine: limit}];
        var ends = f.points.map(function (p) { return p.time_s[0]; });
        var least = Math.min.apply(null, ends), most = Math.max.apply(null, ends);
        // Left of the best one there is nothing, else it would be beaten; but there must be room.
        function side(p, best) {
          var share = most > least ? (p.time_s[0] - least) / (most - least) : 0;
          return (best ? share * (width - 100) > 150 : share > 0.5) ? 'left' : 'right';
        }
        names.forEach(function (n) {
          var points = [], rows = [], place = allNames(f).indexOf(n), colour = a.COLOURS[place % a.COLOURS.length];
          f.points.forEach(function (p, k) {
            var mark = k === f.best && k === f.present ? 'best and now' : k === f.best ? 'best' : k === f.present ? 'now' : '';
            if (training(p) !== n || (alone && !p.on_front && !mark)) return;
            if (alone) rows.push([x(p.time_s[0]), p.energy_j[0], x(p.time_s[1]), x(p.time_s[2]), p.energy_j[1], p.energy_j[2]]);
            points.push({value: [x(p.time_s[0]), p.energy_j[0]], point: k, symbolSize: mark ? 16 : p.on_front ? 10 : 7,
              itemStyle: {opacity: mark || p.on_front ? 1 : 0.45, borderColor: theme.surface, borderWidth: mark ? 1.5 : 0.5},
              label: mark ? {show: true, position: side(p, k === f.best), distance: 8, color: theme.text, fontWeight: 600,
                backgroundColor: theme.surface, padding: [1, 4], formatter: mark + ': ' + power(p)} : {show: false}});
          });
          if (rows.length) option.series.push(crosses(n + ' 95%', rows, colour));
          option.series.push({type: 'scatter', name: n, symbol: a.SYMBOLS[place % a.SYMBOLS.length], itemStyle: {color: colour}, z: 5,
            labelLayout: {moveOverlap: 'shiftY'}, data: points});
        });
        return option;
      },
      // What was recommended and why, under the chart.
      words: function (c) {
        var f = files[c.file], best = f.points[f.best], present = f.points[f.present], words = [];
        if (best === present) words.push('For ' + f.objective + ' the present setting is the best of them.');
        else words.push('Recommended for ' + f.objective + ': ' + training(best) + ', ' + power(best) + '; ' + against(best, present) + '.');
        f.steps.forEach(function (s, i) {
          words.push(s.change + ' saves ' + (i ? 'another ' : '') + a.percent(s.energy[0]) + ' of the energy (' + a.percent(s.energy[1]) + ' to ' +
            a.percent(s.energy[2]) + '), ' + saved(s.time[0], ' slower', ' quicker'));
        });
        f.advice.forEach(function (d) { words.push('Advice: ' + d.what + '; ' + d.evidence); });
        return words;
      },
      rows: function (c) {
        return {header: ['batch', 'recipe', 'power_limit_w', 'clock_mhz', 'energy_j', 'energy_low_j', 'energy_high_j', 'time_s', 'time_low_s', 'time_high_s', 'on_front', 'allowed', 'measured'],
          rows: files[c.file].points.map(function (p) {
            return [p.batch, p.recipe, p.power_limit_w, p.clock_mhz].concat(p.energy_j, p.time_s, [p.on_front, p.allowed, p.measured]);
          })};
      },
      file: function (c) { return 'settings-' + (c.file + 1) + (c.shown ? '-front' : ''); }
    };
    function allNames(f) {
      var names = [];
      f.points.forEach(function (p) { if (names.indexOf(training(p)) < 0) names.push(training(p)); });
      return names;
    }
    // Those that are drawn.
    function namesOf(c) {
      var f = files[c.file];
      return allNames(f).filter(function (n) {
        return c.shown === 0 || f.points.some(function (p, k) { return training(p) === n && (p.on_front || k === f.best || k === f.present); });
      });
    }
  }

  ampere.settingFigures = function (data) {
    var tunings = (data.tunings || []).filter(function (f) { return f.points.length > 0; });
    return tunings.length ? [tuningFigure(tunings)] : [];
  };
})();
