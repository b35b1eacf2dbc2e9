// Which settings to train with: the front of energy and time.
import {html, ampere, useMemo} from './library.js';
import {set, question, work, money} from './state.js';
import {post} from './api.js';
import {frozen} from './frozen.js';
import {useAsked, AskButton} from './asked.js';
import {Choice, Field, Slider} from './controls.js';
import {Figure, Table, ProblemBox, SaveJson, Spoken} from './parts.js';
import {DeviceChoice} from './prune_view.js';
import {tuningOf} from './adapt.js';

const OBJECTIVES = [
  ['energy', 'energy'],
  ['time', 'time'],
  ['energy*delay', 'energy times time']
];

export function TuneView({choices, devices, device}) {
  const answer = useAsked('tune', 'tune');
  const list = (text) => text.split(/[\s,;]+/).filter(Boolean);
  const settings = [];
  for (const [key, name] of [
    ['batches', 'batch'],
    ['limits', 'limit'],
    ['precisions', 'precision']
  ]) {
    if (list(choices[key]).length) settings.push(name + '=' + list(choices[key]).join(','));
  }
  const asked = {...question(choices), ...work(choices), ...money(choices), device, objective: choices.objective};
  if (settings.length) asked.settings = settings;
  if (choices.slower) asked.slower = choices.slower + '%';
  const key = JSON.stringify(asked);
  const tuning = useMemo(() => answer.value && tuningOf(answer.value), [answer.value]);
  const figure = useMemo(() => tuning && ampere.settingFigures({tunings: [tuning]})[0], [tuning]);
  const told = useMemo(() => tuning && withoutIdle(tuning), [tuning]);
  const limited = told && told.some((p) => p.power_limit_w !== null);
  const si = ampere.si;
  const precisions = list(choices.precisions);
  return html`${!frozen && html`<form class="card" onSubmit=${(e) => {
    e.preventDefault();
    answer.ask(key, (signal) => post('tune', asked, signal), {tune: asked});
  }} aria-labelledby="tune-title">
      <h2 id="tune-title">Settings to train with</h2>
      <p class="caption">The job under every combination of what may change, against the setting beside. Empty fields: what the device is known with.</p>
      <div class="row">
        <${DeviceChoice} devices=${devices} device=${device} />
        <${Choice} name="objective" label="Least" value=${choices.objective} options=${OBJECTIVES} change=${(v) => set({objective: v})} />
        <${Slider} name="slower" label="At most slower by" unit="%" off="any" value=${choices.slower}
          steps=${[0, 5, 10, 20, 30, 50, 75, 100]} change=${(v) => set({slower: v})} />
        <${Field} name="batches" label="Batches" value=${choices.batches} placeholder="16, 32, 64" change=${(v) => set({batches: v})} />
        <${Field} name="limits" label="Power limits, W" value=${choices.limits} placeholder="300, 400, 500"
          change=${(v) => set({limits: v})} />
        <fieldset class="control"><legend>Precisions</legend><div class="checks">${['fp32', 'tf32', 'bf16'].map(
          (p) => html`<label key=${p}><input type="checkbox" checked=${precisions.includes(p)}
          onChange=${(e) => set({precisions: (e.target.checked ? [...precisions, p] : precisions.filter((q) => q !== p)).join(',')})} /> ${p}</label>`
        )}</div></fieldset>
      </div>
      <${AskButton} answer=${answer} text="Compare settings" now=${key} />
    </form>`}
    <${ProblemBox} problem=${answer.problem} />
    ${
      tuning &&
      html`<div id="tune-answer"><div class="title"><h2>The front</h2><${SaveJson} name="settings" value=${answer.value} /></div>
      ${figure && html`<${Figure} figure=${figure} of=${tuning} />`}
      <${Spoken} text=${figure.words({file: 0, shown: 0})[0]} />
      <div class="card"><h3>Settings</h3>${
        told.length < tuning.points.length &&
        html`<p class="caption">${tuning.points.length - told.length} limits that change nothing are left out.</p>`
      }<${Table} id="settings-table" label="Settings" rows=${told} picked=${told.indexOf(tuning.points[tuning.best])}
        columns=${[
        {title: 'Batch', value: (p) => p.batch, number: true},
        {title: 'Recipe', value: (p) => p.recipe, wide: true, from: 30},
        {
          title: 'Limit',
          value: (p) => p.power_limit_w,
          text: (p) => (p.power_limit_w === null ? 'none' : p.power_limit_w + ' W'),
          number: true,
          from: limited ? undefined : 30
        },
        {title: 'Energy', value: (p) => p.energy_j[0], text: (p) => si(p.energy_j[0], 'J'), number: true},
        {
          title: '95% interval',
          value: (p) => p.energy_j[2] - p.energy_j[1],
          text: (p) => si(p.energy_j[1], 'J') + ' to ' + si(p.energy_j[2], 'J'),
          from: 42
        },
        {title: 'Time', value: (p) => p.time_s[0], text: (p) => ampere.duration(p.time_s[0]), number: true},
        {title: 'On the front', value: (p) => (p.on_front ? 'yes' : 'no'), from: 42},
        {title: 'Mark', value: (p) => words(tuning, p), from: limited ? 23 : undefined}
      ]} /></div></div>`
    }`;
}
// A power limit above what the device draws, or a clock above what it runs at, is no setting of its own.
function withoutIdle(tuning) {
  const seen = new Set();
  const kept = (point, i) => i === tuning.best || i === tuning.present || (point.power_limit_w === null && point.clock_mhz === null);
  const same = (p) => [p.batch, p.recipe, p.energy_j[0].toPrecision(4), p.time_s[0].toPrecision(4)].join();
  tuning.points.filter(kept).forEach((p) => seen.add(same(p)));
  return tuning.points.filter((p, i) => kept(p, i) || (!seen.has(same(p)) && seen.add(same(p))));
}
function words(tuning, point) {
  const at = tuning.points.indexOf(point);
  return [at === tuning.best && 'best', at === tuning.present && 'now', !point.allowed && 'too slow'].filter(Boolean).join(', ');
}
