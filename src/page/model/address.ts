import { formatFilter, NO_FILTER, parseFilter, type Filter } from './filter.ts';

/** What the page shows, and what its address says after `#`. A token is never a part of it. */
export interface Address {
  endpoint: string | undefined;
  /** The entry that is open. */
  request: string | undefined;
  filter: Filter;
}

export const START: Address = { endpoint: undefined, request: undefined, filter: NO_FILTER };

const ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** @param hash as `location.hash` has it; what cannot be read is left out */
export function parseAddress(hash: string): Address {
  const [path, query] = splitOnce(hash.replace(/^#/, ''), '?');
  const [, e, endpoint = '', r, request = ''] = path.split('/');
  if (e !== 'e' || !ID.test(endpoint)) return START;
  return {
    endpoint: endpoint.toLowerCase(),
    request: r === 'r' && ID.test(request) ? request.toLowerCase() : undefined,
    filter: parseFilter(new URLSearchParams(query)),
  };
}

export function formatAddress({ endpoint, request, filter }: Address): string {
  if (endpoint === undefined) return '#/';
  const query = formatFilter(filter).toString();
  return `#/e/${endpoint}${request === undefined ? '' : `/r/${request}`}${query === '' ? '' : `?${query}`}`;
}

function splitOnce(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at === -1 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
}
