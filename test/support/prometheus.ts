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

const HEADER = /^# (HELP|TYPE) (\S+) (.+)$/;
const SAMPLE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** Reads the text format of Prometheus, by name of metric. */
export function parseMetrics(text: string): Map<string, Family> {
  const families = new Map<string, { type: string; help: string; samples: Sample[] }>();
  for (const line of text.split('\n').filter(Boolean)) {
    const [, kind, name, rest] = HEADER.exec(line) ?? [];
    if (kind === 'HELP') families.set(name!, { type: '', help: rest!, samples: [] });
    else if (kind === 'TYPE') families.get(name!)!.type = rest!;
    else {
      const sample = parseSample(line);
      const family = families.get(sample.name) ?? families.get(sample.name.replace(/_(bucket|sum|count)$/, ''));
      if (family === undefined) throw new Error(`a sample of nothing: ${line}`);
      family.samples.push(sample);
    }
  }
  return families;
}

function parseSample(line: string): Sample {
  const found = SAMPLE.exec(line);
  if (found === null) throw new Error(`no sample: ${line}`);
  const [, name, labels = '', value] = found;
  return {
    name: name!,
    labels: Object.fromEntries(labels.matchAll(LABEL).map(([, label, text]) => [label!, text!])),
    value: Number(value!.replace(/Inf$/, 'Infinity')),
  };
}
