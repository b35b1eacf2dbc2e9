// Asking the server. What it refuses becomes a Problem, in its own words (RFC 9457).
import {frozen, keptAnswer} from './frozen.js';

const BASE = '/api/v1/';
let token = frozen ? '' : sessionStorage.getItem('ampere-token') || '';
const askers = new Set(); // told when the server wants a token

export class Problem extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || 'the server gave no reason');
    this.kind = problem.kind || '';
    this.status = problem.status || 0;
    this.fields = problem.fields || []; // of the request, that it is about
  }
}

export function setToken(text) {
  token = text.trim();
  sessionStorage.setItem('ampere-token', token);
}
export function onTokenWanted(tell) {
  askers.add(tell);
  return () => askers.delete(tell);
}

function unreachable(error) {
  return error.name === 'AbortError'
    ? error
    : new Problem({detail: 'The server does not answer. Is ampere serve still running?', kind: 'unreachable'});
}

async function asked(path, options) {
  if (frozen) {
    const answer = keptAnswer(path);
    if (answer === undefined) throw new Problem({detail: 'This is a saved report, which has no answer to that.', kind: 'not_found'});
    return {json: () => answer};
  }
  const headers = {...(options.headers || {})};
  if (token) headers.Authorization = 'Bearer ' + token;
  let response;
  try {
    response = await fetch(BASE + path, {...options, headers, cache: 'no-store', credentials: 'omit'});
  } catch (error) {
    throw unreachable(error);
  }
  if (response.ok) return response;
  let told = {};
  try {
    told = await response.json();
  } catch {
    /* no words came along */
  }
  const problem = new Problem({title: response.statusText || 'HTTP ' + response.status, ...told, status: response.status});
  if (response.status === 401) askers.forEach((tell) => tell(token !== ''));
  throw problem;
}

export async function get(path, signal) {
  return (await asked(path, {signal})).json();
}
export async function post(path, body, signal) {
  return (await asked(path, {method: 'POST', signal, body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}})).json();
}
// `reading`: what a file does not say by itself, [['input', '3x224x224'], ['dim', 'height=224']].
export async function upload(file, reading) {
  const path = 'networks?' + new URLSearchParams([['name', file.name], ...reading]);
  return (await asked(path, {method: 'POST', body: file, headers: {'Content-Type': 'application/octet-stream'}})).json();
}
export async function bytes(path) {
  return (await asked(path, {})).blob();
}
export async function report(body) {
  return (await asked('report', {method: 'POST', body: JSON.stringify(body), headers: {'Content-Type': 'application/json'}})).blob();
}

// Server-sent events, read from a stream: the browser's own reader of them cannot send a token. Calls
// tell(event, data) until the server ends the stream or the signal does.
export async function events(path, tell, signal) {
  const response = await asked(path, {signal, headers: {Accept: 'text/event-stream'}});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let waiting = '';
  for (;;) {
    const {done, value} = await reader.read().catch((error) => {
      throw unreachable(error);
    });
    if (done) return;
    waiting += value.replace(/\r/g, '');
    for (let end = waiting.indexOf('\n\n'); end >= 0; end = waiting.indexOf('\n\n')) {
      const lines = waiting.slice(0, end).split('\n');
      waiting = waiting.slice(end + 2);
      const of = (name) => lines.filter((l) => l.startsWith(name + ':')).map((l) => l.slice(name.length + 1).replace(/^ /, ''));
      const data = of('data').join('\n');
      if (!data) continue; // a comment that keeps the line open
      try {
        tell(of('event')[0] || 'message', JSON.parse(data));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
      }
    }
  }
}
