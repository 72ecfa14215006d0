import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** The metrics of one process. Labels have few values, never an id: ids belong in logs. */
export interface Metrics {
  registry: Registry;
  /** Registers a function that sets gauges at each scrape. When it fails, its gauges keep their values. */
  onScrape(read: () => void | Promise<void>): void;
  /** Registers the source of the state of the database's connection pool. */
  measureConnections(read: () => Record<'open' | 'idle' | 'waiting', number>): void;
  scrape(): Promise<string>;
}

/** A registry of its own, so that several roles can run in one process, and functions that create metrics in it. */
export function createInstruments() {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const readers: (() => void | Promise<void>)[] = [];
  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <L extends string>(name: string, help: string, ...labelNames: L[]): Gauge<L> =>
    new Gauge({ name, help, labelNames, registers });
  const histogram = <L extends string>(
    name: string,
    help: string,
    buckets: number[],
    ...labelNames: L[]
  ): Histogram<L> => new Histogram({ name, help, buckets, labelNames, registers });

  const connections = gauge(
    'hookbay_database_connections',
    'Connections to the database: open, of these idle, and callers that are waiting for one',
    'state',
  );

  const base: Metrics = {
    registry,
    onScrape: (read) => void readers.push(read),
    measureConnections(read) {
      readers.push(() => {
        for (const [state, count] of Object.entries(read())) connections.set({ state }, count);
      });
    },
    async scrape() {
      await Promise.allSettled(readers.map(async (read) => read()));
      return registry.metrics();
    },
  };
  return { base, counter, gauge, histogram };
}

/** `rate()` misses the first event of a counter that did not exist before it. */
export function startingAtZero<L extends string>(counter: Counter<L>, label: string): Counter.Internal {
  const child = counter.labels(label);
  child.inc(0);
  return child;
}

/** Removes the initial 0 of a gauge without labels. */
export function withoutValue(gauge: Gauge): Gauge {
  gauge.remove();
  return gauge;
}
