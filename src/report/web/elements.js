// Elements that a report and the page of `ampere serve` are made of. Text from files only ever becomes text.
(function () {
  'use strict';

  ampere.make = function (tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes || {})) {
      if (key === 'text') element.textContent = value;
      else if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  };
  const make = ampere.make;

  // A table that sorts. columns: {title, value: row -> what to sort by, text: row -> what to show, number, wide,
  // from: shown where the table has at least so many rem (of those that page.css knows), so that none is cut,
  // picked: row -> called when the cell, then a button, is pressed}. Returns the element to show and a function that
  // puts other rows in, sorted as before.
  function classOf(column, cell) {
    return [column.number && 'number', cell && !column.number && column.wide && 'wide', column.from && 'from-' + column.from].filter(Boolean).join(' ') || null;
  }
  ampere.sortable = function (columns, rows, id) {
    const body = make('tbody');
    const heads = columns.map((column, index) => make('th', {scope: 'col', class: classOf(column)},
      make('button', {type: 'button', text: column.title, onclick: () => sort(index)})));
    let sorted = null;  // {index, falling}
    function cell(column, row) {
      const text = (column.text ? column.text(row) : column.value(row)) ?? '';
      const classes = {class: classOf(column, true)};
      if (!column.picked) return make('td', {...classes, text: text});
      return make('td', classes, make('button', {type: 'button', class: 'plain', text: text, onclick: () => column.picked(row)}));
    }
    function inOrder() {
      if (!sorted) return rows;
      const of = columns[sorted.index].value;
      return rows.slice().sort((p, q) => {
        const u = of(p), v = of(q);
        if (u === null || u === undefined) return 1;
        if (v === null || v === undefined) return -1;
        const less = typeof u === 'number' ? u - v : String(u).localeCompare(String(v), 'en', {numeric: true});
        return sorted.falling ? -less : less;
      });
    }
    function fill() {
      body.replaceChildren(...inOrder().map((row) => make('tr', {'data-row': rows.indexOf(row)}, ...columns.map((column) => cell(column, row)))));
    }
    function sort(index) {
      const falling = heads[index].getAttribute('aria-sort') === (columns[index].number ? 'descending' : 'ascending')
        ? !columns[index].number : Boolean(columns[index].number);
      heads.forEach((head, i) => {
        if (i === index) head.setAttribute('aria-sort', falling ? 'descending' : 'ascending');
        else head.removeAttribute('aria-sort');
      });
      sorted = {index: index, falling: falling};
      fill();
    }
    fill();
    // What scrolls can be reached with the keyboard.
    const element = make('div', {class: 'scroll', tabindex: '0', role: 'group', 'aria-label': 'Table'},
      make('table', {id: id}, make('thead', {}, make('tr', {}, ...heads)), body));
    return {element: element, update: (other) => { rows = other; fill(); }};
  };
  ampere.table = function (columns, rows, id) { return ampere.sortable(columns, rows, id).element; };

  // A link whose content is made when it is asked for, so that opening a page stays fast.
  ampere.download = function (text, title, type, content) {
    const link = make('a', {class: 'download', href: '#', download: '', text: text, title: title});
    const fill = () => { link.href = 'data:' + type + ';charset=utf-8,' + encodeURIComponent(content()); };
    for (const event of ['pointerdown', 'focus', 'click', 'pointerenter']) link.addEventListener(event, fill);
    return link;
  };

  // Pairs of a name and a value; those that need a line of their own come last, unknown ones are left out.
  ampere.facts = function (pairs) {
    const known = pairs.filter(([, value]) => value !== null && value !== undefined && value !== '');
    const long = (value) => String(value).length > 44;
    known.sort((p, q) => long(p[1]) - long(q[1]));
    return make('dl', {class: 'facts'}, ...known.map(([name, value]) => make('div', {class: long(value) ? 'long' : null},
      make('dt', {text: name}), make('dd', {text: value}))));
  };
})();
