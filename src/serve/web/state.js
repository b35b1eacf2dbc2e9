// All that the reader has chosen, kept in the address, so that a link shows the same. Values are text; what is as usual
// is left out.
import {useState, useEffect} from './library.js';
import {frozen, keptChoices} from './frozen.js';

export const USUAL = {
  view: 'estimate',
  zoo: 'resnet18',
  id: '',
  batch: '32',
  precision: 'default',
  optimizer: 'sgd',
  limit: '',
  samples: '50000',
  epochs: '10',
  price: '',
  currency: 'EUR',
  carbon: '',
  shown: '',
  budget: '50%',
  rank: 'parameters',
  multiple: '',
  risk: '',
  objective: 'energy',
  slower: '',
  batches: '',
  limits: '',
  precisions: '',
  jobs: '',
  planrisk: '',
  sheets: '',
  device: ''
};
// What can be asked for; a link may say anything.
const RANGES = {
  batch: [1, 16777216],
  samples: [1, 1e12],
  epochs: [1, 1e9],
  limit: [0, 1e5],
  price: [0, 1e6],
  multiple: [1, 16777216],
  risk: [0, 50],
  slower: [0, 1e6],
  planrisk: [0, 50]
};
const followers = new Set();
let refused = []; // choices of the address that cannot be: [name, value, what is shown instead]
let state = read();
let writing = 0;

function cannotBe(key, value) {
  const range = key.startsWith('dim.') ? RANGES.batch : RANGES[key];
  if (!range || (value === '' && !USUAL[key])) return false;
  return value === '' || !(Number(value) >= range[0] && Number(value) <= range[1]);
}
export const refusedChoices = () => refused;

function read() {
  const found = {...USUAL, ...(frozen ? keptChoices() : {})};
  refused = [];
  for (const [key, value] of new URLSearchParams(location.hash.slice(1))) {
    // Sizes are named by the network: "dim.height".
    if (!Object.hasOwn(USUAL, key) && !/^dim\.[\w.-]{1,60}$/.test(key)) continue;
    if (cannotBe(key, value)) refused.push([key, value, USUAL[key] || 'the usual one']);
    else found[key] = value;
  }
  return found;
}
function address() {
  const kept = new URLSearchParams();
  for (const [key, value] of Object.entries(state)) if (value !== (USUAL[key] ?? '')) kept.set(key, value);
  return '#' + kept.toString();
}
function write(push) {
  clearTimeout(writing);
  if (address() === (location.hash || '#')) return;
  history[push ? 'pushState' : 'replaceState'](null, '', address());
}

// `step`: a new entry of the history, for what the back button should undo.
export function set(changes, step) {
  if (step) write(false);
  refused = [];
  state = {...state, ...changes};
  for (const key of Object.keys(state)) if (state[key] === '' && !(key in USUAL)) delete state[key];
  if (step) {
    write(true);
  } else {
    // Browsers slow down pages that write it all the time, as a slider would.
    clearTimeout(writing);
    writing = setTimeout(() => write(false), 250);
  }
  followers.forEach((tell) => tell(state));
}
export function current() {
  return state;
}
export function useChoices() {
  const [now, setNow] = useState(state);
  useEffect(() => {
    followers.add(setNow);
    setNow(state);
    return () => followers.delete(setNow);
  }, []);
  return now;
}
function reread() {
  clearTimeout(writing);
  state = read();
  followers.forEach((tell) => tell(state));
}
window.addEventListener('hashchange', reread);
window.addEventListener('popstate', reread);

// ---- what the server is asked, from what was chosen

const whole = (text) => Math.max(1, Math.round(Number(text)) || 1);
export function dims(choices) {
  const sizes = {};
  for (const [key, value] of Object.entries(choices)) if (key.startsWith('dim.') && value !== '') sizes[key.slice(4)] = whole(value);
  return sizes;
}
// A network of the zoo has its sizes in its name: "resnet18:size=160".
export function zooName(choices) {
  const sizes = Object.entries(dims(choices)).map(([name, size]) => name + '=' + size);
  return choices.zoo + (sizes.length ? (choices.zoo.includes(':') ? ',' : ':') + sizes.join(',') : '');
}
export function networkOf(choices) {
  return choices.id ? {id: choices.id} : {zoo: zooName(choices)};
}

export function question(choices) {
  const asked = {network: networkOf(choices), batch: whole(choices.batch)};
  if (choices.id && Object.keys(dims(choices)).length) asked.dims = dims(choices);
  if (choices.precision !== 'default') asked.precision = choices.precision;
  if (choices.optimizer !== 'sgd') asked.optimizer = choices.optimizer;
  return asked;
}
export function money(choices) {
  const asked = {};
  if (choices.price) asked.price = choices.price + choices.currency + '/kWh';
  if (choices.carbon) asked.carbon = /^[\d.]+$/.test(choices.carbon) ? choices.carbon + 'g/kWh' : choices.carbon;
  return asked;
}
export function work(choices) {
  return {samples: whole(choices.samples), epochs: whole(choices.epochs)};
}
// Of all devices that are known, and the data sheets that were picked.
export function estimateQuestion(choices, devices) {
  const asked = {...question(choices), ...work(choices), ...money(choices), layers: true};
  if (choices.limit) asked.power_limit_w = Number(choices.limit);
  const sheets = choices.sheets.split(',').filter(Boolean);
  if (sheets.length) asked.devices = [...devices.map((d) => d.id), ...sheets];
  return asked;
}
