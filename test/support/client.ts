import { request, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';
import jwt from 'jsonwebtoken';
import type { EndpointCreated, EndpointRecord, LogEntry } from '../../src/domain/answers.ts';
import { JWT_SECRET } from './environment.ts';

export interface Receipt {
  received: boolean;
  id: string;
  timestamp: number;
  challenge?: string;
}

export interface Answer<T = unknown> {
  status: number;
  headers: IncomingHttpHeaders;
  body: T;
  bytes: Buffer;
}

export interface RequestList {
  requests: LogEntry[];
  total: number;
  limit: number;
  offset: number;
}

export interface EndpointList {
  endpoints: EndpointRecord[];
  usage: { dailyRequests: number; dailyRequestsMax: number | null };
  total: number;
  limit: number;
  offset: number;
}

export function mintToken(
  subject: string,
  claims: Record<string, unknown> = { plan: 'pro' },
  options: jwt.SignOptions = {},
): string {
  return jwt.sign(claims, JWT_SECRET, { algorithm: 'HS256', subject, expiresIn: '1h', ...options });
}

/** Any request, byte for byte: header names and values in turn, as they are sent. */
export function send<T = unknown>(
  url: string,
  {
    method = 'GET',
    headers = [],
    body,
  }: { method?: string; headers?: string[]; body?: Buffer | string | undefined } = {},
): Promise<Answer<T>> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const length =
      bytes === undefined ||
      headers.some((name, i) => i % 2 === 0 && /^(content-length|transfer-encoding)$/i.test(name));
    const sent = request({
      hostname,
      port,
      // The path as given: URL would normalise it.
      path: url.replace(/^https?:\/\/[^/?]*/, '') || '/',
      method,
      headers: [
        'Host',
        `${hostname}:${port}`,
        ...(length ? [] : ['Content-Length', String(bytes?.length)]),
        ...headers,
      ],
    });
    sent.on('error', reject);
    sent.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => {
        const all = Buffer.concat(chunks);
        const isJson = response.headers['content-type']?.startsWith('application/json') === true && all.length > 0;
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: (isJson ? JSON.parse(all.toString('utf8')) : all.toString('utf8')) as T,
          bytes: all,
        });
      });
    });
    sent.end(bytes);
  });
}

/** The management API as one user. */
export function client(url: string, token: string) {
  const call = <T>(method: string, path: string, body?: unknown): Promise<Answer<T>> =>
    send<T>(`${url}${path}`, {
      method,
      headers: [
        'Authorization',
        `Bearer ${token}`,
        ...(body === undefined ? [] : ['Content-Type', 'application/json']),
      ],
      body: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
    });
  return {
    call,
    create: (body?: unknown) => call<EndpointCreated>('POST', '/api/endpoints', body),
    endpoints: (query = '') => call<EndpointList>('GET', `/api/endpoints${query}`),
    endpoint: (id: string) => call<EndpointRecord>('GET', `/api/endpoints/${id}`),
    removeEndpoint: (id: string) => call('DELETE', `/api/endpoints/${id}`),
    list: (id: string, query = '') => call<RequestList>('GET', `/api/endpoints/${id}/requests${query}`),
    entry: (id: string, query = '') => call<LogEntry>('GET', `/api/requests/${id}${query}`),
    body: (id: string) => call('GET', `/api/requests/${id}/body`),
    remove: (id: string) => call('DELETE', `/api/requests/${id}`),
    removeMany: (ids: unknown) => call<{ success: boolean; deleted: number }>('DELETE', '/api/requests', { ids }),
  };
}

export type Client = ReturnType<typeof client>;

/** Sends a webhook and expects a receipt. */
export async function captureOne(url: string, key: string, options: Parameters<typeof send>[1] = {}): Promise<Receipt> {
  const answer = await send<Receipt>(`${url}/h/${key}`, { method: 'POST', ...options });
  if (answer.status !== 200) throw new Error(`no receipt: ${answer.status} ${answer.bytes.toString()}`);
  return answer.body;
}

/** Writes raw bytes to a port and returns the answer up to the end of the connection. */
export function rawExchange(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    socket.on('error', reject);
    socket.on('close', () => resolve(Buffer.concat(chunks).toString('latin1')));
  });
}
