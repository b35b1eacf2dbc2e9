// A figure with its controls, its words and its numbers.
(function () {
  'use strict';
  const make = ampere.make;
  const PRINTED_WIDTH = 860;

  // files: which links to show, of 'csv' and 'svg'. `set` puts another figure of the same choices in, such as one of newer
  // data. Nothing is drawn before draw(), for which the card has to be on the page.
  ampere.figureCard = function (figure, files) {
    const choice = ampere.usual(figure);
    const holder = make('div', {class: 'chart', id: 'chart-' + figure.id, role: 'img', 'aria-label': figure.title});
    const controls = make('div', {class: 'controls'});
    const words = make('ul', {class: 'words'});
    const csv = ampere.download('CSV', 'The numbers of this figure as CSV', 'text/csv', () => ampere.csv(figure.rows(choice)));
    const svg = ampere.download('SVG', 'This figure as SVG', 'image/svg+xml', () => ampere.svg(figure, choice, PRINTED_WIDTH));
    let chart = null;
    let drawn = '';
    const sliders = [];
    function draw() {
      // Paper gets the same width whatever the screen had, made to fit by the style sheet.
      const printing = ampere.theme.printing();
      const width = printing ? PRINTED_WIDTH : Math.max(240, holder.clientWidth);
      const height = figure.height(choice, width);
      const state = [ampere.theme.name(), width, JSON.stringify(choice)].join();
      if (state === drawn) return;
      drawn = state;
      holder.style.height = height + 'px';
      if (!chart) chart = echarts.init(holder, null, {renderer: 'svg', width: width, height: height});
      else chart.resize({width: width, height: height});
      chart.setOption(figure.option(choice, ampere.theme.colours(), width), {notMerge: true});
      const picture = holder.querySelector('svg');
      if (printing) picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
      else picture.removeAttribute('viewBox');
      csv.download = figure.file(choice) + '.csv';
      svg.download = figure.file(choice) + '.svg';
      words.replaceChildren(...(figure.words ? figure.words(choice) : []).map((sentence) => make('li', {text: sentence})));
      sliders.forEach((update) => update());
    }
    function fillControls() {
      controls.replaceChildren();
      sliders.length = 0;
      for (const c of figure.choices) {
        const label = make('label', {text: c.label});
        if (c.slider) {
          const output = make('output');
          const input = make('input', {type: 'range', min: 0, max: c.count - 1, value: choice[c.name], 'data-choice': c.name,
            oninput: () => { choice[c.name] = Number(input.value); draw(); }});
          label.append(input);
          controls.append(label, output);
          sliders.push(() => {
            input.max = c.limit(choice) - 1;
            choice[c.name] = Math.min(choice[c.name], c.limit(choice) - 1);
            input.value = choice[c.name];
            output.textContent = c.text(choice);
          });
        } else {
          const select = make('select', {'data-choice': c.name,
            onchange: () => { choice[c.name] = select.selectedIndex; label.dataset.shown = c.options[choice[c.name]]; draw(); }},
          ...c.options.map((name) => make('option', {text: name})));
          select.selectedIndex = choice[c.name];
          label.dataset.shown = c.options[choice[c.name]];
          label.append(select);
          if (c.options.length > 1) controls.append(label);
        }
      }
      if (files.includes('csv')) controls.append(csv);
      if (files.includes('svg')) controls.append(svg);
    }
    fillControls();
    const title = make('h3', {text: figure.title});
    const card = make('figure', {class: 'card', id: 'figure-' + figure.id},
      title, make('p', {class: 'caption', text: figure.caption}), controls, holder, figure.words ? words : null);
    return {
      id: figure.id, card: card, draw: draw, chart: () => chart, choice: choice,
      set: (other) => {
        const changed = JSON.stringify(other.choices) !== JSON.stringify(figure.choices);
        figure = other;
        for (const c of figure.choices) {
          if (c.options) choice[c.name] = Math.min(choice[c.name], c.options.length - 1);
        }
        if (changed) fillControls();
        drawn = '';
        draw();
      },
      remove: () => { if (chart) chart.dispose(); }
    };
  };
})();
