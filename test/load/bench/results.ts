import { LABELS } from '../subjects/subject.ts';
import type { Figures } from './measure.ts';
import { shapeOf, type Setting } from './setting.ts';
import { spreadOf, type Spread } from '../../support/statistics.ts';

export interface Measurement extends Setting, Figures {
  round: number;
}

/** The measurements of one setting over all rounds. */
export interface Summary {
  setting: Setting;
  rounds: number;
  receiptsPerSecond: Spread;
  storedPerSecond: Spread;
  p50: Spread;
  p99: Spread;
  /** By what processes do, and in all. */
  cpu: Record<string, Spread>;
  backlog: Spread;
  drainMs: Spread;
  generatorShare: Spread;
  capturesPerBatch: Spread;
  redisReadsPerBatch: Spread;
  statementsPerTransaction: Spread;
}

/** By part and shape in the order of measurement, and then by subject. */
export function summarize(measurements: readonly Measurement[]): Summary[] {
  const groups = Map.groupBy(measurements, (one) => `${one.part} ${shapeOf(one)} ${one.subject}`);
  const shapes = Map.groupBy([...groups.values()].map(summarizeOne), ({ setting }) => {
    return `${setting.part} ${shapeOf(setting)}`;
  });
  const rank = ({ setting }: Summary): number => Object.keys(LABELS).indexOf(setting.subject);
  return [...shapes.values()].flatMap((group) => group.toSorted((a, b) => rank(a) - rank(b)));
}

function summarizeOne(rounds: readonly Measurement[]): Summary {
  const first = rounds[0] as Measurement;
  const { part, subject, connections, newConnections, bodyBytes, endpoints, processes, halfRate } = first;
  const of = (read: (one: Measurement) => number): Spread => spreadOf(rounds.map(read));
  return {
    setting: { part, subject, connections, newConnections, bodyBytes, endpoints, processes, halfRate },
    rounds: rounds.length,
    receiptsPerSecond: of((one) => one.receiptsPerSecond),
    storedPerSecond: of((one) => one.storedPerSecond),
    p50: of((one) => one.latency.p50),
    p99: of((one) => one.latency.p99),
    cpu: Object.fromEntries(Object.keys(first.cpu).map((role) => [role, of((one) => one.cpu[role] ?? Number.NaN)])),
    backlog: of((one) => one.backlog),
    drainMs: of((one) => one.drainMs),
    generatorShare: of((one) => one.generatorShare),
    capturesPerBatch: of((one) => one.capturesPerBatch),
    redisReadsPerBatch: of((one) => one.redisReadsPerBatch),
    statementsPerTransaction: of((one) => one.statementsPerTransaction),
  };
}
