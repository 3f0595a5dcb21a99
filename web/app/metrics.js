// Reads the text of /metrics: [{name, labels, value}].
const LINE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };

export function parseMetrics(text) {
  const samples = [];
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : LINE.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) {
      labels[name] = value.replace(/\\[n"\\]/g, (escape) => ESCAPES[escape]);
    }
    samples.push({ name: found[1], labels, value: Number(found[3]) });
  }
  return samples;
}

// The sum of a family's samples whose labels are these.
export function total(samples, name, wanted = {}) {
  let sum = 0;
  for (const { name: its, labels, value } of samples) {
    if (its === name && Object.entries(wanted).every(([key, text]) => labels[key] === text)) sum += value;
  }
  return sum;
}

// The values that a label takes in a family, in the order of the text.
export function valuesOf(samples, name, label) {
  return [...new Set(samples.filter((each) => each.name === name).map((each) => each.labels[label]))];
}

// The value below which `part` of a histogram's observations lie; null if there are none.
export function quantileOf(samples, name, wanted, part) {
  const buckets = samples
    .filter((each) => each.name === `${name}_bucket` && Object.entries(wanted).every(([key, text]) => each.labels[key] === text))
    .map((each) => ({ to: each.labels.le === "+Inf" ? Infinity : Number(each.labels.le), below: each.value }));
  const all = buckets.length ? buckets[buckets.length - 1].below : 0;
  if (!all) return null;
  let from = 0,
    before = 0;
  for (const { to, below } of buckets) {
    if (below >= part * all) {
      if (to === Infinity) return from;
      return from + ((to - from) * (part * all - before)) / Math.max(1, below - before);
    }
    from = to;
    before = below;
  }
  return from;
}
