// Which network: dropped as a file, or picked from the zoo.
import {html, ampere, useState, useRef, useEffect} from './library.js';
import {upload} from './api.js';
import {set} from './state.js';
import {ProblemBox} from './parts.js';

const sizes = (n) => (n === undefined || n === null ? '' : ampere.si(n, '').trim());

export function NetworkPanel({choices, models, about}) {
  const [over, setOver] = useState(false);
  const [busy, setBusy] = useState('');
  const [problem, setProblem] = useState(null);
  const [pending, setPending] = useState(null); // a file that does not say all by itself
  const input = useRef();
  const last = useRef(null); // what was read last: {file, reading, id}
  const unsized = () => Object.fromEntries(Object.keys(choices).flatMap((key) => (key.startsWith('dim.') ? [[key, '']] : [])));

  async function take(file, reading = []) {
    if (!file) return;
    setBusy(file.name);
    setProblem(null);
    setPending(null);
    try {
      const network = await upload(file, reading);
      last.current = {file, reading, id: network.id};
      set({...unsized(), id: network.id, zoo: '', ...(network.batch > 1 ? {batch: String(network.batch)} : {})}, true);
    } catch (error) {
      setProblem(error);
      const missing = missingOf(error);
      if (missing.length) setPending({file, reading, missing});
    }
    setBusy('');
  }
  // A file may be dropped anywhere on the page.
  useEffect(() => {
    const drag = (e) => {
      if (![...(e.dataTransfer?.types || [])].includes('Files')) return;
      e.preventDefault();
      setOver(e.type !== 'dragleave' || e.relatedTarget !== null);
    };
    const drop = (e) => {
      if (!e.dataTransfer?.files.length) return;
      e.preventDefault();
      setOver(false);
      take(e.dataTransfer.files[0]);
    };
    const all = [
      ['dragover', drag],
      ['dragleave', drag],
      ['drop', drop]
    ];
    all.forEach(([name, f]) => document.addEventListener(name, f));
    return () => all.forEach(([name, f]) => document.removeEventListener(name, f));
  });

  const known = models.find((m) => m.name === choices.zoo.split(':')[0]);
  function pick(name) {
    setProblem(null);
    setPending(null);
    set({...unsized(), zoo: name, id: ''}, true);
  }
  return html`<section class="card" aria-labelledby="network-title">
    <h2 id="network-title">Network</h2>
    <div class=${over ? 'drop over' : 'drop'}>
      <p>${busy ? html`Reading ${busy} …` : html`Drop a network here: ONNX, TorchScript or <span class="nowrap">a network file</span>`}</p>
      <button type="button" onClick=${() => input.current.click()} disabled=${Boolean(busy)}>Choose a file</button>
      <input ref=${input} id="network-file" type="file" accept=".onnx,.pt,.pth,.ts,.json" aria-label="Network file" tabindex="-1"
        onChange=${(e) => {
          take(e.target.files[0]);
          e.target.value = '';
        }} />
    </div>
    <${ProblemBox} problem=${problem} />
    ${
      pending &&
      html`<form class="needs" onSubmit=${(e) => {
        e.preventDefault();
        // Shapes that did not fit are not said again.
        const kept = pending.missing.some((m) => m.kind === 'input') ? pending.reading.filter(([kind]) => kind !== 'input') : pending.reading;
        take(pending.file, [...kept, ...readingOf(pending.missing, e.target.elements)]);
      }}>
      ${pending.missing.map(
        (m, i) =>
          m.hint &&
          html`<div class="control" key=${m.label}><label for=${'needs-' + i}>${m.label}</label>
            <input type="text" id=${'needs-' + i} name=${m.label} placeholder=${m.hint} required autocomplete="off" /></div>`
      )}
      <p class="after"><button type="submit" class="main">${pending.missing[0].hint ? 'Read it so' : pending.missing[0].label}</button></p></form>`
    }
    <div class="control"><label for="zoo">or pick one of the zoo</label>
      <select id="zoo" value=${choices.id ? '' : choices.zoo.split(':')[0]} onChange=${(e) => e.target.value && pick(e.target.value)}>
        ${choices.id ? html`<option value="" selected>a file of yours</option>` : null}
        ${models.map(
          (m) => html`<option value=${m.name}
          selected=${!choices.id && m.name === choices.zoo.split(':')[0]}>${m.name}</option>`
        )}
      </select></div>
    <p class="caption" id="network-about">${
      choices.id
        ? about &&
          html`<b>${about.name}</b>${about.format ? ', ' + about.format : ''}${about.layers ? `, ${count(about.layers)} layers` : ''}${about.parameters ? `, ${sizes(about.parameters)} parameters` : ''}`
        : known && html`<b>${choices.zoo}</b>: ${known.description}${known.weights ? `, ${sizes(known.weights)} parameters` : ''}`
    }</p>
    ${
      choices.id &&
      about &&
      (about.notes || []).length > 0 &&
      html`<ul class="words" id="network-notes">${about.notes.map((note) => html`<li>${note}</li>`)}</ul>
      ${
        last.current &&
        last.current.id === choices.id &&
        about.notes.some((note) => note.includes('restore_batchnorm')) &&
        html`<p class="after"><button type="button"
          onClick=${() => take(last.current.file, [...last.current.reading, ['restore_batchnorm', 'true']])}>Put batch norms back</button></p>`
      }`
    }
  </section>`;
}

// What has to be said of a file beside it, by what the importer misses.
function missingOf(problem) {
  const asks = (field) => (problem.fields || []).includes(field);
  const named = asks('dim') && /names but no sizes: ([^;]+);/.exec(problem.message);
  if (named)
    return [...new Set(named[1].split(',').map((name) => name.trim()))].map((name) => ({
      kind: 'dim',
      label: 'Size of ' + name,
      before: name + '=',
      hint: '224'
    }));
  if (asks('input')) return [{kind: 'input', label: 'Shape of what it reads, without the batch', before: '', hint: '3x224x224'}];
  if (asks('ignore_unsupported')) return [{kind: 'ignore_unsupported', label: 'Go on without them'}];
  return [];
}
// The same as parameters of an upload. Several shapes may stand in one field.
const readingOf = (missing, fields) =>
  missing.flatMap((m) => {
    if (!m.hint) return [[m.kind, 'true']];
    return fields[m.label].value
      .trim()
      .split(/\s+/)
      .map((value) => [m.kind, m.before + value]);
  });
const count = (layers) => (Array.isArray(layers) ? layers.length : layers);
