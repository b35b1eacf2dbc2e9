// What training costs on each device, and where the joules go.
import {html, ampere, useState, useMemo, useEffect} from './library.js';
import {set, estimateQuestion} from './state.js';
import {frozen} from './frozen.js';
import {post} from './api.js';
import {useAnswer} from './answers.js';
import {Figure, Table, ProblemBox, SaveJson, SaveCsv, Spoken} from './parts.js';
import {compareFigure, SPANS, valueOf, textOf} from './compare_figures.js';
import {estimateOf, deviceOf, graphOf} from './adapt.js';
import {GraphCard} from './graph_view.js';
import {layout} from './layout.js';

const COLUMNS = [
  ['energy', 'Energy'],
  ['time', 'Time'],
  ['cost', 'Cost'],
  ['carbon', 'CO2e']
];

function DeviceCard({row, currency, shown}) {
  const e = row.estimate,
    columns = COLUMNS.filter(([q]) => valueOf(e, 'iteration', q)),
    spans = SPANS.filter(([span]) => e[span]);
  const energy = valueOf(e, 'iteration', 'energy'),
    time = valueOf(e, 'iteration', 'time');
  return html`<div class=${shown ? 'card device shown' : 'card device'} data-device=${row.id}>
    <div class="title"><h3>${row.name}</h3><span
      class="tag">${row.sheet ? 'by data sheet' : e.modelled ? 'modelled' : 'metered'}</span></div>
    <div class="headline"><div><b>${ampere.si(energy[0], 'J')}</b>
      <span>per iteration (95%: ${ampere.si(energy[1], 'J')} to ${ampere.si(energy[2], 'J')})</span></div>
      <div><b>${ampere.si(time[0], 's')}</b><span>per iteration</span></div></div>
    <div class="scroll" tabindex="0" role="group" aria-label=${'Figures of ' + row.name}><table><thead><tr><td>
      </td>${spans.map(([, , words]) => html`<th scope="col" class="number">${words}</th>`)}</tr></thead>
      <tbody>${columns.map(
        ([q, title]) =>
          html`<tr><th scope="row">${title}</th>${spans.map(([span]) => {
            const v = valueOf(e, span, q),
              text = (x) => textOf(x, q, currency).replace(/ /g, '\u00a0');
            return html`<td class="number" data-value=${`${span}-${q}`}><b>${text(v[0])}</b>
              <small>${text(v[1])} to\u00a0${text(v[2])}</small></td>`;
          })}</tr>`
      )}</tbody></table></div>
    <ul class="words">${wordsOf(e, row.sheet).map((w) => html`<li>${w}</li>`)}</ul>
    <p class="after"><button type="button" aria-pressed=${shown ? 'true' : 'false'}
      onClick=${() => set({shown: row.id})}>${shown ? 'Its layers are shown below' : 'Show its layers'}</button></p></div>`;
}

// How sure it is, and what a minute more of measuring would do for it.
export function wordsOf(e, sheet) {
  const words = sheet ? ['Nobody measured it: told by its data sheet, from how others do against theirs.'] : [];
  if (e.unmeasured > 0.005 && !sheet)
    words.push(`${ampere.percent(e.unmeasured)} of this energy is of layers that were never measured here.`);
  if (e.gain && e.gain.layers > 0) {
    const now = e.iteration,
      off = (low, high, v) => `−${ampere.percent((v - low) / v)} +${ampere.percent((high - v) / v)}`;
    words.push(
      `Measuring ${e.gain.layers} layers, about ${ampere.duration(e.gain.time_s)}, ` +
        `would make its interval ${off(e.gain.energy_low_j, e.gain.energy_high_j, now.energy_j)} ` +
        `instead of ${off(now.energy_low_j, now.energy_high_j, now.energy_j)}.`
    );
  }
  words.push(...ampere.estimateNotes({...estimateOf(e), ...(sheet ? {modelled: false} : {})}));
  return words;
}

export function EstimateView({choices, devices, sheets}) {
  const asked = estimateQuestion(choices, devices);
  const wanted = choices.sheets.split(',').filter(Boolean);
  const key = JSON.stringify(asked);
  const answer = useAnswer(key, (signal) => post('estimate', asked, signal));
  const {network: which, batch, dims} = asked,
    about = {network: which, batch, ...(dims ? {dims} : {})};
  const graph = useAnswer(JSON.stringify(about), (signal) => post('layers', about, signal), 120);
  const [picked, setPicked] = useState(-1);
  useEffect(() => setPicked(-1), [JSON.stringify(about.network)]);

  const rows = useMemo(
    () =>
      (answer.value ? answer.value.estimates : []).map((e) => ({
        ...deviceOf(e, [...devices, ...sheets]),
        estimate: e.problem ? null : e,
        problem: e.problem,
        sheet: sheets.some((s) => s.id === e.asked)
      })),
    [answer.value, devices]
  );
  const told = rows.filter((r) => r.estimate);
  const shown = told.find((r) => r.id === choices.shown) || told[0];
  const detail = useMemo(() => shown && estimateOf(shown.estimate), [shown && shown.estimate]);
  const currency = told.length ? told[0].estimate.iteration.currency : '';
  const drawn = useMemo(() => told.length > 0 && compareFigure(told, currency), [answer.value]);
  const bars = useMemo(() => detail && detail.layers.length > 0 && ampere.surfaceFigures({estimates: [detail], surfaces: []})[0], [detail]);
  const network = useMemo(() => graph.value && drawable(graphOf(graph.value)), [graph.value]);
  // What matters most first; narrow screens see no more.
  const all = detail ? ampere.layerColumns(detail.energy_j[0]) : [];
  const columns = detail
    ? ['Layer', 'Share', 'Energy', '95% interval', 'Time', 'In', 'Out', 'Kind', 'Role'].map((title) => all.find((c) => c.title === title))
    : [];
  if (columns.length)
    columns[0] = {...columns[0], picked: (l) => setPicked(network ? network.layers.findIndex((n) => n.name === l.name) : -1)};
  const pickedRow = network && picked >= 0 && detail ? detail.layers.findIndex((l) => l.name === network.layers[picked].name) : -1;
  const spoken = told
    .map(
      (r) =>
        `${r.name}: ${ampere.si(r.estimate.iteration.energy_j, 'J')} per iteration, ${ampere.si((r.estimate.job || r.estimate.iteration).energy_j, 'J')} for the job`
    )
    .join('. ');

  return html`<div class=${answer.busy ? 'answer busy' : 'answer'} data-busy=${answer.busy || graph.busy ? 'yes' : 'no'}>
    <${Spoken} text=${answer.problem ? '' : spoken} />
    <${ProblemBox} problem=${answer.problem} />
    ${shown && html`<button type="button" class="peek" tabindex="-1" aria-hidden="true"
      onClick=${() => document.querySelector('.answers').scrollIntoView()}>
      <b>${ampere.si(shown.estimate.iteration.energy_j, 'J')}</b>${' an iteration, '}<b>${ampere.si((shown.estimate.job || shown.estimate.iteration).energy_j, 'J')}</b>${' the job on ' + shown.name}</button>`}
    ${told.length > 0 && html`<div class="title"><h2>What it costs</h2><${SaveJson} name="estimates" value=${answer.value} /></div>`}
    ${answer.value && devices.length === 0 && told.length === 0 && html`<p
      class="note">No device is known here yet. Profile one under <a
      href="#view=devices">Devices</a>, or import a profile with <code>ampere store import</code>.</p>`}
    <div class="device-cards">${told.map((row) => html`<${DeviceCard} key=${row.id} row=${row} currency=${currency}
      shown=${row === shown} />`)}</div>
    ${rows.filter((r) => r.problem).map((r) => html`<div class="card untold" key=${r.id} data-device=${r.id}><h3>${r.name}</h3>
      <${ProblemBox} problem=${{message: r.problem.detail || r.problem.title || 'No reason was given'}} /></div>`)}
    ${
      sheets.length > 0 &&
      !frozen &&
      html`<details class="card" open=${wanted.length > 0}><summary>Devices that nobody measured, by their data sheets</summary><div
        class="checks">${sheets.map(
        (s) => html`<label key=${s.id}><input type="checkbox"
      checked=${wanted.includes(s.id)}
        onChange=${(e) => set({sheets: (e.target.checked ? [...wanted, s.id] : wanted.filter((w) => w !== s.id)).join(',')})} /> ${s.name}</label>`
      )}</div></details>`
    }
    ${drawn && told.length > 1 && html`<${Figure} figure=${drawn} of=${answer.value} />`}
    ${
      detail &&
      detail.layers.length > 0 &&
      html`<h2>Where the joules go on ${shown.name}</h2>
      <div class=${network && network.placed.width < 380 ? 'beside' : ''}>
        ${network && html`<${GraphCard} graph=${network} estimate=${detail} device=${shown.name} picked=${picked} pick=${setPicked} />`}
        <div class="card" id="layer-table"><div class="title"><h3>Layer by layer</h3><${SaveCsv} name="layers"
          rows=${() => bars.rows({network: 0, quantity: 0})} /></div>
          <${Table} columns=${columns} rows=${detail.layers} id="layers-table" label="Layers" picked=${pickedRow} /></div>
      </div>
      <${Figure} figure=${bars} of=${detail} />`
    }
    ${graph.problem && !answer.problem && html`<${ProblemBox} problem=${graph.problem} />`}
  </div>`;
}

const drawable = (graph) => ({...graph, placed: layout(graph.layers.length, graph.edges)});
