/** One sample of a scrape. */
export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** A scrape, read strictly. */
export interface Exposition {
  /** Type of each metric family. */
  families: Map<string, string>;
  samples: Sample[];
  /** Sum of the samples of a name whose labels include the given ones; undefined when there are none. */
  value(name: string, labels?: Record<string, string>): number | undefined;
}

/** Reads the metrics of an internal port. */
export async function scrape(internalPort: number): Promise<Exposition> {
  const response = await fetch(`http://127.0.0.1:${internalPort}/metrics`);
  if (response.status !== 200) throw new Error(`/metrics answers ${response.status}`);
  if (response.headers.get('Content-Type') !== 'text/plain; version=0.0.4; charset=utf-8')
    throw new Error('/metrics is not Prometheus text');
  return parseExposition(await response.text());
}

/**
 * Parses Prometheus' text format (version 0.0.4).
 * @throws Error for an invalid line, and for a sample without HELP and TYPE before it
 */
export function parseExposition(text: string): Exposition {
  const helps = new Set<string>();
  const families = new Map<string, string>();
  const samples: Sample[] = [];
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  for (const line of text.split('\n').filter((line) => line !== '')) {
    const [, keyword, name = '', rest = ''] = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line) ?? [];
    if (keyword === 'HELP') helps.add(name);
    else if (keyword === 'TYPE' && /^(counter|gauge|histogram|summary)$/.test(rest) && !families.has(name))
      families.set(name, rest);
    else samples.push(parseSample(line, families, helps));
  }
  return {
    families,
    samples,
    value(name, labels = {}) {
      const found = samples.filter(
        (sample) =>
          sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
      );
      return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
    },
  };
}

function parseSample(line: string, families: Map<string, string>, helps: Set<string>): Sample {
  const parts =
    /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\]|\\["\\n])*",?)*)\})? (-?\d\S*|\+Inf|-Inf|[Nn]a[Nn])$/.exec(
      line,
    );
  if (parts === null) throw new Error(`not a sample: ${line}`);
  const [, name = '', labelText = '', value = ''] = parts;
  const family = familyOf(name, families);
  if (family === undefined || !helps.has(family)) throw new Error(`no HELP or TYPE: ${line}`);
  const labels = Object.fromEntries(
    [...labelText.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label, text]),
  );
  return { name, labels, value: Number(value.replace('Inf', 'Infinity')) };
}

function familyOf(name: string, families: Map<string, string>): string | undefined {
  if (families.has(name)) return name;
  const base = name.replace(/_(bucket|sum|count)$/, '');
  return /^(histogram|summary)$/.test(families.get(base) ?? '') ? base : undefined;
}
