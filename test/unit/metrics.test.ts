import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { createApiMetrics } from '../../src/api/metrics.ts';
import { createWorkerMetrics } from '../../src/worker/metrics.ts';
import { parseExposition } from '../support/exposition.ts';

/** Name → `type; labels; roles`, from the page for operators. */
function documented(): Map<string, string> {
  const rows = readFileSync('src/ops/README.md', 'utf8').matchAll(
    /^\| `(hookbay_\w+)` \| (\w+) \|([^|]*)\| (\w+) \|/gm,
  );
  return new Map(
    [...rows].map(([, name = '', type, labels = '', roles]) => [
      name,
      [type, [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label).join(','), roles].join('; '),
    ]),
  );
}

/** The metrics in the registries; a metric of both roles is listed once, as `both`. */
async function registered(): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const [role, { registry }] of Object.entries({ api: createApiMetrics(), worker: createWorkerMetrics() })) {
    for (const { name, type } of await registry.getMetricsAsJSON()) {
      if (!name.startsWith('hookbay_')) continue;
      const { labelNames } = registry.getSingleMetric(name) as unknown as { labelNames: string[] };
      const described = `${String(type)}; ${labelNames.join(',')}`;
      found.set(name, `${described}; ${found.has(name) ? 'both' : role}`);
    }
  }
  return found;
}

test('the page for operators lists all metrics, with their types, labels and roles', async () => {
  const [names, metrics] = [documented(), await registered()];
  expect(Object.fromEntries(names)).toEqual(Object.fromEntries(metrics));
  expect(metrics.size).toBe(29);
});

test('a scrape is well-formed, and has the series of the alerts from the start', async () => {
  const api = parseExposition(await createApiMetrics().scrape());
  expect(api.value('hookbay_captures_total', { outcome: 'unavailable' })).toBe(0);
  expect(api.value('hookbay_batch_captures_count')).toBe(0);
  expect(api.families.get('nodejs_eventloop_lag_p99_seconds')).toBe('gauge');
  const worker = parseExposition(await createWorkerMetrics().scrape());
  expect(worker.value('hookbay_swept_rows_total', { kind: 'retired' })).toBe(0);
  expect(worker.families.has('process_resident_memory_bytes')).toBe(true);
});

test('metrics of a single worker have no value before it sets them', async () => {
  const worker = parseExposition(await createWorkerMetrics().scrape());
  for (const name of [
    'hookbay_queue_jobs',
    'hookbay_queue_oldest_waiting_seconds',
    'hookbay_dead_letters',
    'hookbay_purges_pending',
  ]) {
    expect([name, worker.families.get(name), worker.value(name)]).toEqual([name, 'gauge', undefined]);
  }
});

test('registries share nothing, and a scrape succeeds when a reader fails', async () => {
  const [one, other] = [createApiMetrics(), createApiMetrics()];
  one.captures.accepted.inc();
  one.onScrape(() => {
    throw new Error('out of order');
  });
  one.onScrape(async () => one.sockets.set(7));
  const [text, otherText] = [parseExposition(await one.scrape()), parseExposition(await other.scrape())];
  expect([text.value('hookbay_captures_total', { outcome: 'accepted' }), text.value('hookbay_sockets')]).toEqual([
    1, 7,
  ]);
  expect([
    otherText.value('hookbay_captures_total', { outcome: 'accepted' }),
    otherText.value('hookbay_sockets'),
  ]).toEqual([0, 0]);
});
