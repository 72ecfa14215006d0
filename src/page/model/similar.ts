import { behindKey, type Entry } from './entry.ts';
import { NO_FILTER, type Filter } from './filter.ts';

/** Headers in which senders name the event, lower-case. */
const EVENT_HEADERS = [
  'x-github-event',
  'x-gitlab-event',
  'x-gitea-event',
  'x-event-key',
  'x-shopify-topic',
  'x-event-name',
  'x-event-type',
  'x-webhook-event',
  'ce-type',
];

/** What matches entries that are like this one: the same method, path and event. */
export function similarTo({ method, path, headers }: Entry): Filter {
  const event = EVENT_HEADERS.find((name) => Object.hasOwn(headers, name));
  return {
    ...NO_FILTER,
    methods: [method],
    path: behindKey(path),
    headers: event === undefined ? [] : [[event, headers[event] ?? '']],
  };
}
