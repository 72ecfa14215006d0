/** An answer of the API that is no success, or none at all (`status` 0). */
export class ApiError extends Error {
  readonly status: number;
  readonly body: Record<string, unknown>;

  constructor(status: number, message: string, body: Record<string, unknown> = {}) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export interface Answer<T> {
  body: T;
  /** Batches that have their receipts and are not stored yet, so this answer may lack them; undefined = none. */
  pending: string | undefined;
}

/** The management API as the user who is signed in. Every call throws `ApiError`. */
export interface Api {
  get<T>(path: string, query?: URLSearchParams, signal?: AbortSignal): Promise<Answer<T>>;
  /** Sends JSON, where a body is given. */
  call<T>(method: 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<T>;
  /** @param onBytes called with how many have come so far */
  bytes(path: string, signal?: AbortSignal, onBytes?: (bytes: number) => void): Promise<Blob>;
}

const TIMEOUT_MS = 30_000;
/** Longer than the longest export. */
const DOWNLOAD_TIMEOUT_MS = 700_000;

/** @param onUnauthorized called with the server's reason when the token is not valid any more */
export function createApi(token: () => string | undefined, onUnauthorized: (reason: string) => void): Api {
  async function request(
    method: string,
    path: string,
    { body, signal, timeoutMs = TIMEOUT_MS }: { body?: unknown; signal?: AbortSignal | undefined; timeoutMs?: number },
  ): Promise<Response> {
    const used = token();
    const timeout = AbortSignal.timeout(timeoutMs);
    const response = await fetch(path, {
      method,
      headers: {
        ...(used !== undefined && { Authorization: `Bearer ${used}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    }).catch((error: unknown) => {
      if (signal?.aborted) throw error;
      throw new ApiError(0, 'Hookbay is unreachable');
    });
    if (response.ok) return response;
    const error = await errorOf(response);
    // A share link that has ended is 410.
    if ((response.status === 401 || response.status === 410) && used === token()) onUnauthorized(error.message);
    throw error;
  }

  return {
    async get(path, query, signal) {
      const target = query === undefined || query.size === 0 ? path : `${path}?${query}`;
      const response = await request('GET', target, { signal });
      return { body: await response.json(), pending: response.headers.get('X-Captures-Pending') ?? undefined };
    },
    call: async (method, path, body) => (await request(method, path, { body })).json(),
    async bytes(path, signal, onBytes) {
      const response = await request('GET', path, { signal, timeoutMs: DOWNLOAD_TIMEOUT_MS });
      return counted(response, onBytes)
        .blob()
        .catch((error: unknown) => {
          if (signal?.aborted) throw error;
          throw new ApiError(0, 'The connection broke off before the end');
        });
    },
  };
}

/** The same answer, whose bytes are counted while they come; the browser keeps them, also many, outside of the page. */
function counted(response: Response, onBytes: ((bytes: number) => void) | undefined): Response {
  if (onBytes === undefined || response.body === null) return response;
  let bytes = 0;
  const counter = new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform(chunk, controller) {
      bytes += chunk.length;
      onBytes(bytes);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counter), { headers: response.headers });
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as Record<string, unknown>;
  const said = typeof body['error'] === 'string' ? body['error'] : `Hookbay answered ${response.status}`;
  const described = /error_description="([^"]*)"/.exec(response.headers.get('WWW-Authenticate') ?? '')?.[1];
  return new ApiError(response.status, described ?? said, body);
}

/** What to tell the user about any error. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
