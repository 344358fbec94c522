/** One sample of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A metric: its type, its help, and its samples. */
export interface Family {
  readonly type: string;
  readonly help: string;
  readonly samples: Sample[];
}

const HEADER = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/;
const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_]\w*)="((?:[^"\\\n]|\\[\\"n])*)"(?:,|$)/gy;
const TYPES = ['counter', 'gauge', 'histogram', 'summary'];

/**
 * Parses the text format of Prometheus, by name of metric. As strict as the standard: throws for a malformed line, a
 * sample without HELP and TYPE before it, a duplicate series, or a histogram with inconsistent buckets.
 */
export function parseMetrics(text: string): Map<string, Family> {
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  const families = new Map<string, Family>();
  const helps = new Map<string, string>();
  const series = new Set<string>();
  for (const line of text.split('\n').filter(Boolean)) {
    const header = HEADER.exec(line);
    if (header !== null) {
      const [, kind, name, rest] = header as unknown as [string, string, string, string];
      if (kind === 'HELP') helps.set(name, rest);
      else if (!TYPES.includes(rest) || families.has(name) || !helps.has(name)) throw new Error(`bad type: ${line}`);
      else families.set(name, { type: rest, help: helps.get(name)!, samples: [] });
      continue;
    }
    const sample = parseSample(line);
    const family = families.get(sample.name) ?? families.get(sample.name.replace(/_(bucket|sum|count)$/, ''));
    if (family === undefined) throw new Error(`a sample of nothing: ${line}`);
    const id = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted()]);
    if (series.has(id)) throw new Error(`twice: ${line}`);
    series.add(id);
    family.samples.push(sample);
  }
  for (const [name, { type, samples }] of families) if (type === 'histogram') checkHistogram(name, samples);
  return families;
}

function parseSample(line: string): Sample {
  const found = SAMPLE.exec(line);
  const value = Number(found?.[3]?.replace(/^([+-]?)Inf$/, '$1Infinity'));
  if (found === null || (Number.isNaN(value) && found[3]?.toLowerCase() !== 'nan'))
    throw new Error(`no sample: ${line}`);
  const labels = [...(found[2] ?? '').matchAll(LABEL)];
  if (labels.map(([whole]) => whole).join('') !== (found[2] ?? '')) throw new Error(`bad labels: ${line}`);
  return { name: found[1]!, labels: Object.fromEntries(labels.map(([, name, text]) => [name!, text!])), value };
}

function checkHistogram(name: string, samples: readonly Sample[]): void {
  const byLabels = Map.groupBy(samples, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest));
  for (const group of byLabels.values()) {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`).map(({ value }) => value);
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    const rising = buckets.every((value, index) => index === 0 || value >= buckets[index - 1]!);
    if (!rising || buckets.at(-1) !== count) throw new Error(`the buckets of ${name} do not add up`);
  }
}
