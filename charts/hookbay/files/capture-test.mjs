// `helm test`: an endpoint is created, a request captured and read back, the endpoint deleted.
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const { API_URL, TOKEN, JWT_SECRET, JWT_ISSUER, JWT_AUDIENCE } = process.env;
const PATIENCE_MS = 60_000;

const token = TOKEN || mintToken();
const body = JSON.stringify({ test: randomUUID() });

const endpoint = await manage('POST', '/api/endpoints', 201);
console.log(`created endpoint ${endpoint.id}`);
try {
  const receipt = await capture(`${API_URL}/h/${endpoint.id}`, new URL(endpoint.url).host);
  console.log(`captured as ${receipt.id}`);
  const entry = await readBack(receipt.id);
  if (entry.body !== body) throw new Error('the body that was read back is another one');
  console.log('read back, to the byte');
} finally {
  await manage('DELETE', `/api/endpoints/${endpoint.id}`, 200);
  console.log('deleted');
}

function mintToken() {
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const claims = { sub: 'helm-test', iat: now, exp: now + 300, iss: JWT_ISSUER || undefined, aud: JWT_AUDIENCE || undefined };
  const signed = `${encode({ alg: 'HS256', typ: 'JWT' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', JWT_SECRET).update(signed).digest('base64url')}`;
}

async function manage(method, path, expected) {
  const response = await fetch(API_URL + path, { method, headers: { authorization: `Bearer ${token}` } });
  const text = await response.text();
  if (response.status !== expected) throw new Error(`${method} ${path} answered ${response.status}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

/** Captures may have a host of their own, and `fetch` sends no other than that of the address. */
async function capture(url, host) {
  const sent = request(url, { method: 'POST', headers: { host, 'content-type': 'application/json' } }).end(body);
  const [response] = await once(sent, 'response');
  const text = Buffer.concat(await response.toArray()).toString();
  if (response.statusCode !== 200)
    throw new Error(`the capture was answered with ${response.statusCode}: ${text.slice(0, 500)}`);
  return JSON.parse(text);
}

/** A worker may still be starting. */
async function readBack(id) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await manage('GET', `/api/requests/${id}`, 200);
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await sleep(500);
    }
  }
}
