import { formatFilter, NO_FILTER, parseFilter, type Filter } from './filter.ts';

/** What the page shows, and what its address says after `#`. A token is never a part of it. */
export interface Address {
  endpoint: string | undefined;
  /** The entry that is open. */
  request: string | undefined;
  /** The entry that the open one is compared with. */
  compare: string | undefined;
  filter: Filter;
}

export const START: Address = { endpoint: undefined, request: undefined, compare: undefined, filter: NO_FILTER };

const ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** @param hash as `location.hash` has it; what cannot be read is left out */
export function parseAddress(hash: string): Address {
  const [path, query] = splitOnce(hash.replace(/^#/, ''), '?');
  const [, e, endpoint = '', r, request = ''] = path.split('/');
  if (e !== 'e' || !ID.test(endpoint)) return START;
  const parameters = new URLSearchParams(query);
  const opened = r === 'r' ? idOf(request) : undefined;
  return {
    endpoint: endpoint.toLowerCase(),
    request: opened,
    compare: opened === undefined ? undefined : idOf(parameters.get('with') ?? ''),
    filter: parseFilter(parameters),
  };
}

export function formatAddress({ endpoint, request, compare, filter }: Address): string {
  if (endpoint === undefined) return '#/';
  const parameters = formatFilter(filter);
  if (request !== undefined && compare !== undefined) parameters.set('with', compare);
  const query = parameters.toString();
  return `#/e/${endpoint}${request === undefined ? '' : `/r/${request}`}${query === '' ? '' : `?${query}`}`;
}

/** Where a change leads. What belongs to an endpoint, or to an entry, is left behind with it. */
export function changeAddress(before: Address, change: Partial<Address>): Address {
  const moved = change.endpoint !== undefined && change.endpoint !== before.endpoint;
  return {
    ...before,
    ...(moved && { request: undefined, filter: NO_FILTER }),
    ...((moved || 'request' in change) && { compare: undefined }),
    ...change,
  };
}

function idOf(text: string): string | undefined {
  return ID.test(text) ? text.toLowerCase() : undefined;
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
