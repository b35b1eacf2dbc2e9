// Fewer channels, so that training fits a budget.
import {html, ampere, useState} from './library.js';
import {set, question, work} from './state.js';
import {post, bytes} from './api.js';
import {frozen} from './frozen.js';
import {useAsked, AskButton} from './asked.js';
import {Slider, Choice, Field, even} from './controls.js';
import {Table, ProblemBox, SaveJson, SaveCsv, Spoken, save} from './parts.js';

const RANKS = [
  ['parameters', 'most parameters'],
  ['flops', 'most FLOPs']
];
const si = ampere.si;

export function PruneView({choices, devices, device}) {
  const answer = useAsked('prune', 'prune');
  const [missing, setMissing] = useState(null);
  const asked = {...question(choices), ...work(choices), device, budget: choices.budget, rank: choices.rank};
  if (choices.multiple) asked.multiple_of = Number(choices.multiple);
  if (choices.risk) asked.risk = choices.risk + '%';
  const key = JSON.stringify(asked);
  const share = /^([\d.]+)%$/.exec(choices.budget);
  const p = answer.value;
  async function download() {
    try {
      setMissing(null);
      const file = p.id && !frozen ? await bytes('networks/' + encodeURIComponent(p.id) + '/file') : JSON.stringify(p.network, null, 2);
      save(ampere.slug(p.model) + '-pruned.json', 'application/json', file);
    } catch (problem) {
      setMissing(problem);
    }
  }
  const change = (name, before, after, text) =>
    html`<div><b>${text(after)}</b><span>${name}, was ${text(before)} (${ampere.percent(after / before)})</span></div>`;
  return html`${!frozen && html`<form class="card" onSubmit=${(e) => {
    e.preventDefault();
    answer.ask(key, (signal) => post('prune', asked, signal), {prune: asked});
  }} aria-labelledby="prune-title">
      <h2 id="prune-title">Prune to a budget</h2>
      <p class="caption">Channels are taken away until training takes no more than the budget. What comes out is a network file to train from scratch or to copy weights into.</p>
      <div class="row">
        <${DeviceChoice} devices=${devices} device=${device} />
        <${Slider} name="budget" label="Budget" unit="% of the energy now" value=${share ? share[1] : ''} off="see beside"
          steps=${even(5, 100, 5)} change=${(v) => v && set({budget: v + '%'})} />
        <${Field} name="budget-text" label="or as energy" value=${share ? '' : choices.budget} placeholder="40J/iter, 2kWh/job"
          change=${(v) => set({budget: v || '50%'})} />
        <${Choice} name="rank" label="Best is the one with" value=${choices.rank} options=${RANKS} change=${(v) => set({rank: v})} />
        <${Slider} name="multiple" label="Channels are multiples of" value=${choices.multiple} off="anything"
          steps=${[2, 4, 8, 16, 32, 64]} change=${(v) => set({multiple: v})} />
        <${Slider} name="risk" label="Chance to exceed it" unit="%" value=${choices.risk} off="even" steps=${[1, 2, 5, 10, 20]}
          change=${(v) => set({risk: v})} />
      </div>
      <${AskButton} answer=${answer} text="Prune" now=${key} />
    </form>`}
    <${ProblemBox} problem=${answer.problem} />
    ${
      p &&
      html`<div class="card" id="prune-answer"><div class="title"><h3>${p.network?.name || p.model}</h3>
        <button type="button" class="main" onClick=${download}>Download the network</button>
        ${p.id && !frozen && html`<button type="button"
          onClick=${() => set({id: p.id, zoo: '', view: 'estimate'}, true)}>Estimate it</button>`}<${SaveJson} name="pruned" value=${p} />
        <${SaveCsv} name="pruned"
          rows=${() => ({header: ['group', 'layers', 'channels_before', 'channels'], rows: p.groups.map((g) => [g.name, g.layers.join(' '), g.channels_before, g.channels])})} /></div>
      <${ProblemBox} problem=${missing} />
      <div class="headline">${p.after.energy_j !== undefined && p.after.energy_j !== null && p.before.energy_j ? change('energy of an iteration', p.before.energy_j, p.after.energy_j, (v) => si(v, 'J')) : null}
        ${p.after.time_s && p.before.time_s ? change('time', p.before.time_s, p.after.time_s, (v) => si(v, 's')) : null}
        ${change('parameters', p.before.parameters, p.after.parameters, (v) => si(v, '').trim())}
        ${change('FLOPs', p.before.flops, p.after.flops, (v) => si(v, '').trim())}</div>
      ${p.unchanged && html`<p class="note">The network fits the budget as it is.</p>`}
      ${p.modelled && html`<p class="note">Energy is modelled here, not measured.</p>`}
      ${p.before.unmeasured > 0.005 && html`<p class="note">${ampere.percent(p.before.unmeasured)} of the energy is of layers that were never measured here.</p>`}
      <${Table} id="groups-table" label="Channels" rows=${p.groups} columns=${[
        {title: 'Channels of', value: (g) => g.layers.join(', '), wide: true},
        {title: 'Before', value: (g) => g.channels_before, number: true},
        {title: 'After', value: (g) => g.channels, number: true},
        {
          title: 'Kept',
          value: (g) => g.channels / g.channels_before,
          text: (g) => ampere.percent(g.channels / g.channels_before),
          number: true
        },
        {title: 'Why not fewer', value: (g) => g.untouched || '', wide: true, from: 42}
      ]} />
      <${Spoken}
        text=${`Pruned: ${si(p.after.energy_j ?? null, 'J')} per iteration instead of ${si(p.before.energy_j ?? null, 'J')}`} /></div>`
    }`;
}

export const DeviceChoice = ({
  devices,
  device
}) => html`<${Choice} name="device" label="On" value=${device} change=${(v) => set({device: v})}
  options=${devices.length ? devices.map((d) => [d.id, d.name]) : [['', 'no device is known']]} />`;
