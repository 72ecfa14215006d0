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
  /**
   * What is new since the entries that are known, or the newest page where none is: read page by page, so that no gap
   * stays between them. Undefined when that is too much.
   */
  newest(isKnown: (id: string) => boolean): Promise<Page | undefined>;
  /** What is older than everything that was read before. */
  older(): Promise<Page>;
  /** Begins anew with the newest page. */
  forget(): void;
}

const PAGE_ENTRIES = 200;

/** Pages that close a gap at most. */
const MAX_PAGES = 25;

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
    async newest(isKnown) {
      const page = await read();
      if (oldestId === undefined) oldestId = page.requests.at(-1)?.id;
      else {
        const { requests } = page;
        for (let pages = 1; !page.isLast && !requests.some(({ id }) => isKnown(id)); pages += 1) {
          if (pages === MAX_PAGES) return undefined;
          const { requests: more, isLast } = await read(requests.at(-1)?.id);
          requests.push(...more);
          page.isLast = isLast;
        }
      }
      return page;
    },
    forget() {
      oldestId = undefined;
    },
    async older() {
      const page = await read(oldestId);
      oldestId = page.requests.at(-1)?.id ?? oldestId;
      return page;
    },
  };
}
