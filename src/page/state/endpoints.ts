import type { EndpointCreated, EndpointRecord } from '../../domain/answers.ts';
import { ApiError, messageOf, type Api } from './api.ts';
import { createStore, type Store } from './store.ts';

export type Endpoint = Omit<EndpointRecord, 'user_id' | 'updated_at'>;

export interface Usage {
  dailyRequests: number;
  /** Null = without a limit. */
  dailyRequestsMax: number | null;
}

export interface EndpointsState {
  /** The newest one first. */
  list: readonly Endpoint[];
  /** Of all the user's endpoints, where the list has not all of them. */
  total: number;
  /** The endpoint that is open, where the list lacks it: it has expired, or there are too many. */
  unlisted: Endpoint | undefined;
  usage: Usage | undefined;
  state: 'loading' | 'ready' | 'failed';
  error: string | undefined;
}

export interface Endpoints {
  state: Store<EndpointsState>;
  refresh(): Promise<void>;
  /** Forgets the endpoints of the user before. */
  reset(): void;
  /** Names the endpoint that is open. */
  watch(id: string | undefined): void;
  /** @throws ApiError that says what is wrong with the alias or the plan */
  create(options: { permanent?: boolean; alias?: string }): Promise<EndpointCreated>;
  /** @throws ApiError */
  remove(id: string): Promise<void>;
}

interface Page {
  endpoints: EndpointRecord[];
  usage: Usage;
  total: number;
}

const NOTHING: EndpointsState = {
  list: [],
  total: 0,
  unlisted: undefined,
  usage: undefined,
  state: 'loading',
  error: undefined,
};

export function createEndpoints(api: Api): Endpoints {
  const state = createStore(NOTHING);
  let watched: string | undefined;
  /** An id that is nobody's, or somebody else's. */
  let missing: string | undefined;
  let run = 0;

  const patch = (change: Partial<EndpointsState>): void => state.update((now) => ({ ...now, ...change }));

  /** An answer that was asked for earlier than another one comes too late. */
  async function refresh(): Promise<void> {
    const mine = (run += 1);
    try {
      const { body } = await api.get<Page>('/api/endpoints');
      if (mine !== run) return;
      const { endpoints: list, total, usage } = body;
      patch({ list, total, usage, state: 'ready', error: undefined });
      const unlisted = await findUnlisted();
      if (mine === run) patch({ unlisted });
    } catch (error) {
      if (mine !== run) return;
      patch({ state: state.get().state === 'ready' ? 'ready' : 'failed', error: messageOf(error) });
    }
  }

  async function findUnlisted(): Promise<Endpoint | undefined> {
    const id = watched;
    if (id === undefined || id === missing || state.get().list.some((endpoint) => endpoint.id === id)) return undefined;
    try {
      return (await api.get<EndpointRecord>(`/api/endpoints/${id}`)).body;
    } catch (error) {
      // Whoever reads its entries says so.
      if (error instanceof ApiError && error.status === 404) missing = id;
      return undefined;
    }
  }

  return {
    state,
    refresh,
    reset() {
      run += 1;
      state.set(NOTHING);
    },
    watch(id) {
      if (id === watched) return;
      watched = id;
      if (state.get().state === 'ready') void refresh();
    },
    async create(options) {
      const created = await api.call<EndpointCreated>('POST', '/api/endpoints', options);
      state.update((now) => withOne(now, endpointOf(created, options.alias)));
      void refresh();
      return created;
    },
    async remove(id) {
      await api.call('DELETE', `/api/endpoints/${id}`).catch((error: unknown) => {
        // It was deleted elsewhere.
        if (!(error instanceof ApiError && error.status === 404)) throw error;
      });
      state.update((now) => without(now, id));
      void refresh();
    },
  };
}

function withOne(now: EndpointsState, endpoint: Endpoint): EndpointsState {
  return { ...now, list: [endpoint, ...now.list], total: now.total + 1 };
}

function without(now: EndpointsState, id: string): EndpointsState {
  const list = now.list.filter((endpoint) => endpoint.id !== id);
  return { ...now, list, total: now.total - (now.list.length - list.length) };
}

/** An endpoint of the user, as far as the page knows it. */
export function findEndpoint({ list, unlisted }: EndpointsState, id: string | undefined): Endpoint | undefined {
  return unlisted?.id === id ? unlisted : list.find((endpoint) => endpoint.id === id);
}

function endpointOf({ id, isPermanent, expiresAt, createdAt }: EndpointCreated, alias: string | undefined): Endpoint {
  return {
    id,
    alias: alias ?? null,
    is_permanent: isPermanent ? 1 : 0,
    expires_at: expiresAt,
    request_count: 0,
    last_request_at: null,
    created_at: createdAt,
  };
}
