import type { Answer, Client } from './client.ts';
import { client } from './client.ts';

export interface CreatedShare {
  id: string;
  token: string;
  url: string;
  expiresAt: string;
}

export const shareEndpoint = (owner: Client, id: string, body?: unknown): Promise<Answer<CreatedShare>> =>
  owner.call<CreatedShare>('POST', `/api/endpoints/${id}/shares`, body);

export const shareEntry = (owner: Client, id: string, body?: unknown): Promise<Answer<CreatedShare>> =>
  owner.call<CreatedShare>('POST', `/api/requests/${id}/shares`, body);

/** The management API as the holder of a new link to an endpoint. */
export async function holderOfEndpoint(url: string, owner: Client, id: string, body?: unknown): Promise<Client> {
  return client(url, (await shareEndpoint(owner, id, body)).body.token);
}

export async function holderOfEntry(url: string, owner: Client, id: string, body?: unknown): Promise<Client> {
  return client(url, (await shareEntry(owner, id, body)).body.token);
}
