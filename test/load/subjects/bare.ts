import { newEndpointId } from '../../../src/domain/ids.ts';
import { startChild } from './child.ts';
import type { Subject } from './subject.ts';

/** A receipt without anything behind it. */
export function openBare(name: 'node' | 'koa'): Subject {
  const file = name === 'node' ? 'bare-http.ts' : 'bare-koa.ts';
  return {
    name,
    about: 'reads the body and answers',
    paths: (count) => Promise.resolve(Array.from({ length: count }, () => `/h/${newEndpointId()}`)),
    async start(processes) {
      const children = await Promise.all(Array.from({ length: processes }, () => startChild(file)));
      return {
        ports: children.map(({ port }) => port),
        pids: { api: children.map(({ pid }) => pid) },
        stop: async () => void (await Promise.all(children.map((child) => child.end()))),
      };
    },
    close: () => Promise.resolve(),
  };
}
