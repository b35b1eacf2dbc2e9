// Questions that take longer than a slider's: asked with a button, answered below it.
import {html, useState, useRef, useEffect} from './library.js';

// Returns {value, problem, busy, ask, stop}; `of` is what the shown answer was asked with.
export function useAsked() {
  const [answer, setAnswer] = useState({value: null, problem: null, busy: false, of: ''});
  const running = useRef(null);
  const stop = () => {
    if (running.current) running.current.abort();
  };
  useEffect(() => stop, []);
  async function ask(of, request) {
    stop();
    const control = new AbortController();
    running.current = control;
    setAnswer((old) => ({...old, problem: null, busy: true}));
    try {
      const value = await request(control.signal);
      if (!control.signal.aborted) setAnswer({value, problem: null, busy: false, of});
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
