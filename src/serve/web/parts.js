// Figures, tables and facts of reports as components, and what shows waiting and problems.
import {html, ampere, useEffect, useLayoutEffect, useRef} from './library.js';

// An element that a function of src/report/web makes anew whenever `key` changes.
function Held({make, of}) {
  const holder = useRef();
  useLayoutEffect(() => holder.current.replaceChildren(make()), [of]);
  return html`<div ref=${holder}></div>`;
}
export const Facts = ({pairs}) => html`<${Held} make=${() => ampere.facts(pairs)} of=${JSON.stringify(pairs)} />`;

// Keeps how it was sorted while its rows change.
export function Table({columns, rows, id, label, picked}) {
  const holder = useRef();
  const table = useRef();
  const newest = useRef();
  newest.current = columns;
  useLayoutEffect(() => {
    // Columns may be functions of what is shown now.
    const live = columns.map((c, i) => ({
      ...c,
      value: (row) => newest.current[i].value(row),
      text: c.text ? (row) => newest.current[i].text(row) : undefined,
      picked: c.picked ? (row) => newest.current[i].picked(row) : undefined
    }));
    table.current = ampere.sortable(live, rows, id);
    if (label) table.current.element.setAttribute('aria-label', label);
    holder.current.replaceChildren(table.current.element);
  }, [columns.map((c) => c.title).join()]);
  const first = useRef(true);
  useLayoutEffect(() => {
    if (!first.current) table.current.update(rows);
    first.current = false;
  }, [rows]);
  useLayoutEffect(() => {
    holder.current.querySelectorAll('tbody tr').forEach((row) => row.classList.toggle('picked', Number(row.dataset.row) === picked));
  });
  return html`<div ref=${holder}></div>`;
}

export function Figure({figure, of}) {
  const holder = useRef();
  const entry = useRef();
  useLayoutEffect(() => {
    entry.current = ampere.figureCard(figure, ['csv', 'svg']);
    holder.current.replaceChildren(entry.current.card);
    entry.current.draw();
    const unfollow = ampere.theme.follow(() => entry.current.draw());
    return () => {
      unfollow();
      entry.current.remove();
    };
  }, [figure.id]);
  const drawn = useRef(of);
  useLayoutEffect(() => {
    if (drawn.current !== of) entry.current.set(figure);
    drawn.current = of;
  }, [of]);
  return html`<div ref=${holder}></div>`;
}

export function ProblemBox({problem, children}) {
  if (!problem) return null;
  // The first line says what is wrong, others list things.
  const [first, ...rest] = problem.message.split('\n');
  return html`<div class="problem" role="alert"><p>${sentence(first)}</p>
    ${rest.length > 0 && html`<details><summary>${rest.length} more lines</summary><pre>${rest.join('\n')}</pre>
      </details>`}${children}</div>`;
}
// Names of files and layers, which may come first, stay as they are.
export const sentence = (text) => (/^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text);

export function save(name, type, content) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  const link = ampere.make('a', {href: address, download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}
export const SaveJson = ({name, value}) => html`<button type="button" class="download" title="The server's answer as JSON"
  onClick=${() => save(name + '.json', 'application/json', JSON.stringify(value, null, 2) + '\n')}>JSON</button>`;
export const SaveCsv = ({name, rows}) => html`<button type="button" class="download" title="The numbers as CSV"
  onClick=${() => save(name + '.csv', 'text/csv', ampere.csv(rows()))}>CSV</button>`;

// Says a sentence to those who listen, not for every step of a slider but once it rests.
export function Spoken({text}) {
  const place = useRef();
  useEffect(() => {
    const timer = setTimeout(() => {
      if (place.current) place.current.textContent = text;
    }, 700);
    return () => clearTimeout(timer);
  }, [text]);
  return html`<p class="spoken" role="status" aria-live="polite" ref=${place}></p>`;
}
