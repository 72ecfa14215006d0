export type SubjectName = 'node' | 'koa' | 'plain' | 'hookbay' | 'against';

/** Something that answers captures: Hookbay, or what it is compared with. */
export interface Subject {
  name: SubjectName;
  /** Its code, and for a store its data, as text for the conditions. */
  about: string;
  /** Paths of so many endpoints, each of a user of its own; creates those that are missing. */
  paths(count: number): Promise<string[]>;
  start(processes: number): Promise<Running>;
  close(): Promise<void>;
}

/** Its processes. */
export interface Running {
  ports: number[];
  /** By what they do: `api`, `worker`, `redis`, `database`. */
  pids: Record<string, number[]>;
  /** What is stored so far; undefined for a subject that stores nothing. */
  books?: Bookkeeping;
  stop(): Promise<void>;
}

export interface Bookkeeping {
  /** Captures that are stored so far, as cheaply as it can be known. */
  stored(): Promise<number>;
  /** Each of these has to grow by one with each receipt. */
  totals(): Promise<Record<string, number>>;
  /** What the processes and stores have done so far. */
  work(): Promise<Work>;
  /** Removes the entries, so that every measurement starts with empty tables. */
  clear(): Promise<void>;
}

export interface Work {
  /** Captures of one enqueued job are a batch. */
  batches: number;
  transactions: number;
  /** What Redis read from sockets: a pipeline that comes in one piece counts once. */
  redisReads: number;
  statements: number;
}

export const LABELS: Record<SubjectName, string> = {
  node: 'bare node:http',
  koa: 'bare Koa',
  plain: 'plain pipeline',
  hookbay: 'Hookbay',
  against: 'Hookbay, other',
};
