import { readFileSync } from 'node:fs';
import { beforeAll, expect, test } from 'vitest';
import { createApiMetrics } from '../../src/api/metrics.ts';
import { createWorkerMetrics } from '../../src/worker/metrics.ts';
import { CHART, render } from './support/helm.ts';
import { one, podsOf, selects, specOf, type Manifest } from './support/manifests.ts';
import { chartSuite, newestHelm } from './support/suite.ts';

/** The metrics of Hookbay's processes, with the labels that queries may use. */
const METRICS: Record<string, string[]> = {
  hookbay_captures_total: ['outcome'],
  hookbay_receipt_seconds: ['le'],
  hookbay_batch_captures: ['le'],
  hookbay_capture_refusals_total: ['reason'],
  hookbay_intake_bytes: [],
  hookbay_answer_bytes: [],
  hookbay_http_requests_total: ['route', 'status'],
  hookbay_http_request_seconds: ['le', 'route'],
  hookbay_sockets: [],
  hookbay_socket_closes_total: ['reason'],
  hookbay_replayed_events_total: [],
  hookbay_followers: ['kind'],
  hookbay_stream_ends_total: ['reason'],
  hookbay_redis_memory_ratio: [],
  hookbay_redis_memory_refusing: [],
  hookbay_persist_seconds: ['le'],
  hookbay_persisted_captures_total: [],
  hookbay_capture_to_commit_seconds: ['le'],
  hookbay_dead_lettered_captures_total: [],
  hookbay_orphaned_captures_total: [],
  hookbay_events_total: [],
  hookbay_commit_to_event_seconds: ['le'],
  hookbay_swept_rows_total: ['kind'],
  hookbay_sweep_last_success_timestamp_seconds: [],
  hookbay_queue_jobs: ['queue', 'state'],
  hookbay_queue_oldest_waiting_seconds: ['queue'],
  hookbay_dead_letters: [],
  hookbay_purges_pending: [],
  hookbay_database_connections: ['state'],
  nodejs_eventloop_lag_p99_seconds: [],
  process_resident_memory_bytes: [],
  // Those of Prometheus and of kube-state-metrics.
  up: [],
  kube_deployment_spec_replicas: ['deployment'],
  kube_deployment_status_replicas_available: ['deployment'],
};

interface Rule {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: { summary: string; runbook_url: string };
}

let manifests: Manifest[];
let rules: Rule[];

const rulesOf = (rendered: Manifest[]): Rule[] =>
  (specOf(one(rendered, 'PrometheusRule'), 'groups') as { rules: Rule[] }[])[0]?.rules ?? [];

/** Metrics of an expression and its labels. */
function namesIn(expression: string): { metrics: string[]; labels: string[] } {
  const bare = expression.replaceAll(/"[^"]*"/g, '""');
  const metrics = [...bare.matchAll(/\b([a-z][a-z0-9_]*)\{/g)].map(([, name]) =>
    (name as string).replace(/_(bucket|sum|count)$/, ''),
  );
  const labels = [
    ...bare.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*""/g),
    ...[...bare.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => [...(list as string).matchAll(/(\w+)/g)]),
  ].map(([, label]) => label as string);
  return { metrics, labels };
}

function unknownIn(expression: string): string[] {
  const { metrics, labels } = namesIn(expression);
  const known = ['namespace', 'pod', ...metrics.flatMap((name) => METRICS[name] ?? [])];
  return [
    ...metrics.filter((name) => !(name in METRICS)),
    ...labels.filter((label) => !known.includes(label)),
    ...(metrics.length === 0 ? ['no metric'] : []),
  ];
}

test('the processes have these metrics, and no others of Hookbay', async () => {
  const registries = [createApiMetrics(), createWorkerMetrics()].map(({ registry }) => registry);
  const known = (await Promise.all(registries.map((registry) => registry.getMetricsAsJSON())))
    .flat()
    .map(({ name }) => name);
  const foreign = /^(up$|kube_)/;
  expect(Object.keys(METRICS).filter((name) => !foreign.test(name) && !known.includes(name))).toEqual([]);
  expect(known.filter((name) => name.startsWith('hookbay_') && !(name in METRICS))).toEqual([]);
});

test('an unknown metric or label is detected', () => {
  expect(unknownIn('max(hookbay_queue_job{queue="capture"})')).toEqual(['hookbay_queue_job', 'queue']);
  expect(unknownIn('sum by (outcme) (rate(hookbay_captures_total{outcome="accepted"}[5m]))')).toEqual(['outcme']);
});

chartSuite('alerts, dashboard and monitors', () => {
  beforeAll(async () => {
    manifests = await render(newestHelm(), { file: 'monitoring-pod.yaml' });
    rules = rulesOf(manifests);
  });

  test('alerts query existing metrics, of this installation alone', () => {
    expect(rules.length).toBeGreaterThan(7);
    for (const { alert, expr } of rules) {
      expect(unknownIn(expr), alert).toEqual([]);
      for (const [, selector] of expr.matchAll(/\{([^}]*)\}/g))
        expect(selector, alert).toMatch(/namespace="hooks",(pod|deployment)=~"hb-hookbay-/);
    }
  });

  test('every alert has a paragraph in the README, and every paragraph an alert', () => {
    const [, runbooks = ''] = /## Runbooks\n([\s\S]*?)\n## /.exec(readFileSync(`${CHART}/README.md`, 'utf8')) ?? [];
    const paragraphs = new Map([...runbooks.matchAll(/^### (\w+)\n\n([^#]+)/gm)].map(([, name, text]) => [name, text]));
    expect(rules.map(({ alert }) => alert)).toEqual([...paragraphs.keys()]);
    for (const { alert, annotations, labels } of rules) {
      expect(paragraphs.get(alert)?.length, alert).toBeGreaterThan(200);
      expect(annotations.runbook_url).toBe(`https://runbooks.example.com/hookbay#${alert.toLowerCase()}`);
      expect(labels['severity']).toMatch(/^(warning|critical)$/);
    }
  });

  test('thresholds, labels and the list of disabled alerts are values', async () => {
    expect(rules.find(({ alert }) => alert === 'HookbayCapturesWaiting')?.expr).toMatch(/> 30$/);
    expect(rules.find(({ alert }) => alert === 'HookbaySweepStalled')?.expr).toMatch(/> 21600$/);
    const others = rulesOf(await render(newestHelm(), { file: 'monitoring-service.yaml' }));
    expect(others).toHaveLength(rules.length - 1);
    expect(others.map(({ labels }) => labels['team'])).toEqual(others.map(() => 'hooks'));
  });

  test('every panel of the dashboard queries existing metrics, and every metric of Hookbay is in a panel', () => {
    const [json = ''] = Object.values(one(manifests, 'ConfigMap', '-dashboard').data ?? {});
    const { panels } = JSON.parse(json) as { panels: { title: string; targets: { expr: string }[] }[] };
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    for (const expression of expressions) expect(unknownIn(expression), expression).toEqual([]);
    const displayed = expressions.flatMap((expression) => namesIn(expression).metrics);
    expect(Object.keys(METRICS).filter((name) => name.startsWith('hookbay_') && !displayed.includes(name))).toEqual([]);
  });

  test('a PodMonitor selects api and worker pods, each once, and nothing else', () => {
    const { selector, podMetricsEndpoints } = one(manifests, 'PodMonitor').spec as unknown as {
      selector: { matchLabels: Record<string, string>; matchExpressions: { key: string; values: string[] }[] };
      podMetricsEndpoints: object[];
    };
    const found = podsOf(manifests).filter(
      ({ labels }) =>
        selects(selector.matchLabels, labels) &&
        selector.matchExpressions.every(({ key, values }) => values.includes(labels[key] ?? '')),
    );
    expect(found.map(({ owner }) => owner.metadata.name).toSorted()).toEqual(['hb-hookbay-api', 'hb-hookbay-worker']);
    expect(podMetricsEndpoints).toEqual([
      expect.objectContaining({ port: 'internal', path: '/metrics', interval: '15s' }),
    ]);
  });

  test('a ServiceMonitor selects a headless Service for each, also of pods that are not ready', async () => {
    const rendered = await render(newestHelm(), { file: 'monitoring-service.yaml' });
    const { selector } = one(rendered, 'ServiceMonitor').spec as unknown as {
      selector: { matchLabels: Record<string, string>; matchExpressions: { key: string; values: string[] }[] };
    };
    const services = rendered.filter(
      ({ kind, metadata }) =>
        kind === 'Service' &&
        selects(selector.matchLabels, metadata.labels ?? {}) &&
        selector.matchExpressions.every(({ key, values }) => values.includes(metadata.labels?.[key] ?? '')),
    );
    expect(services.map(({ metadata }) => metadata.name)).toEqual([
      'hb-hookbay-api-metrics',
      'hb-hookbay-worker-metrics',
    ]);
    for (const { spec } of services) expect(spec).toMatchObject({ clusterIP: 'None', publishNotReadyAddresses: true });
  });
});
