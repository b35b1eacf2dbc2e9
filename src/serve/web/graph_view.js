// The network's own graph, coloured by the share of the joules that each layer takes.
import {html, ampere, render, useEffect, useRef, useState} from './library.js';
import {WIDE, HIGH} from './layout.js';
import {save} from './parts.js';

const HOT = [213, 94, 0]; // ampere.COLOURS[1]
const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
const brightness = (rgb) =>
  rgb
    .map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
function colours(share, most, theme) {
  const cold = channels(theme.surface),
    t = most > 0 ? Math.sqrt(Math.max(0, share) / most) : 0;
  const fill = cold.map((c, i) => Math.round(c + (HOT[i] - c) * t));
  return {fill: `rgb(${fill.join()})`, text: brightness(fill) > 0.19 ? '#10151d' : '#ffffff'};
}
// Names of layers differ at their ends.
const cut = (text, most) => (text.length > most ? '…' + text.slice(1 - most) : text);
function curve(points) {
  let d = '';
  points.forEach((p, i) => {
    if (i === 0) {
      d = `M${p.x.toFixed(1)},${(p.y + HIGH / 2).toFixed(1)}`;
      return;
    }
    const before = points[i - 1],
      from = before.y + HIGH / 2,
      to = p.y - HIGH / 2,
      middle = (from + to) / 2;
    d += `C${before.x.toFixed(1)},${middle.toFixed(1)} ${p.x.toFixed(1)},${middle.toFixed(1)} ${p.x.toFixed(1)},${to.toFixed(1)}`;
    if (p.lane) d += `L${p.x.toFixed(1)},${(p.y + HIGH / 2).toFixed(1)}`;
  });
  return d;
}

// layers: [{name, share, words}], as many as the layout has places.
function Graph({layers, placed, theme, picked, pick, title}) {
  const most = Math.max(...layers.map((l) => l.share || 0));
  return html`<svg xmlns="http://www.w3.org/2000/svg" width=${placed.width} height=${placed.height}
    viewBox=${`0 0 ${placed.width} ${placed.height}`}
      role="img" aria-label=${title} font-family="system-ui, Helvetica, Arial, sans-serif" font-size="12.5">
    ${placed.lines.map((line) => html`<path d=${curve(line)} fill="none" stroke=${theme.muted} stroke-width="1.3" opacity=".75" />`)}
    ${placed.nodes.map((at, i) => {
      const layer = layers[i],
        look = colours(layer.share || 0, most, theme),
        chosen = i === picked;
      return html`<g transform=${`translate(${(at.x - WIDE / 2).toFixed(1)},${(at.y - HIGH / 2).toFixed(1)})`} class="layer"
        data-layer=${i} onClick=${pick && (() => pick(i))}>
        <title>${layer.words}</title>
        <rect width=${WIDE} height=${HIGH} rx="7" fill=${look.fill} stroke=${chosen ? theme.strong : theme.muted}
          stroke-width=${chosen ? 2.5 : 0.8} />
        <text x="9" y="21.5" fill=${look.text}>${cut(layer.name, 14)}</text>
        <text x=${WIDE - 8} y="21.5" text-anchor="end" font-weight="600"
          fill=${look.text}>${layer.share === null ? '' : ampere.percent(layer.share)}</text></g>`;
    })}</svg>`;
}

// graph: of graphOf(), with its layout as `placed`.
export function GraphCard({graph, estimate, device, picked, pick}) {
  const holder = useRef();
  const [, redraw] = useState(0);
  useEffect(() => ampere.theme.follow(() => redraw((n) => n + 1)), []);
  const placed = graph.placed;
  const total = estimate.energy_j[0];
  const byName = new Map(estimate.layers.map((l) => [l.name, l]));
  const layers = graph.layers.map((layer) => {
    const cost = byName.get(layer.name);
    return {
      name: layer.name,
      share: cost ? cost.energy_j[0] / total : null,
      words: `${layer.name}: ${layer.ops}${cost ? `, ${ampere.range(cost.energy_j, 'J')}, ${ampere.percent(cost.energy_j[0] / total)}` : ''}`
    };
  });
  const title = `Graph of ${estimate.model}, ${layers.length} layers, coloured by their share of the energy on ${device}; the table of layers has the same figures`;
  useEffect(() => {
    holder.current.scrollLeft = placed.nodes.length ? placed.nodes[0].x - holder.current.clientWidth / 2 : 0;
  }, [placed]);
  // What was picked in the table comes into sight.
  useEffect(() => {
    const box = holder.current,
      at = placed.nodes[picked];
    if (at && (at.y < box.scrollTop + 20 || at.y > box.scrollTop + box.clientHeight - 20)) box.scrollTop = at.y - box.clientHeight / 2;
  }, [picked]);
  function svg() {
    const away = document.createElement('div');
    render(html`<${Graph} layers=${layers} placed=${placed} theme=${ampere.THEMES.light} picked=${-1} title=${title} />`, away);
    return new XMLSerializer().serializeToString(away.querySelector('svg'));
  }
  return html`<div class="card" id="graph-card"><div class="title"><h3>The network</h3>
      <button type="button" class="download" title="This graph as SVG"
        onClick=${() => save(ampere.slug(estimate.model) + '-graph.svg', 'image/svg+xml', svg())}>SVG</button></div>
    <p class="caption">Redder layers take more of the energy on ${device}. Pick one to find it in the table.</p>
    <div class="graph" ref=${holder} tabindex="0" role="group" aria-label="Graph, can be scrolled"><${Graph} layers=${layers}
      placed=${placed} theme=${ampere.theme.colours()} picked=${picked} pick=${pick} title=${title} /></div></div>`;
}
