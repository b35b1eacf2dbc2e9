// How it is trained and what energy costs: the sliders. Each changes what is asked, and the answer comes at once.
import {html} from './library.js';
import {set} from './state.js';
import {Slider, Choice, Field, powers, decades, even} from './controls.js';

const PRECISIONS = [
  ['default', 'as PyTorch comes'],
  ['fp32', 'float32, strict'],
  ['tf32', 'TF32'],
  ['bf16', 'bfloat16']
];
const OPTIMIZERS = [
  ['sgd', 'SGD'],
  ['momentum', 'SGD with momentum'],
  ['adam', 'Adam']
];
const INPUTS = ['size', 'length'];

// The sizes that may be chosen: {name, label, value, steps}.
export function sizesOf(choices, models, about) {
  if (!choices.id) {
    const model = models.find((m) => m.name === choices.zoo.split(':')[0]);
    if (!model) return [];
    return INPUTS.filter((name) => model.parameters[name]).map((name) => {
      const usual = model.parameters[name].value;
      return {
        name,
        label: name === 'size' ? 'Input size' : 'Input length',
        unit: name === 'size' ? 'pixels a side' : 'steps',
        usual,
        steps: [...new Set([usual, ...(usual >= 64 ? even(32, 512, 16) : even(8, 96, 4))])].sort((a, b) => a - b)
      };
    });
  }
  return named(about).map(({name, size}) => ({
    name,
    label: 'Size of ' + name,
    unit: '',
    usual: size || '',
    steps: [...powers(1, 16), ...even(24, 64, 8), ...even(80, 1024, 16)]
  }));
}
function named(about) {
  const dims = about && (about.dims || (about.read && about.read.dims));
  if (!dims) return [];
  if (Array.isArray(dims)) return dims.map((d) => (typeof d === 'string' ? {name: d, size: null} : d));
  return Object.entries(dims).map(([name, size]) => ({name, size}));
}

export function SettingsPanel({choices, models, about}) {
  const change = (key) => (value) => set({[key]: value});
  const country = choices.carbon !== '' && !/^[\d.]+$/.test(choices.carbon);
  const captured = choices.id ? [['captured', 'as the file says']] : [];
  return html`<section class="card settings" aria-labelledby="settings-title">
    <h2 id="settings-title">Training</h2>
    <${Slider} name="batch" label="Batch" value=${choices.batch} steps=${powers(1, 4096)} change=${change('batch')} />
    ${sizesOf(choices, models, about).map(
      (s) => html`<${Slider} key=${s.name} name=${'dim.' + s.name} label=${s.label} unit=${s.unit} steps=${s.steps}
      value=${choices['dim.' + s.name] ?? String(s.usual)} change=${(v) => set({['dim.' + s.name]: v === String(s.usual) ? '' : v})} />`
    )}
    <${Choice} name="precision" label="Precision" value=${choices.precision} options=${PRECISIONS} change=${change('precision')} />
    <${Choice} name="optimizer" label="Optimizer" value=${choices.optimizer} options=${[...OPTIMIZERS, ...captured]}
      change=${change('optimizer')} />
    <${Slider} name="limit" label="Power limit" unit="W" off="none" value=${choices.limit} steps=${even(50, 1000, 25)}
      change=${change('limit')} />
    <${Slider} name="samples" label="Samples in an epoch" value=${choices.samples} steps=${decades(100, 1e8)} change=${change('samples')} />
    <${Slider} name="epochs" label="Epochs" value=${choices.epochs} steps=${decades(1, 1000)} change=${change('epochs')} />
    <h2>Energy</h2>
    <${Slider} name="price" label="Price" unit=${choices.currency + '/kWh'} off="none" value=${choices.price}
      steps=${even(0.02, 1, 0.02)} change=${change('price')} />
    <${Slider} name="carbon" label="Carbon" unit="g CO2e/kWh" off=${country ? 'see below' : 'none'}
      value=${country ? '' : choices.carbon} steps=${even(10, 1000, 10)} change=${change('carbon')} />
    <${Field} name="country" label="or the country's, by its code" value=${country ? choices.carbon : ''} placeholder="FR"
      change=${(v) => set({carbon: v.toUpperCase()})} />
    <p class="after"><button type="button" id="as-usual" onClick=${() =>
      set({
        batch: '32',
        precision: 'default',
        optimizer: 'sgd',
        limit: '',
        samples: '50000',
        epochs: '10',
        price: '',
        carbon: '',
        ...Object.fromEntries(
          Object.keys(choices)
            .filter((k) => k.startsWith('dim.'))
            .map((k) => [k, ''])
        )
      })}>All as usual</button></p>
  </section>`;
}
