// Questions that take longer than a slider's: asked with a button, answered below it.
import {html, useState, useRef, useEffect} from './library.js';
import {frozen} from './frozen.js';

// What the answers that are shown were asked with, by view: as the fields of a report.
const shown = new Map();
export const answered = (view) => shown.get(view) || {};

// Of a view: `kind` is the path that is asked. Returns {value, problem, busy, ask, stop}; `of` is what the shown answer
// was asked with, and `fields` how a report asks the same.
export function useAsked(view, kind) {
  const first = frozen && frozen.answers[kind] ? {value: frozen.answers[kind], of: JSON.stringify([frozen.asked[kind]])} : {value: null, of: ''};
  const [answer, setAnswer] = useState({...first, problem: null, busy: false});
  const running = useRef(null);
  const stop = () => {
    if (running.current) running.current.abort();
  };
  useEffect(
    () => () => {
      stop();
      shown.delete(view);
    },
    []
  );
  async function ask(of, request, fields) {
    stop();
    const control = new AbortController();
    running.current = control;
    setAnswer((old) => ({...old, problem: null, busy: true}));
    try {
      const value = await request(control.signal);
      if (control.signal.aborted) return;
      shown.set(view, fields);
      setAnswer({value, problem: null, busy: false, of});
    } catch (problem) {
      if (control.signal.aborted) setAnswer((old) => ({...old, busy: false}));
      else setAnswer({value: null, problem, busy: false, of});
    }
  }
  return {...answer, ask, stop};
}

export function AskButton({answer, text, now}) {
  return html`<p class="after"><button type="submit" class="main" disabled=${answer.busy}>${answer.busy ? 'Working …' : text}</button>
    ${answer.busy && html`<button type="button" onClick=${answer.stop}>Stop</button>`}
    ${answer.value && answer.of !== now && !answer.busy && html`<span class="stale"
      role="status">Something was changed since this answer; ask again.</span>`}</p>`;
}
