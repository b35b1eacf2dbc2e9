// Profiling on a worker: start, live progress, stop, go on.
import {html, ampere, useState, useEffect, useRef} from './library.js';
import {get, post, events} from './api.js';
import {question} from './state.js';
import {ProblemBox} from './parts.js';
import {Slider, Choice, Field} from './controls.js';

const LIVE = ['waiting', 'running'];
const OVER = ['done', 'failed', 'stopped', 'interrupted'];
const share = (job) => (job.progress && job.progress.of > 0 ? Math.min(1, job.progress.done / job.progress.of) : null);
function wordsOf(job) {
  const p = job.progress;
  if (!p) return job.state === 'waiting' ? 'Waits for its turn' : '';
  const left = typeof p.seconds_left === 'number' && LIVE.includes(job.state) ? ampere.duration(p.seconds_left) + ' left' : '';
  return [`${p.task}: ${p.done} of ${p.of}`, p.what, left].filter(Boolean).join(', ');
}

function Job({job, change, finished}) {
  const [now, setNow] = useState(job);
  const [problem, setProblem] = useState(null);
  const state = now.state;
  const live = LIVE.includes(state);
  useEffect(() => setNow((old) => ({...old, ...job})), [job]);
  // A line that breaks is taken up again: the server, or what is between, may have been away.
  useEffect(() => {
    if (!live) return undefined;
    const stop = new AbortController();
    (async () => {
      while (!stop.signal.aborted) {
        let ended = false;
        try {
          await events(
            `jobs/${encodeURIComponent(job.id)}/events`,
            (event, data) => {
              if (stop.signal.aborted) return;
              setProblem(null);
              // Steps are told as they come, everything else as the whole job.
              setNow((old) => (event === 'progress' ? {...old, progress: data} : {...old, ...data}));
              if (OVER.includes(event)) {
                ended = true;
                finished();
              }
            },
            stop.signal
          );
        } catch (error) {
          if (error.name === 'AbortError') return;
          setProblem(error);
        }
        if (ended) return;
        await new Promise((wake) => setTimeout(wake, 2000));
        try {
          if (!stop.signal.aborted) {
            const fresh = await get('jobs/' + encodeURIComponent(job.id), stop.signal);
            setNow((old) => ({...old, ...fresh}));
            setProblem(null);
          }
        } catch (error) {
          if (error.name === 'AbortError') return;
          if (error.status === 404) setNow((old) => ({...old, state: 'forgotten'}));
          setProblem(error);
        }
      }
    })();
    return () => stop.abort();
  }, [job.id, live]);
  async function tell(what) {
    try {
      const answer = await post(`jobs/${encodeURIComponent(job.id)}/${what}`, {});
      setNow((old) => ({...old, ...answer}));
      change();
    } catch (error) {
      setProblem(error);
    }
  }
  const part = share(now),
    id = 'job-' + job.id;
  const asked = now.request || {},
    of = (asked.network && (asked.network.zoo || 'a network of yours')) || '';
  return html`<li class="card job" data-job=${job.id} data-state=${state}>
    <div class="title"><h3 id=${id}>${of ? `Profile ${of}` : 'Profile the device'}</h3><span class="tag">${state}</span></div>
    <progress aria-labelledby=${id} max="1" value=${live && part === null ? undefined : (part ?? (state === 'done' ? 1 : 0))}></progress>
    <p class="caption">${wordsOf(now)}</p>
    <${ProblemBox} problem=${problem || (now.problem && {message: now.problem.detail || now.problem.title})} />
    <p class="after">${live && html`<button type="button" onClick=${() => tell('stop')}>Stop</button>`}
      ${['failed', 'stopped', 'interrupted'].includes(state) && html`<button type="button"
        onClick=${() => tell('resume')}>Go on</button>`}</p></li>`;
}

export function Profiling({status, choices, refresh}) {
  const [jobs, setJobs] = useState([]);
  const [problem, setProblem] = useState(null);
  const [what, setWhat] = useState('device');
  const [minutes, setMinutes] = useState('5');
  const [busy, setBusy] = useState(false);
  const shown = useRef(true);
  async function load() {
    try {
      const answer = await get('jobs');
      if (shown.current) setJobs(answer.jobs);
    } catch (error) {
      if (shown.current) setProblem(error);
    }
  }
  useEffect(() => {
    shown.current = true;
    load();
    return () => {
      shown.current = false;
    };
  }, []);
  async function start(event) {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      const {precision, optimizer, ...network} = question(choices);
      const asked = {kind: 'profile', ...(precision ? {precision} : {}), ...(optimizer ? {optimizer} : {})};
      Object.assign(asked, what === 'network' ? network : {minutes: Number(minutes)});
      await post('jobs', asked);
      await load();
    } catch (error) {
      setProblem(error);
    }
    setBusy(false);
  }
  const able = status && status.can_profile && !status.read_only;
  const name = choices.id ? 'the network that was dropped' : choices.zoo;
  return html`<section aria-labelledby="profiling-title"><h2 id="profiling-title">Profiling</h2>
    ${status && !able && html`<p
      class="note">${status.read_only ? 'This server only reads: start it without --read-only to profile.' : 'This server has no worker to profile with.'}</p>`}
    ${
      able &&
      html`<form class="card" onSubmit=${start}><div class="row">
        <${Choice} name="what" label="Measure" value=${what} options=${[
          ['device', 'the device itself: any network is told after'],
          ['network', 'the layers of ' + name]
        ]} change=${setWhat} />
        ${what === 'device' && html`<${Slider} name="minutes" label="For" unit="minutes" value=${minutes}
          steps=${[1, 2, 3, 5, 10, 20, 30, 60]} change=${setMinutes} />`}
      </div><p class="after"><button type="submit" class="main" disabled=${busy}>Start profiling</button></p></form>`
    }
    <${ProblemBox} problem=${problem} />
    <ul class="jobs">${jobs.map(
      (job) =>
        html`<${Job} key=${job.id} job=${job} change=${load} finished=${() => {
          load();
          refresh();
        }} />`
    )}</ul></section>`;
}
