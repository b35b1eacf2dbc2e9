// The page: what is chosen on the left, its answers on the right.
import {html, render, ampere, useState, useEffect, useMemo, useRef} from './library.js';
import {get, setToken} from './api.js';
import {frozen, keptViews} from './frozen.js';
import {useChoices, set, refusedChoices} from './state.js';
import {useAnswer, useTokenWanted} from './answers.js';
import {NetworkPanel} from './network_panel.js';
import {SettingsPanel} from './settings_panel.js';
import {EstimateView} from './estimate_view.js';
import {PruneView} from './prune_view.js';
import {TuneView} from './tune_view.js';
import {PlanView} from './plan_view.js';
import {DevicesView} from './devices_view.js';
import {SaveReport, WhatWasAsked} from './report_view.js';
import {ProblemBox} from './parts.js';

const VIEWS = [
  ['estimate', 'Estimate', EstimateView],
  ['prune', 'Prune', PruneView],
  ['tune', 'Settings', TuneView],
  ['plan', 'Plan', PlanView],
  ['devices', 'Devices', DevicesView]
].filter(([view]) => !frozen || keptViews().includes(view));

// Two cards of one type have one name: then the beginning of their ids goes with it.
function toldApart(devices) {
  const named = devices.map((d) => ({...d, name: d.name || d.fingerprint?.name || d.id}));
  const alike = (d) => named.filter((o) => o.name === d.name).length > 1;
  return named.map((d) => (alike(d) ? {...d, name: d.name + ' ' + d.id.slice(0, 6)} : d));
}

function TokenForm({wanted, given}) {
  const field = useRef();
  useEffect(() => field.current.focus(), []);
  return html`<main id="main"><form class="card token" onSubmit=${(e) => {
    e.preventDefault();
    setToken(field.current.value);
    given();
  }}>
    <h2>This server wants its token</h2>
    <p class="caption">${wanted === 'wrong' ? 'That was not it. ' : ''}It is what ampere serve was started with (--token). It is kept until this window is closed.</p>
    <div class="row"><div class="control"><label for="token">Token</label><input id="token" type="password" autocomplete="off"
      ref=${field} /></div></div>
    <p class="after"><button type="submit" class="main">Go on</button></p></form></main>`;
}

function Page({tick, retry}) {
  const choices = useChoices();
  const [unsaved, setUnsaved] = useState(null);
  const status = useAnswer('status' + tick, (signal) => get('status', signal), 0);
  const zoo = useAnswer('models' + tick, (signal) => get('models', signal), 0);
  const store = useAnswer('devices' + tick, (signal) => get('devices', signal), 0);
  const about = useAnswer(choices.id ? choices.id + tick : null, (signal) => get('networks/' + encodeURIComponent(choices.id), signal), 0);
  const models = useMemo(() => (zoo.value ? zoo.value.models || zoo.value : []), [zoo.value]);
  const devices = useMemo(() => toldApart(store.value ? store.value.devices || [] : []), [store.value]);
  const sheets = useMemo(
    () => ((store.value && store.value.sheets) || []).map((s) => (typeof s === 'string' ? {id: s, name: s} : {id: s.name, ...s})),
    [store.value]
  );
  const [, label, View] = VIEWS.find((v) => v[0] === choices.view) || VIEWS[0];
  const view = VIEWS.some((v) => v[0] === choices.view) ? choices.view : 'estimate';
  const device = devices.some((d) => d.id === choices.device) ? choices.device : devices.length ? devices[0].id : '';
  const name = choices.id ? (about.value ? about.value.name : 'a network') : choices.zoo;
  useEffect(() => {
    document.title = name + ' · ' + label + ' · ampere';
  }, [name, label]);
  useEffect(() => {
    const version = status.value ? 'ampere ' + status.value.version : 'ampere';
    document.querySelector('footer').textContent =
      version +
      ' with Apache ECharts ' +
      window.echarts.version +
      ' (Apache License 2.0), Preact (MIT) and htm (Apache License 2.0). Intervals are 95%. ' +
      (frozen ? 'This file loads nothing from anywhere.' : 'Nothing is loaded from anywhere but this server.');
  }, [status.value]);
  const problem = status.problem || zoo.problem || store.problem;
  const panels = view !== 'plan' || frozen;
  const ready = store.value && zoo.value && (!choices.id || about.value || about.problem);
  return html`<nav aria-label="Views">${VIEWS.map(
    ([key, title]) => html`<a key=${key} href=${'#view=' + key} aria-current=${key === view ? 'page' : null}
      onClick=${(e) => {
        if (!e.metaKey && !e.ctrlKey && !e.shiftKey) {
          e.preventDefault();
          set({view: key}, true);
        }
      }}>${title}</a>`
  )}${ready && !frozen && html`<${SaveReport} choices=${choices} devices=${devices} view=${view} name=${name}
      fail=${setUnsaved} />`}</nav>
    <main id="main" tabindex="-1" class=${panels ? 'panels ' + view : ''} data-ready=${ready ? 'yes' : 'no'}>
      ${problem && html`<div class="whole"><${ProblemBox} problem=${problem}><p class="after"><button type="button"
        onClick=${retry}>Try again</button></p></${ProblemBox}></div>`}
      ${unsaved && html`<div class="whole"><${ProblemBox} problem=${unsaved} /></div>`}
      ${refusedChoices().map(
        ([key, value, shown]) => html`<p key=${key} class="note whole refused" role="alert">The address asks for ${key}\u00a0=\u00a0${value.slice(0, 40)},
          which cannot be; ${shown} is shown.</p>`
      )}
      ${frozen && html`<div class="chosen"><${WhatWasAsked} about=${about.value} /></div>`}
      ${panels && !frozen && html`<div class="chosen"><${NetworkPanel} choices=${choices} models=${models} about=${about.value} /><${SettingsPanel}
        choices=${choices} models=${models} about=${about.value} /></div>`}
      <div class="answers" key=${view}>
        <${ProblemBox} problem=${about.problem} />
        ${store.value && zoo.value && !about.problem && html`<${View} choices=${choices} devices=${devices} sheets=${sheets}
          device=${device} status=${status.value} models=${models} refresh=${retry} />`}
      </div>
    </main>`;
}

function App() {
  const [tick, setTick] = useState(0);
  const [wanted, answered] = useTokenWanted();
  const retry = () => setTick((n) => n + 1);
  if (wanted)
    return html`<${TokenForm} wanted=${wanted} given=${() => {
      answered();
      retry();
    }} />`;
  return html`<${Page} tick=${tick} retry=${retry} />`;
}

document
  .getElementById('skip')
  .addEventListener('click', () => document.querySelector('.answers, main')?.scrollIntoView() ?? document.getElementById('main').focus());
if (frozen) document.querySelector('.lead').textContent = 'A saved report: ' + frozen.title.replace(/ · ampere$/, '');
ampere.theme.apply();
render(html`<${App} />`, document.getElementById('app'));
