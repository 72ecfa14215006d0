import type { LogEntry } from '../../../src/domain/answers.ts';

export interface Sent {
  method?: string;
  target?: string;
  headers?: [string, string][];
  body?: string | Uint8Array;
}

/** An entry as the API answers it with `raw`. */
export function entryOf({ method = 'POST', target = '/h/x', headers = [], body = '' }: Sent): LogEntry {
  const bytes = Buffer.from(body);
  const text = bytes.toString('utf8');
  const isUtf8 = Buffer.from(text).equals(bytes);
  const [path = '', ...query] = target.split('?');
  const names = new Map<string, string>();
  for (const [name, value] of headers) {
    const before = names.get(name.toLowerCase());
    names.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  return {
    id: '019aa111-2222-7333-8444-555566667777',
    endpoint_id: 'acc193a8-b73b-4634-9b57-1cc0db59b830',
    seq: 1,
    method,
    path,
    headers: Object.fromEntries(names),
    query: Object.fromEntries(new URLSearchParams(query.join('?'))),
    body: isUtf8 ? text : bytes.toString('base64'),
    body_encoding: isUtf8 ? 'utf8' : 'base64',
    content_type: names.get('content-type') ?? '',
    ip: '127.0.0.1',
    user_agent: names.get('user-agent') ?? '',
    size: bytes.length,
    created_at: '2026-11-22T12:03:11.204Z',
    target,
    raw_headers: headers,
  };
}
