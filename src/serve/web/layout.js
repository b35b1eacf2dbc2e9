// Where the layers of a network stand when it is drawn from top to bottom: each below all that it reads, edges that pass
// others led around them.

export const WIDE = 152;
export const HIGH = 34;
const GAP = 24,
  LANE = 10,
  SPACE = 16;

// count nodes and edges [from, to]. Returns {nodes: [{x, y}] (their middles), lines: [[{x, y}...]] (one for each edge),
// width, height}.
export function layout(count, edges) {
  const into = Array.from({length: count}, () => []),
    out = Array.from({length: count}, () => []);
  edges.forEach(([from, to]) => {
    into[to].push(from);
    out[from].push(to);
  });
  const rank = ranks(count, into, out);
  // Things that take a place in a row: layers, and lanes of edges that pass.
  const things = Array.from({length: count}, (_, i) => ({row: rank[i], wide: WIDE, up: [], down: []}));
  const paths = edges.map(([from, to]) => {
    const path = [from];
    for (let r = rank[from] + 1; r < rank[to]; ++r) {
      path.push(things.length);
      things.push({row: r, wide: LANE, lane: true, up: [], down: []});
    }
    path.push(to);
    for (let i = 0; i + 1 < path.length; ++i) {
      things[path[i]].down.push(path[i + 1]);
      things[path[i + 1]].up.push(path[i]);
    }
    return path;
  });
  const rows = [];
  things.forEach((thing, i) => (rows[thing.row] = rows[thing.row] || []).push(i));
  // The longest way through the network is drawn as a straight trunk, and everything else beside it.
  let trunk = rank.indexOf(Math.max(...rank));
  while (trunk !== undefined && trunk >= 0) {
    things[trunk].trunk = true;
    trunk = into[trunk].find((i) => rank[i] === rank[trunk] - 1);
  }
  order(things, rows);
  place(things, rows);
  const left = Math.min(...things.map((t) => t.x - t.wide / 2)),
    right = Math.max(...things.map((t) => t.x + t.wide / 2));
  const at = (t) => ({x: t.x - left + 12, y: 12 + HIGH / 2 + t.row * (HIGH + GAP)});
  return {
    nodes: things.slice(0, count).map(at),
    lines: paths.map((path) => path.map((i) => ({...at(things[i]), lane: Boolean(things[i].lane)}))),
    width: count ? right - left + 24 : 0,
    height: rows.length * (HIGH + GAP) - GAP + 24
  };
}

// The longest way from the top; what lies in a circle, which no network has, stays where it is found.
function ranks(count, into, out) {
  const rank = new Array(count).fill(0),
    left = into.map((i) => i.length);
  const ready = left.flatMap((n, i) => (n === 0 ? [i] : []));
  while (ready.length) {
    const from = ready.shift();
    out[from].forEach((to) => {
      rank[to] = Math.max(rank[to], rank[from] + 1);
      if (--left[to] === 0) ready.push(to);
    });
  }
  return rank;
}

// Fewer crossings: everything as near as possible to the mean place of its neighbours, down and up again.
function order(things, rows) {
  const number = () =>
    rows.forEach((row) =>
      row.forEach((i, k) => {
        things[i].place = k;
      })
    );
  number();
  for (let round = 0; round < 6; ++round) {
    const down = round % 2 === 0;
    (down ? rows : rows.slice().reverse()).forEach((row) => {
      row.forEach((i) => {
        const near = down ? things[i].up : things[i].down;
        things[i].wish = near.length ? near.reduce((sum, k) => sum + things[k].place, 0) / near.length : things[i].place;
      });
      row.sort((p, q) => things[p].wish - things[q].wish || things[p].place - things[q].place);
      row.forEach((i, k) => {
        things[i].place = k;
      });
    });
  }
}

function place(things, rows) {
  const between = (p, q) => (things[p].wide + things[q].wide) / 2 + SPACE;
  rows.forEach((row) => {
    let x = 0;
    row.forEach((i, k) => {
      things[i].x = x = k ? x + between(row[k - 1], i) : 0;
    });
    const trunk = things[row.find((i) => things[i].trunk) ?? row[0]].x;
    row.forEach((i) => {
      things[i].x -= trunk;
    });
  });
  for (let round = 0; round < 12; ++round) {
    (round % 2 === 0 ? rows : rows.slice().reverse()).forEach((row) => {
      row.forEach((i) => {
        const t = things[i],
          near = [...t.up, ...t.down];
        // Layers go by layers, if there are any beside them, and lanes give way.
        const solid = near.filter((k) => !things[k].lane);
        const by = !t.lane && solid.length ? solid : near;
        t.wish = t.trunk ? 0 : by.length ? by.reduce((s, k) => s + things[k].x, 0) / by.length : t.x;
      });
      spread(
        row.map((i) => things[i]),
        (k) => between(row[k - 1], row[k])
      );
    });
  }
}
// Wishes come true as far as neighbours allow: those in each other's way move, lanes much further than layers.
function spread(row, between) {
  const blocks = [];
  row.forEach((t, k) => {
    const weight = t.trunk ? 1e6 : t.lane ? 1 : 50;
    blocks.push({from: k, offset: [0], weight, sum: weight * t.wish, x: t.wish});
    while (blocks.length > 1) {
      const last = blocks[blocks.length - 1],
        before = blocks[blocks.length - 2];
      const shift = before.offset[before.offset.length - 1] + between(last.from);
      if (before.x + shift <= last.x) break;
      before.offset.push(...last.offset.map((o) => o + shift));
      before.sum += last.sum - shift * last.weight;
      before.weight += last.weight;
      before.x = before.sum / before.weight;
      blocks.pop();
    }
  });
  blocks.forEach((b) =>
    b.offset.forEach((o, k) => {
      row[b.from + k].x = b.x + o;
    })
  );
}
