// Saving what is shown as a report, and what stands in place of controls in one.
import {html, useState} from './library.js';
import {report} from './api.js';
import {frozen} from './frozen.js';
import {estimateQuestion} from './state.js';
import {answered} from './asked.js';
import {Facts, save} from './parts.js';

export function SaveReport({choices, devices, view, name, fail}) {
  const [busy, setBusy] = useState(false);
  async function ask() {
    setBusy(true);
    fail(null);
    try {
      const body = {title: name + ' · ampere', view, estimate: estimateQuestion(choices, devices), ...answered(view)};
      save(`ampere-${name.replace(/[^\w.-]+/g, '-').slice(0, 60)}.html`, 'text/html', await report(body));
    } catch (error) {
      fail(error);
    }
    setBusy(false);
  }
  return html`<button type="button" id="save-report" disabled=${busy} onClick=${ask}
    title="One file with all that is shown here, which opens without this server">${busy ? 'Saving …' : 'Save as report'}</button>`;
}

const PRECISIONS = {default: 'as PyTorch comes', fp32: 'float32, strict', tf32: 'TF32', bf16: 'bfloat16'};
export function WhatWasAsked({about}) {
  const e = frozen.asked.estimate;
  return html`<section class="card" aria-labelledby="asked-title"><h2 id="asked-title">What was asked</h2>
    <${Facts} pairs=${[
      ['Network', about ? about.name : e.network.zoo],
      ['Batch', e.batch],
      ['Precision', PRECISIONS[e.precision || 'default']],
      ['Optimizer', e.optimizer || 'sgd'],
      ['Power limit', e.power_limit_w ? e.power_limit_w + ' W' : ''],
      ['Samples in an epoch', e.samples],
      ['Epochs', e.samples ? e.epochs || 1 : ''],
      ['Price', e.price],
      ['Carbon', e.carbon],
      ['Saved', frozen.saved_at.replace('T', ' ').replace('Z', ' UTC')]
    ]} /></section>`;
}
