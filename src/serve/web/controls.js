// Controls that are labelled, work with the keyboard, and show what they stand for.
import {html} from './library.js';

let count = 0;
const ids = new Map();
function idOf(name) {
  if (!ids.has(name)) ids.set(name, 'control-' + ++count);
  return ids.get(name);
}

// A slider over `steps` (any numbers, in order) with a field for the exact value beside it. Off: what an empty value is
// called; then the first step stands for it.
export function Slider({name, label, unit, value, steps, off, change, hint}) {
  const id = idOf(name);
  const all = off ? ['', ...steps.map(String)] : steps.map(String);
  const number = Number(value);
  let at = value === '' && off ? 0 : steps.findIndex((s) => s >= number) + (off ? 1 : 0);
  if (value !== '' && number > steps[steps.length - 1]) at = all.length - 1;
  const words = value === '' && off ? off : value + (unit ? ' ' + unit : '');
  return html`<div class="control" data-control=${name}>
    <label for=${id}>${label}${unit ? ', ' + unit : ''}</label>
    <div class="slider"><input type="range" id=${id} min="0" max=${all.length - 1} step="1" value=${Math.max(0, at)} aria-valuetext=${words}
        title=${hint || null} onInput=${(e) => change(all[Number(e.target.value)])} />
      <input type="text" inputmode="decimal" size="7" aria-label=${label + ', exactly' + (unit ? ', ' + unit : '')} value=${value}
        placeholder=${off || ''}
        onChange=${(e) => change(cleaned(e.target.value, off, value))} /></div></div>`;
}
function cleaned(text, off, before) {
  const plain = text.trim().replace(',', '.');
  if (plain === '' && off) return '';
  return plain !== '' && Number.isFinite(Number(plain)) && Number(plain) >= 0 ? String(Number(plain)) : before;
}

export function Choice({name, label, value, options, change}) {
  const id = idOf(name);
  return html`<div class="control" data-control=${name}><label for=${id}>${label}</label>
    <select id=${id} value=${value} onChange=${(e) => change(e.target.value)}>
      ${options.map(([key, text]) => html`<option value=${key} selected=${key === value}>${text}</option>`)}</select></div>`;
}

export function Field({name, label, value, change, placeholder, wide}) {
  const id = idOf(name);
  return html`<div class=${wide ? 'control wide' : 'control'} data-control=${name}><label for=${id}>${label}</label>
    <input type="text" id=${id} value=${value} placeholder=${placeholder || ''} autocomplete="off" spellcheck=${false}
      onChange=${(e) => change(e.target.value.trim())} /></div>`;
}

export const powers = (from, to) => {
  const all = [];
  for (let v = from; v <= to; v *= 2) all.push(v);
  return all;
};
export const decades = (from, to) => {
  const all = [];
  for (let v = from; v <= to; v *= 10) for (const m of [1, 2, 5]) if (v * m <= to) all.push(v * m);
  return all;
};
export const even = (from, to, step) => {
  const all = [];
  for (let i = 0; from + i * step <= to + 1e-9; ++i) all.push(Number((from + i * step).toFixed(6)));
  return all;
};
