// Devices with what is known of them, and profiling: start it, watch it, stop it, go on.
import {html, ampere, useMemo, useState} from './library.js';
import {get, post} from './api.js';
import {frozen} from './frozen.js';
import {question, work} from './state.js';
import {useAnswer} from './answers.js';
import {Facts, ProblemBox, SaveJson, SaveCsv, Table} from './parts.js';
import {wordsOf} from './estimate_view.js';
import {deviceOf} from './adapt.js';
import {Profiling} from './jobs_view.js';

const percent = ampere.percent;
const flat = (d) => ({...(d.fingerprint || {}), ...d, recipes: (d.recipes || []).map((r) => r.recipe), fingerprint: undefined});

// How well networks of the zoo are known on a device, and what measuring would do for each.
function Knowledge({device, recipe}) {
  const query = new URLSearchParams(recipe).toString(),
    path = `devices/${encodeURIComponent(device.id)}/knowledge${query && '?' + query}`;
  const known = useAnswer(path + device.points, (signal) => get(path, signal), 0);
  const k = known.value;
  return html`<${ProblemBox} problem=${known.problem} />
    ${!k && known.busy && html`<p class="caption">Asking …</p>`}
    ${
      k &&
      html`<p class="caption">${percent(k.coverage) || '0%'} of what the zoo's networks take was measured on it; ${k.told} of ${k.networks.length} can be told. Batch 32.</p>
      <${Table} label=${'Networks on ' + device.name} rows=${k.networks} columns=${[
        {title: 'Network', value: (n) => n.model},
        {
          title: 'Known to',
          value: (n) => n.half_width ?? null,
          text: (n) => (n.half_width === undefined ? 'unknown' : '±' + percent(n.half_width)),
          number: true
        },
        {
          title: 'If measured',
          value: (n) => (n.gain ? n.gain.half_width : null),
          text: (n) => (n.gain ? '±' + percent(n.gain.half_width) : ''),
          number: true
        },
        {
          title: 'Takes',
          value: (n) => (n.gain ? n.gain.time_s : null),
          text: (n) => (n.gain ? ampere.duration(n.gain.time_s) : ''),
          number: true,
          from: 23
        },
        {title: 'Layers', value: (n) => (n.gain ? n.gain.layers : null), text: (n) => (n.gain ? String(n.gain.layers) : ''), number: true, from: 42},
        {title: 'Never measured', value: (n) => n.unmeasured ?? null, text: (n) => percent(n.unmeasured), number: true, from: 42}
      ]} />`
    }`;
}

function DeviceCard({device, name, estimate, busy, recipe}) {
  const [open, setOpen] = useState(false);
  return html`<div class="card device" data-device=${device.id}><div class="title"><h3>${device.name}</h3><span
    class="tag">${(estimate && !estimate.problem ? estimate.modelled : device.modelled) ? 'modelled' : 'metered'}</span></div>
    <div class="headline"><div><b>${device.points}</b><span>measurements</span></div><div><b>${device.kinds}</b>
      <span>kinds of layers and calls</span></div></div>
    <h4>What measuring more would bring for ${name}</h4>
    ${!estimate && html`<p class="caption">${busy ? 'Asking …' : 'Unknown.'}</p>`}
    ${estimate && estimate.problem && html`<p
      class="caption">Nothing can be told of it yet: ${(estimate.problem.detail || estimate.problem.title || '').split('\n')[0]}</p>`}
    ${estimate && !estimate.problem && html`<ul
      class="words">${wordsOf(estimate).length ? wordsOf(estimate).map((w) => html`<li>${w}</li>`) : html`<li>All of its layers are known.</li>`}</ul>`}
    ${!frozen && html`<details class="knowledge" onToggle=${(e) => setOpen(e.target.open)}>
      <summary>How well networks of the zoo are known</summary>${open && html`<${Knowledge} device=${device} recipe=${recipe} />`}</details>`}
    <details><summary>Its profile</summary><${Table} label=${'Profile of ' + device.name} rows=${device.recipes || []} columns=${[
      {title: 'Trained with', value: (r) => r.recipe},
      {title: 'Kinds', value: (r) => r.kinds, number: true},
      {title: 'Points', value: (r) => r.points, number: true}
    ]} /><${Facts} pairs=${ampere.deviceFacts(flat(device))} /></details></div>`;
}

export function DevicesView({choices, devices, refresh, status}) {
  const asked = {...question(choices), ...work(choices), layers: false};
  const known = useAnswer(devices.length ? JSON.stringify([asked, devices]) : null, (signal) => post('estimate', asked, signal), 100);
  const gains = useMemo(
    () => new Map((known.value ? known.value.estimates : []).map((e) => [deviceOf(e, devices).id, e])),
    [known.value, devices]
  );
  const name = choices.id ? 'the network beside' : choices.zoo;
  const recipe = {
    ...(choices.precision === 'default' ? {} : {precision: choices.precision}),
    ...(choices.optimizer === 'sgd' ? {} : {optimizer: choices.optimizer})
  };
  return html`<div class="title"><h2>Devices</h2><${SaveJson} name="devices" value=${devices} />
      <${SaveCsv} name="devices" rows=${() => ({
        header: ['id', 'name', 'type', 'meter', 'modelled', 'points', 'kinds', 'recipes', 'last_used'],
        rows: devices.map((d) => [d.id, d.name, d.type, d.meter, d.modelled, d.points, d.kinds, flat(d).recipes.join(' '), d.last_used])
      })} /></div>
    ${devices.length === 0 && html`<p
      class="note">No device is known yet. ${status && status.can_profile ? 'Start profiling below: a few minutes are enough to estimate any network.' : 'Profile one with ampere profile --minutes 5.'}</p>`}
    <div class="device-cards">${devices.map((d) => html`<${DeviceCard} key=${d.id} device=${d} name=${name} estimate=${gains.get(d.id)}
      busy=${known.busy} recipe=${recipe} />`)}</div>
    <${ProblemBox} problem=${known.problem} />
    ${!frozen && html`<${Profiling} status=${status} choices=${choices} refresh=${refresh} />`}`;
}
