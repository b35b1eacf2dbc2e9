// Answers to what is asked now: the newest question wins, and what was shown stays until its answer is there.
import {useState, useEffect, useRef} from './library.js';
import {onTokenWanted} from './api.js';

// ask(signal) is called when `key` changes, a moment later so that a moving slider does not ask a hundred times.
export function useAnswer(key, ask, wait = 40) {
  const [answer, setAnswer] = useState({value: null, problem: null, busy: key !== null, key: null});
  const [again, setAgain] = useState(0);
  const newest = useRef(ask);
  newest.current = ask;
  useEffect(() => {
    if (key === null) {
      setAnswer({value: null, problem: null, busy: false, key: null});
      return undefined;
    }
    const stop = new AbortController();
    setAnswer((old) => ({...old, busy: true}));
    const timer = setTimeout(async () => {
      try {
        const value = await newest.current(stop.signal);
        if (!stop.signal.aborted) setAnswer({value, problem: null, busy: false, key});
      } catch (problem) {
        if (!stop.signal.aborted)
          setAnswer((old) => ({value: problem.kind === 'unreachable' ? old.value : null, problem, busy: false, key}));
      }
    }, wait);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, again]);
  return {...answer, again: () => setAgain((n) => n + 1)};
}

// Whether the server wants a token: '' (no), 'first' or 'wrong'.
export function useTokenWanted() {
  const [wanted, setWanted] = useState('');
  useEffect(() => onTokenWanted((had) => setWanted(had ? 'wrong' : 'first')), []);
  return [wanted, () => setWanted('')];
}
