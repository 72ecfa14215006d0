import type { EndpointCreated, EndpointRecord } from '../../domain/answers.ts';
import { messageOf, type Api } from './api.ts';
import { createStore, type Store } from './store.ts';

export interface Usage {
  dailyRequests: number;
  /** Null = without a limit. */
  dailyRequestsMax: number | null;
}

export interface EndpointsState {
  list: readonly EndpointRecord[];
  /** Of all the user's endpoints, where the list has not all of them. */
  total: number;
  usage: Usage | undefined;
  state: 'loading' | 'ready' | 'failed';
  error: string | undefined;
}

export interface Endpoints {
  state: Store<EndpointsState>;
  refresh(): Promise<void>;
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

export function createEndpoints(api: Api): Endpoints {
  const state = createStore<EndpointsState>({
    list: [],
    total: 0,
    usage: undefined,
    state: 'loading',
    error: undefined,
  });

  async function refresh(): Promise<void> {
    try {
      const { body } = await api.get<Page>('/api/endpoints');
      state.set({ list: body.endpoints, total: body.total, usage: body.usage, state: 'ready', error: undefined });
    } catch (error) {
      state.update((now) => ({
        ...now,
        state: now.state === 'ready' ? 'ready' : 'failed',
        error: messageOf(error),
      }));
    }
  }

  return {
    state,
    refresh,
    async create(options) {
      const created = await api.call<EndpointCreated>('POST', '/api/endpoints', options);
      await refresh();
      return created;
    },
    async remove(id) {
      await api.call('DELETE', `/api/endpoints/${id}`);
      state.update((now) => ({
        ...now,
        list: now.list.filter((endpoint) => endpoint.id !== id),
        total: now.total - 1,
      }));
    },
  };
}
