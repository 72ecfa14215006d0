import type { LogEntry } from '../../domain/answers.ts';
import { KEPT_BODY_BYTES } from '../model/entry.ts';
import type { Api } from './api.ts';

/** A page of what an endpoint stores, newest first. */
export interface Page {
  requests: LogEntry[];
  /** Of all pages. */
  total: number;
  pending: string | undefined;
  /** Whether nothing is older. */
  isLast: boolean;
}

export interface Pages {
  newest(): Promise<Page>;
  /** What is older than everything that was read before. */
  older(): Promise<Page>;
}

const PAGE_ENTRIES = 200;

export function createPages(api: Api, endpointId: string, signal: AbortSignal): Pages {
  let oldestId: string | undefined;

  async function read(before?: string): Promise<Page> {
    const query = new URLSearchParams({ limit: String(PAGE_ENTRIES), bodyBytes: String(KEPT_BODY_BYTES) });
    if (before !== undefined) query.set('before', before);
    const path = `/api/endpoints/${endpointId}/requests`;
    const { body, pending } = await api.get<Pick<Page, 'requests' | 'total'>>(path, query, signal);
    return { ...body, pending, isLast: body.requests.length < PAGE_ENTRIES };
  }

  return {
    async newest() {
      const page = await read();
      oldestId ??= page.requests.at(-1)?.id;
      return page;
    },
    async older() {
      const page = await read(oldestId);
      oldestId = page.requests.at(-1)?.id ?? oldestId;
      return page;
    },
  };
}
