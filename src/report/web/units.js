// Numbers and words that all figures share. ECMAScript 5, because Duktape runs it too.
var ampere = {};
(function () {
  'use strict';

  var PREFIXES = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'µ'], [1e-9, 'n']];

  // "1.23 mJ": three digits and the prefix that suits.
  ampere.si = function (value, unit) {
    if (value === null || value === undefined || !isFinite(value)) return 'unknown';
    if (value === 0) return '0 ' + unit;
    var size = Math.abs(value);
    for (var i = 0; i < PREFIXES.length; ++i) {
      if (size < PREFIXES[i][0] * 0.9995 && i + 1 < PREFIXES.length) continue;
      var shown = value / PREFIXES[i][0];
      var digits = Math.abs(shown) < 9.995 ? 2 : Math.abs(shown) < 99.95 ? 1 : 0;
      return shown.toFixed(digits) + ' ' + PREFIXES[i][1] + unit;
    }
  };
  // For axes: "2 mJ" instead of "2.00 mJ".
  ampere.siTick = function (value, unit) {
    return ampere.si(value, unit).replace(/\.0+ /, ' ').replace(/(\.\d*[1-9])0+ /, '$1 ');
  };
  ampere.percent = function (fraction) {
    if (fraction === null || fraction === undefined || !isFinite(fraction)) return '';
    return (100 * fraction).toFixed(Math.abs(fraction) < 0.0995 ? 1 : 0) + '%';
  };
  ampere.duration = function (seconds) {
    var s = Math.round(Math.max(0, seconds));
    if (s < 60) return s + ' s';
    if (s < 3600) return Math.floor(s / 60) + ' min ' + s % 60 + ' s';
    return Math.floor(s / 3600) + ' h ' + Math.floor(s % 3600 / 60) + ' min';
  };

  ampere.QUANTITIES = {
    energy_j: {label: 'Energy', axis: 'energy per iteration', unit: 'J'},
    time_s: {label: 'Time', axis: 'time per iteration', unit: 's'}
  };

  // Text from files that goes where the chart library reads markup.
  ampere.escape = function (text) {
    return String(text).replace(/[&<>"']/g, function (c) {
      return {'&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;'}[c];
    });
  };
  // Lines of a tooltip, all of them text.
  ampere.lines = function () {
    return Array.prototype.map.call(arguments, ampere.escape).join('<br>');
  };

  // Okabe and Ito's colours, which most colour-blind readers can tell apart; shapes differ as well.
  ampere.COLOURS = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#7a7a7a', '#a6761d'];
  ampere.SYMBOLS = ['circle', 'triangle', 'rect', 'diamond', 'path://M0,0L10,0L5,9Z', 'path://M4,0h2v4h4v2h-4v4h-2v-4h-4v-2h4Z',
    'path://M3,0L7,0L10,5L7,10L3,10L0,5Z', 'path://M0,3L5,0L10,3L10,7L5,10L0,7Z'];
  var METHODS = ['split', 'paper', 'split-probe', 'neuralpower', 'flops-affine', 'split-exact', 'flops', 'flops-bytes'];
  function placeOf(method) {
    var at = METHODS.indexOf(method === 'paper-replay' ? 'paper' : method);  // never in one figure
    if (at >= 0) return at;
    var sum = 0;
    for (var i = 0; i < method.length; ++i) sum += method.charCodeAt(i);
    return sum % METHODS.length;
  }
  // A method looks the same in all figures.
  ampere.colourOf = function (method) { return ampere.COLOURS[placeOf(method)]; };
  ampere.symbolOf = function (method) { return ampere.SYMBOLS[placeOf(method)]; };
  // In the order readers should meet them: ours, the paper's, baselines.
  ampere.inOrder = function (methods) {
    var order = ['split', 'split-probe', 'split-exact', 'paper', 'paper-replay', 'neuralpower', 'flops', 'flops-affine', 'flops-bytes'];
    return methods.slice().sort(function (a, b) {
      var i = order.indexOf(a), j = order.indexOf(b);
      return (i < 0 ? 99 : i) - (j < 0 ? 99 : j) || (a < b ? -1 : 1);
    });
  };

  // Both scales run evenly from dark to light and can be told apart without colour.
  ampere.VIRIDIS = ['#440154', '#46327e', '#365c8d', '#277f8e', '#1fa187', '#4ac16d', '#a0da39', '#fde725'];
  ampere.CIVIDIS = ['#00224e', '#1a386f', '#434e6c', '#666970', '#838079', '#a69d75', '#cbba69', '#fee838'];

  ampere.THEMES = {
    light: {text: '#1c2330', muted: '#5a6475', line: '#d5dae3', surface: '#ffffff', strong: '#1c2330', shade: '#9fb4cc'},
    dark: {text: '#e6e9ef', muted: '#a3adbd', line: '#3a4353', surface: '#171c25', strong: '#ffffff', shade: '#4a6a8c'}
  };

  ampere.label = function (evaluation) {
    var mode = (evaluation.mode === 'replay' ? ' replayed' : '') + (/autotune/.test(evaluation.recipe) ? ' autotuned' : '');
    return evaluation.model + ' b' + evaluation.batch + mode;
  };

  // A name that can be a file's.
  ampere.slug = function (text) {
    return String(text).toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').substr(0, 80);
  };

  // What every chart starts from.
  ampere.base = function (theme) {
    return {
      animation: false,
      backgroundColor: 'transparent',
      textStyle: {color: theme.text, fontFamily: 'system-ui, sans-serif'},
      aria: {enabled: true},
      tooltip: {
        confine: true,
        backgroundColor: theme.surface,
        borderColor: theme.line,
        textStyle: {color: theme.text, fontSize: 13}
      }
    };
  };
  ampere.legend = function (theme, names, more) {
    var legend = {top: 0, left: 'center', type: 'scroll', data: names, textStyle: {color: theme.text}, itemGap: 14,
      pageTextStyle: {color: theme.text}, pageIconColor: theme.text, pageIconInactiveColor: theme.line};
    for (var key in more || {}) legend[key] = more[key];
    return legend;
  };
  ampere.axis = function (theme, name, more) {
    var axis = {
      type: 'value', name: name, nameLocation: 'middle', nameGap: 30,
      nameTextStyle: {color: theme.muted, fontSize: 12},
      axisLabel: {color: theme.muted, hideOverlap: true},
      axisLine: {show: true, lineStyle: {color: theme.muted}},
      splitLine: {lineStyle: {color: theme.line}}
    };
    for (var key in more || {}) {
      if (key === 'axisLabel') {
        for (var inner in more.axisLabel) axis.axisLabel[inner] = more.axisLabel[inner];
      } else {
        axis[key] = more[key];
      }
    }
    return axis;
  };
  // The end of an axis that starts at zero, and its steps: round numbers.
  ampere.round = function (value) {
    if (!(value > 0)) return {max: 1e-9, interval: 1e-9};
    var power = Math.pow(10, Math.floor(Math.log(value) / Math.LN10));
    var ends = [[1, 5], [1.2, 4], [1.5, 3], [2, 4], [2.5, 5], [3, 3], [4, 4], [5, 5], [6, 3], [8, 4], [10, 5]];
    for (var i = 0; i < ends.length; ++i) {
      // A little more, because 0.1 * 3 is not 0.3.
      if (ends[i][0] * power * 1.000001 >= value) return {max: ends[i][0] * power, interval: ends[i][0] * power / ends[i][1]};
    }
    return {max: 10 * power, interval: 2 * power};
  };
  ampere.unitLabel = function (unit) {
    return {formatter: function (v) { return ampere.siTick(v, unit); }};
  };
  // Vertical bars from low to high at x: dimensions 0, 1 and 2 of the data.
  ampere.whiskers = function (name, data, colour, more) {
    var series = {
      type: 'custom', name: name, data: data, silent: true, z: 1, encode: {x: 0, y: [1, 2]}, itemStyle: {color: colour},
      renderItem: function (params, api) {
        var low = api.coord([api.value(0), api.value(1)]), high = api.coord([api.value(0), api.value(2)]);
        return {type: 'line', shape: {x1: low[0], y1: low[1], x2: high[0], y2: high[1]},
          style: {stroke: colour, lineWidth: 1.2, opacity: 0.6}};
      }
    };
    for (var key in more || {}) series[key] = more[key];
    return series;
  };
})();
