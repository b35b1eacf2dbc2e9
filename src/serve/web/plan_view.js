// Several jobs on several devices: which runs where and when, so that no battery dies.
import {html, ampere, useMemo, useState} from './library.js';
import {set, zooName, work, money, USUAL} from './state.js';
import {post} from './api.js';
import {frozen} from './frozen.js';
import {useAsked, AskButton} from './asked.js';
import {Figure, Table, ProblemBox, SaveJson, Spoken, save} from './parts.js';
import {planFigure, batteryFigure} from './plan_figures.js';
import {Slider} from './controls.js';

// What stands there first: the devices that are known, and the network beside.
function first(choices, devices) {
  const network = {network: choices.id || zooName(choices)};
  return {
    devices: (devices.length ? devices : [{id: '', name: 'device'}]).map((d) => ({name: d.name, ...(d.id ? {profile: d.id} : {})})),
    jobs: [{name: 'first job', ...network, batch: Math.round(Number(choices.batch)) || 1, ...work(choices), value: 1}]
  };
}

const DEVICE_FIELDS = [
  ['name', 'Name', 'phone'],
  ['profile', 'Profile', 'id'],
  ['battery.capacity', 'Battery', 'mains'],
  ['battery.charge', 'Charge', ''],
  ['battery.reserve', 'Reserve', ''],
  ['charger.power', 'Charger', '']
];
const JOB_FIELDS = [
  ['name', 'Name', 'job'],
  ['network', 'Network', 'resnet18'],
  ['batch', 'Batch', '1', true],
  ['samples', 'Samples', '50000', true],
  ['epochs', 'Epochs', '1', true],
  ['deadline', 'Deadline', '8h'],
  ['earliest', 'Earliest', '0h'],
  ['value', 'Value', '1', true]
];
const read = (object, path) => path.split('.').reduce((o, k) => (o && typeof o === 'object' ? o[k] : undefined), object);
function written(object, path, value) {
  const [key, ...rest] = path.split('.'),
    copy = {...object};
  if (rest.length) copy[key] = written(object[key] || {}, rest.join('.'), value);
  else if (value === '') delete copy[key];
  else copy[key] = value;
  if (rest.length && Object.keys(copy[key]).length === 0) delete copy[key];
  return copy;
}

// A jobs file may have the beginning of an id.
const profileOf = (row, profiles) => (row.profile && profiles.find((p) => p.id.startsWith(row.profile))?.id) || '';

function Rows({title, what, fields, rows, change, profiles}) {
  const edit = (i, path, numeric) => (e) => {
    const text = e.target.value.trim(),
      value = numeric && text !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    change(rows.map((row, k) => (k === i ? written(row, path, value) : row)));
  };
  return html`<h3>${title}</h3><div class="scroll" tabindex="0" role="group" aria-label=${title}><table class="edit"><thead>
    <tr>${fields.map(([, label]) => html`<th scope="col">${label}</th>`)}<th scope="col"><span class="spoken">Remove</span></th></tr>
    </thead>
    <tbody>${rows.map(
      (row, i) => html`<tr key=${i}>${fields.map(
        ([path, label, hint, numeric]) =>
          html`<td data-label=${label}>${
            path === 'profile' && profiles.length
              ? html`<select aria-label=${`${label} of ${what} ${i + 1}`} value=${profileOf(row, profiles)} onChange=${edit(i, path)}>
                <option value="">none</option>${profiles.map((p) => html`<option value=${p.id}
                selected=${p.id === profileOf(row, profiles)}>${p.name}</option>`)}</select>`
              : html`<input type="text" size=${numeric ? 7 : path === 'name' ? 17 : 11} aria-label=${`${label} of ${what} ${i + 1}`}
                value=${read(row, path) ?? ''} placeholder=${row.cost || row.costs ? '' : hint} onChange=${edit(i, path, numeric)} />`
          }</td>`
      )}
      <td><button type="button" aria-label=${`Remove ${what} ${i + 1}`}
        onClick=${() => change(rows.filter((_, k) => k !== i))}>✕</button></td></tr>`
    )}</tbody></table></div>
    <p class="after"><button type="button"
      onClick=${() => change([...rows, {...(what === 'job' && rows.length ? rows[rows.length - 1] : {}), name: `${what} ${rows.length + 1}`}])}>Add a ${what}</button></p>`;
}

export function PlanView({choices, devices}) {
  const answer = useAsked('plan', 'schedule');
  const [wrong, setWrong] = useState('');
  const file = useMemo(() => {
    try {
      if (choices.jobs) return JSON.parse(choices.jobs);
    } catch {
      /* a damaged link */
    }
    return first(choices, devices);
  }, [choices.jobs, devices]);
  const put = (changed) => set({jobs: JSON.stringify(changed)});
  const options = {...(choices.planrisk ? {risk: choices.planrisk + '%'} : {}), ...money(choices)};
  const query = new URLSearchParams(options).toString();
  const key = JSON.stringify([file, query]);
  const plan = answer.value;
  const shown = useMemo(() => plan && {gantt: planFigure(plan), batteries: batteryFigure(plan, JSON.parse(answer.of)[0])}, [plan]);
  const si = ampere.si;
  return html`${!frozen && html`<form class="card" onSubmit=${(e) => {
    e.preventDefault();
    answer.ask(key, (signal) => post('schedule' + (query && '?' + query), file, signal), {schedule: file, schedule_options: options});
  }} aria-labelledby="plan-title">
      <h2 id="plan-title">Plan jobs</h2>
      <p class="caption">Quantities are text with their unit: 15Wh, 18W, 8h. Devices without a battery hang on the mains.</p>
      <${Rows} title="Devices" what="device" fields=${DEVICE_FIELDS} rows=${Array.isArray(file.devices) ? file.devices : []}
        change=${(rows) => put({...file, devices: rows})} profiles=${devices} />
      <${Rows} title="Jobs" what="job" fields=${JOB_FIELDS} rows=${Array.isArray(file.jobs) ? file.jobs : []}
        change=${(rows) => put({...file, jobs: rows})} profiles=${[]} />
      <div class="row"><${Slider} name="planrisk" label="Risk of a dead battery or a late job" unit="%" off="5" value=${choices.planrisk}
        steps=${[0.1, 1, 2, 5, 10, 20]} change=${(v) => set({planrisk: v})} /></div>
      <details><summary>The jobs file</summary><label class="control wide"><span>All fields of a jobs file may be written here</span>
        <textarea rows="14" spellcheck=${false} value=${JSON.stringify(file, null, 2)} onChange=${(e) => {
          try {
            put(JSON.parse(e.target.value));
            setWrong('');
          } catch (error) {
            setWrong(error.message);
          }
        }}></textarea></label>${wrong && html`<${ProblemBox} problem=${{message: 'This is not JSON: ' + wrong}} />`}
        <p class="after"><button type="button"
          onClick=${() => save('jobs.json', 'application/json', JSON.stringify(file, null, 2) + '\n')}>Download the jobs file</button>
          <button type="button" onClick=${() => set({jobs: USUAL.jobs})}>Start anew</button></p></details>
      <${AskButton} answer=${answer} text="Plan" now=${key} />
    </form>`}
    <${ProblemBox} problem=${answer.problem} />
    ${
      plan &&
      html`<div id="plan-answer"><div class="title"><h2>The plan</h2><${SaveJson} name="plan" value=${plan} /></div>
      <p class="note"
        role="status">${summary(plan)}</p>
      ${plan.jobs.length > 0 && html`<${Figure} figure=${shown.gantt} of=${plan} />`}
      ${shown.batteries && html`<${Figure} figure=${shown.batteries} of=${plan} />`}
      ${
        plan.jobs.length > 0 &&
        html`<div class="card"><h3>Planned</h3><${Table} id="plan-table" label="Planned jobs" rows=${plan.jobs} columns=${[
          {title: 'Job', value: (j) => j.name, wide: true},
          {title: 'Device', value: (j) => j.device, wide: true, from: 30},
          {title: 'Start', value: (j) => j.start_s, text: (j) => ampere.duration(j.start_s), number: true, from: 30},
          {title: 'End', value: (j) => j.end_s, text: (j) => ampere.duration(j.end_s), number: true},
          {title: 'Energy', value: (j) => j.energy_j, text: (j) => si(j.energy_j, 'J'), number: true},
          {title: 'Set aside', value: (j) => j.energy_set_aside_j, text: (j) => si(j.energy_set_aside_j, 'J'), number: true, from: 42},
          {
            title: 'Battery after',
            value: (j) => j.battery_after_j,
            text: (j) => (j.battery_after_j === null ? '' : si(j.battery_after_j / 3600, 'Wh')),
            number: true,
            from: 42
          }
        ]} /></div>`
      }
      ${
        plan.refused.length > 0 &&
        html`<div class="card"><h3>Refused</h3><${Table} id="refused-table" label="Refused jobs" rows=${plan.refused} columns=${[
          {title: 'Job', value: (j) => j.name, wide: true},
          {title: 'Why', value: (j) => j.text || j.reason, wide: true}
        ]} /></div>`
      }</div>`
    }`;
}

function summary(plan) {
  const energy = ampere.range([plan.energy_j, plan.energy_low_j, plan.energy_high_j], 'J');
  return (
    `${plan.jobs.length} of ${plan.jobs.length + plan.refused.length} jobs are planned, ${energy}.` +
    (plan.optimal ? ' No plan has more value.' : '') +
    (plan.holds ? '' : ' It holds less often than was asked for.')
  );
}
