import { LABELS, type SubjectName } from '../subjects/subject.ts';

/** Those with goals first. */
export const PARTS = ['connections', 'latency', 'new-connections', 'sizes', 'endpoints', 'processes'] as const;
export type Part = (typeof PARTS)[number];

/** What one measurement is of. */
export interface Setting {
  part: Part;
  subject: SubjectName;
  connections: number;
  /** Every request opens a connection of its own. */
  newConnections: boolean;
  bodyBytes: number;
  /** Each of a user of its own; a capture picks one at random. */
  endpoints: number;
  /** API processes, and as many workers. */
  processes: number;
  /** At a steady half of the rate that is sustained with as many connections. */
  halfRate: boolean;
}

export const USUAL = { connections: 64, newConnections: false, bodyBytes: 1024, endpoints: 1, processes: 1 } as const;

/** What distinguishes a setting from the others of its part, but for the subject. */
export function shapeOf(setting: Setting): string {
  const { part, connections, newConnections, bodyBytes, endpoints, processes, halfRate } = setting;
  switch (part) {
    case 'connections':
      return `${connections} connection${connections === 1 ? '' : 's'}`;
    case 'new-connections':
      return newConnections ? 'a new connection each' : 'kept connections';
    case 'sizes':
      return `${Number((bodyBytes / 1024).toFixed(1))} KiB, ${connections} connections`;
    case 'endpoints':
      return `${endpoints.toLocaleString('en')} endpoint${endpoints === 1 ? '' : 's'}`;
    case 'processes':
      return `${processes} + ${processes} processes`;
    case 'latency':
      return halfRate ? 'half of that rate' : `sustained rate, ${connections} connections`;
  }
}

export function labelOf(setting: Setting): string {
  return `${LABELS[setting.subject]}, ${shapeOf(setting)}`;
}
