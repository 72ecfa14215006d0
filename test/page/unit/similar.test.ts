import { expect, test } from 'vitest';
import { NO_FILTER } from '../../../src/page/model/filter.ts';
import { similarTo } from '../../../src/page/model/similar.ts';
import { entryOf } from './entries.ts';

test('what is like an entry has its method, its path behind the key, and its event', () => {
  const entry = entryOf({
    method: 'PUT',
    target: '/h/orders/a/b?c=d',
    headers: [
      ['Accept', '*/*'],
      ['X-GitHub-Event', 'push'],
    ],
  });
  expect(similarTo(entry)).toEqual({
    ...NO_FILTER,
    methods: ['PUT'],
    path: '/a/b',
    headers: [['x-github-event', 'push']],
  });
});

test('without a path or an event only the method counts', () => {
  const entry = entryOf({ target: '/h/orders', headers: [['constructor', 'x']] });
  expect(similarTo(entry)).toEqual({ ...NO_FILTER, methods: ['POST'] });
});
