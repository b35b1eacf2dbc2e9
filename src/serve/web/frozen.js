// A saved report is this page with its answers kept in it: nothing is asked, and nothing can be changed but what is shown.
const kept = document.getElementById('frozen');

// {title, saved_at, version, view, asked: {estimate: ...}, answers: {'estimate': ...}}, or null on a server's page.
export const frozen = kept ? JSON.parse(kept.textContent) : null;

// By the path that a server would be asked with.
export function keptAnswer(path) {
  return frozen.answers[path.split('?')[0]];
}

// What was chosen when it was saved, as the page keeps it.
export function keptChoices() {
  const {network, batch, power_limit_w: limit, precision, optimizer} = frozen.asked.estimate;
  const choices = {view: frozen.view || 'estimate', zoo: network.zoo || '', id: network.id || ''};
  for (const [key, value] of Object.entries({batch, limit, precision, optimizer})) if (value !== undefined) choices[key] = String(value);
  return choices;
}

// The views that have something to show.
export function keptViews() {
  const {prune, tune, schedule} = frozen.answers;
  return ['estimate', ...(prune ? ['prune'] : []), ...(tune ? ['tune'] : []), ...(schedule ? ['plan'] : []), 'devices'];
}
