// Devices with what is known of them, and profiling: start it, watch it, stop it, go on.
import {html, ampere, useMemo} from './library.js';
import {get, post} from './api.js';
import {question, work} from './state.js';
import {useAnswer} from './answers.js';
import {Facts, ProblemBox, SaveJson, SaveCsv} from './parts.js';
import {wordsOf} from './estimate_view.js';
import {deviceOf} from './adapt.js';
import {Profiling} from './jobs_view.js';

const percent = ampere.percent;

// What the server says of how well a device is known, in words; it may say less.
function knowledge(d) {
  const words = [];
  for (const r of Array.isArray(d.coverage) ? d.coverage : []) {
    words.push(`${r.recipe || r.precision || 'All'}: ${[r.points !== undefined && r.points + ' points', r.kinds !== undefined && r.kinds + ' kinds of layers', r.networks && r.networks + ' whole networks'].filter(Boolean).join(', ')}`);
  }
  if (typeof d.coverage === 'string') words.push(d.coverage);
  if (typeof d.coverage === 'number') words.push(`${percent(d.coverage)} of the kinds of calls are known`);
  return words;
}
const recipesOf = (d) => (d.recipes || []).map((r) => (typeof r === 'string' ? r : r.recipe || r.name)).filter(Boolean);
export const flat = (d) => ({...(d.fingerprint || {}), ...d, recipes: recipesOf(d), fingerprint: undefined});

export function DevicesView({choices, devices, refresh, status, models}) {
  const asked = {...question(choices), ...work(choices)};
  const known = useAnswer(devices.length ? JSON.stringify([asked, devices.length]) : null, (signal) => post('estimate', asked, signal), 100);
  const store = useAnswer('store', (signal) => get('store', signal));
  const gains = useMemo(() => new Map((known.value ? known.value.estimates : []).map((e) => [deviceOf(e, devices).id, e])), [known.value, devices]);
  const name = choices.id ? 'the network beside' : choices.zoo;
  return html`<div class="title"><h2>Devices</h2><${SaveJson} name="devices" value=${devices} />
      <${SaveCsv} name="devices" rows=${() => ({header: ['id', 'name', 'type', 'meter', 'modelled', 'points', 'kinds', 'recipes', 'last_used'], rows: devices.map((d) => {
        const f = flat(d);
        return [f.id, f.name, f.type, f.meter, f.modelled, f.points, f.kinds ?? f.surfaces, f.recipes.join(' '), f.last_used];
      })})} /></div>
    ${store.value && store.value.points !== undefined && html`<p class="caption">${store.value.points} measurements of ${devices.length} ${devices.length === 1 ? 'device' : 'devices'} are in the store.</p>`}
    ${devices.length === 0 && html`<p class="note">No device is known yet. Start profiling below: a few minutes are enough to estimate any network.</p>`}
    <div class="devices">${devices.map((d) => {
      const e = gains.get(d.id), points = d.points ?? 0, kinds = d.kinds ?? d.surfaces;
      return html`<div class="card device" key=${d.id} data-device=${d.id}><div class="title"><h3>${d.name}</h3><span class="tag">${d.modelled ? 'modelled' : 'measured'}</span></div>
        <div class="headline"><div><b>${points}</b><span>measurements</span></div>${kinds !== undefined && html`<div><b>${typeof kinds === 'object' ? Object.keys(kinds).length : kinds}</b><span>kinds of layers and calls</span></div>`}</div>
        ${knowledge(d).length > 0 && html`<ul class="words">${knowledge(d).map((w) => html`<li>${w}</li>`)}</ul>`}
        <h4>What measuring more would bring for ${name}</h4>
        ${!e && html`<p class="caption">${known.busy ? 'Asking …' : 'Unknown.'}</p>`}
        ${e && e.problem && html`<p class="caption">Nothing can be told of it yet: ${e.problem.detail ? e.problem.detail.split('\n')[0] : e.problem.title}</p>`}
        ${e && !e.problem && html`<ul class="words">${wordsOf(e).length ? wordsOf(e).map((w) => html`<li>${w}</li>`) : html`<li>All of its layers are known.</li>`}</ul>`}
        <details><summary>All that is known of the device</summary><${Facts} pairs=${ampere.deviceFacts(flat(d))} /></details></div>`;
    })}</div>
    <${ProblemBox} problem=${known.problem} />
    <${Profiling} status=${status} choices=${choices} refresh=${refresh} models=${models} devices=${devices} />`;
}
