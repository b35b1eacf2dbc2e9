// Draws figures as SVG without a browser.
function setTimeout() { return 0; }
function clearTimeout() {}
var ampereDrawing = {data: null, figures: [], todo: [], names: {}};
// How many files there will be.
function ampereRead(text) {
  'use strict';
  ampere.still = true;
  ampereDrawing.data = JSON.parse(text);
  ampereDrawing.figures = ampere.figures(ampereDrawing.data);
  ampereDrawing.figures.forEach(function (figure) {
    ampere.exports(figure).forEach(function (choice) {
      // Long names are cut, and may then be equal.
      var wanted = figure.file(choice), name = wanted;
      for (var i = 2; ampereDrawing.names['$' + name]; ++i) name = wanted + '-' + i;
      ampereDrawing.names['$' + name] = true;
      ampereDrawing.todo.push({figure: figure, choice: choice, name: name});
    });
  });
  return ampereDrawing.todo.length;
}
function ampereName(index) { return ampereDrawing.todo[index].name; }
function ampereSvg(index, width) {
  'use strict';
  var one = ampereDrawing.todo[index];
  return ampere.svg(one.figure, one.choice, width);
}
function ampereCsv(index) {
  'use strict';
  var one = ampereDrawing.todo[index];
  return ampere.csv(one.figure.rows(one.choice));
}
