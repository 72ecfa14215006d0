import { connect } from 'node:net';
import { isUtf8 } from 'node:buffer';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { beforeAll, expect, test } from 'vitest';
import { newTimeOrderedId } from '../../src/domain/ids.ts';
import { persistBatches } from '../../src/worker/persist.ts';
import { makeCapture } from '../support/captures.ts';
import { captureOne, client, mintToken, rawExchange, send, type Answer, type Client } from '../support/client.ts';
import { closing, eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { harErrors, readCsv, readNdjson } from '../support/exports.ts';
import { startRecorder } from '../support/recorder.ts';

let environment: Environment;
let api: Awaited<ReturnType<Environment['startApi']>>;
let owner: Client;

useEnvironment(async (opened) => {
  environment = opened;
  await environment.startWorker();
  api = await environment.startApi();
  owner = client(api.url, mintToken('ann'));
});

const exportAll = (id: string, query: string, user = owner): Promise<Answer<string>> =>
  user.call('GET', `/api/endpoints/${id}/export?${query}`);
const exportOne = (id: string, format: string, user = owner): Promise<Answer<string>> =>
  user.call('GET', `/api/requests/${id}/export?format=${format}`);

/** Text of every kind that a shell, a spreadsheet or a parser could take for something else. */
const HOSTILE = [
  { body: '=HYPERLINK("http://x")', headers: ['Content-Type', '=1+1', '-x', '@y', 'X', ''] },
  { body: '@/etc/passwd', headers: ['X-A', "'; touch pwned; '", 'x-a', '$(touch pwned)'] },
  { body: Buffer.from([0, 0xff, 0x27, 0x0a]), headers: ['X-Latin', 'caf\u00e9'] },
  { body: '"a";\r\n=b,\t"c"\n', headers: ['Cookie', 'a=1; b; c=d=e', 'Cookie', 'f="g"'] },
  { body: '', headers: [] },
  { body: '{"é":"€😀\\u2028"}', headers: ['Content-Type', 'application/json'] },
];
const TARGETS = ['?a=1&a=2&=3', '/{x}|"y"?[z]=`w`', '?%zz=%', '/#f?x', "/it's?b=+-@", ''];

let id: string;
const receipts: string[] = [];

beforeAll(async () => {
  ({ id } = (await owner.create()).body);
  for (const [i, { body, headers }] of HOSTILE.entries()) {
    receipts.push((await captureOne(api.url, `${id}${TARGETS[i]}`, { body, headers })).id);
    // In the order of their receipts by `seq`, too.
    await environment.drained();
  }
});

test('NDJSON has every entry complete, by seq, and ends with its end [Export]', async () => {
  const answer = await exportAll(id, 'format=ndjson');
  expect(answer.status).toBe(200);
  expect(answer.headers).toMatchObject({
    'content-type': 'application/x-ndjson',
    'content-disposition': `attachment; filename="${id}.ndjson"`,
    'content-security-policy': "sandbox; default-src 'none'",
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  const { entries, end } = readNdjson(answer.bytes);
  expect(end).toEqual({ end: true, count: receipts.length, next: receipts.length, more: false });
  const details = await Promise.all(receipts.map((entry) => owner.entry(entry, '?raw=true')));
  expect(entries).toEqual(details.map(({ body }) => body));
});

test('goes on after `next`, and later exports have only what came later [Export: end]', async () => {
  const rest = readNdjson((await exportAll(id, 'format=ndjson&after=4')).bytes);
  expect(rest.entries.map(({ seq }) => seq)).toEqual([5, 6]);
  const { next } = rest.end ?? { next: 0 };
  const none = readNdjson((await exportAll(id, `format=ndjson&after=${next}`)).bytes);
  expect(none).toEqual({ entries: [], end: { end: true, count: 0, next, more: false } });
  expect(readNdjson((await exportAll(id, 'format=ndjson&after=999')).bytes).end).toMatchObject({ count: 0, next: 999 });
});

test('a HAR is valid by the schema, whatever was captured [Export: HAR]', async () => {
  const answer = await exportAll(id, 'format=har');
  expect(answer.headers['content-disposition']).toBe(`attachment; filename="${id}.har"`);
  const har = answer.body as unknown as {
    log: { entries: { request: Record<string, unknown>; [own: string]: unknown }[]; [own: string]: unknown };
  };
  expect(harErrors(har)).toBeNull();
  const { log } = har;
  expect([log['_count'], log['_next'], log['_more']]).toEqual([6, 6, false]);
  expect(log.entries.map((entry) => entry['_id'])).toEqual(receipts);
  const [formula, , binary, cookies] = log.entries.map(({ request }) => request);
  expect(formula).toMatchObject({
    method: 'POST',
    url: `https://hooks.example.com/h/${id}?a=1&a=2&=3`,
    queryString: [
      { name: 'a', value: '1' },
      { name: 'a', value: '2' },
      { name: '', value: '3' },
    ],
    bodySize: 22,
    postData: { mimeType: '=1+1', text: '=HYPERLINK("http://x")' },
  });
  expect(binary?.['postData']).toEqual({ mimeType: '', _encoding: 'base64', text: 'AP8nCg==' });
  expect(cookies?.['cookies']).toEqual(
    ['a=1', 'b=', 'c=d=e', 'f="g"'].map((pair) => ({ name: pair[0], value: pair.slice(2) })),
  );
  expect(log.entries[4]?.request).not.toHaveProperty('postData');
  const one = await exportOne(receipts[2] ?? '', 'har');
  expect(harErrors(one.body)).toBeNull();
  expect((one.body as unknown as typeof har).log.entries).toEqual([log.entries[2]]);
});

test('CSV has a row for each entry, no formula, and a last row [Export: CSV]', async () => {
  const answer = await exportAll(id, 'format=csv');
  expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8');
  expect(answer.bytes.subarray(0, 3)).toEqual(Buffer.from([0xef, 0xbb, 0xbf]));
  const [columns, ...rows] = readCsv(answer.bytes.toString('utf8'));
  expect(columns?.join()).toBe('seq,id,created_at,method,path,query,ip,content_type,size,headers,body_encoding,body');
  expect(rows.map((row) => row[1])).toEqual([...receipts, 'count=6']);
  expect(rows[0]?.at(-1)).toBe('\'=HYPERLINK("http://x")');
  expect(rows[2]?.slice(-2)).toEqual(['base64', 'AP8nCg==']);
  expect(rows.flat().filter((cell) => /^[=+\-@\t\r]|[;\t\r\n][" ]*[=+\-@]/.test(cell))).toEqual([]);
});

test.each([
  ['method=put', []],
  ['method=post&path=/it', [5]],
  ['q=HYPERLINK', [1]],
  ['header=content-type:json', [6]],
  ['json=$.%C3%A9=%E2%82%AC%F0%9F%98%80%E2%80%A8', [6]],
  ['until=2020-01-01', []],
  ['since=2020-01-01&until=2100-01-01&after=4', [5, 6]],
  ['since=2100-01-01', []],
])('takes the filter %s', async (query, expected) => {
  const { entries, end } = readNdjson((await exportAll(id, `format=ndjson&${query}`)).bytes);
  expect(entries.map(({ seq }) => seq)).toEqual(expected);
  expect(end).toEqual({ end: true, count: expected.length, next: 6, more: false });
});

test('an entry as a curl command or a message is sent again as it was [Export: curl]', async () => {
  const { url, port, recorded } = await startRecorder();
  const local = await environment.startApi({ BASE_URL: url });
  const user = client(local.url, mintToken('ann'));
  for (const receipt of receipts) {
    const [curl, message] = [await exportOne(receipt, 'curl', user), await exportOne(receipt, 'http', user)];
    expect(curl.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': `attachment; filename="${receipt}.sh"`,
      'content-security-policy': "sandbox; default-src 'none'",
    });
    expect(message.headers['content-type']).toBe('message/http');
    await promisify(execFile)('sh', ['-c', curl.body]);
    const socket = closing(connect(port, '127.0.0.1'), (open) => void open.destroy());
    const before = recorded.length;
    socket.write(message.bytes);
    await eventually(() => recorded.length > before);
    const entry = (await owner.entry(receipt, '?raw=true')).body;
    for (const { method, target, rawHeaders, body } of recorded.splice(0)) {
      expect([method, target]).toEqual([entry.method, entry.target]);
      expect(body.toString(entry.body_encoding)).toBe(entry.body);
      const sent = rawHeaders.filter((_part, i) => !/^content-length$/i.test(rawHeaders[i - (i % 2)] ?? ''));
      expect(sent).toEqual((entry.raw_headers ?? []).filter(([name]) => !/^content-length$/i.test(name)).flat());
    }
  }
});

test('large bodies are complete in every format', async () => {
  const { id: endpoint } = (await owner.create()).body;
  const bodies = [Buffer.alloc(9_000_001, "€'\n"), Buffer.alloc(9_000_001, 0xff), Buffer.from('small')];
  for (const body of bodies) {
    const captures = [makeCapture(endpoint, { body, isUtf8: isUtf8(body) })];
    await persistBatches(environment.db.pool, [{ id: newTimeOrderedId(), day: '2026-01-01', captures }]);
  }
  const texts = (length: number): string[] =>
    bodies.map((body) => body.toString(isUtf8(body) ? 'utf8' : 'base64', 0, length));
  const same = (found: unknown[]): boolean[] => found.map((text, i) => text === texts(Infinity)[i]);
  const { entries, end } = readNdjson((await exportAll(endpoint, 'format=ndjson')).bytes);
  expect([same(entries.map(({ body }) => body)), end?.count]).toEqual([[true, true, true], 3]);
  const har = (await exportAll(endpoint, 'format=har')).body as unknown as {
    log: { entries: { request: { postData: { text: string } } }[] };
  };
  expect(same(har.log.entries.map(({ request }) => request.postData.text))).toEqual([true, true, true]);
  const rows = readCsv((await exportAll(endpoint, 'format=csv')).bytes.toString('utf8'));
  expect(same(rows.slice(1, -1).map((row) => row.at(-1)))).toEqual([true, true, true]);
  expect(
    (await exportOne(entries[1]?.id ?? '', 'http')).bytes.subarray(-9_000_001).equals(bodies[1] ?? Buffer.alloc(0)),
  ).toBe(true);
});

test('what is wrong is named, and nothing of another user is exported', async () => {
  for (const query of ['', 'format=xml', 'format=ndjson&after=-1', 'format=ndjson&after=x', 'format=har&q=a'])
    expect([query, (await exportAll(id, query)).status]).toEqual([query, 400]);
  for (const query of ['', 'ndjson']) expect((await exportOne(receipts[0] ?? '', query)).status).toBe(400);
  const stranger = client(api.url, mintToken('bob'));
  const unknown = await exportAll('unknown', 'format=ndjson', stranger);
  expect(unknown.status).toBe(404);
  for (const answer of [
    await exportAll(id, 'format=ndjson', stranger),
    await exportOne(receipts[0] ?? '', 'curl', stranger),
    await exportOne('unknown', 'curl', stranger),
  ])
    expect([answer.status, answer.bytes]).toEqual([404, unknown.bytes]);
  expect((await send(`${api.url}/api/endpoints/${id}/export?format=ndjson`)).status).toBe(401);
});

test('an export sees what was acknowledged before it', async () => {
  const { id: endpoint } = (await owner.create()).body;
  for (let count = 1; count <= 5; count += 1) {
    await captureOne(api.url, endpoint);
    expect(readNdjson((await exportAll(endpoint, 'format=ndjson')).bytes).end?.count).toBe(count);
  }
});

test('HEAD has the headers alone, and holds no slot', async () => {
  const head = (): Promise<string> =>
    rawExchange(
      api.port,
      `HEAD /api/endpoints/${id}/export?format=csv HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${mintToken('ann')}\r\n\r\n`,
    );
  for (let n = 0; n < 2; n += 1)
    expect(await head()).toMatch(/^HTTP\/1\.1 200 [^]*\r\nContent-Type: text\/csv[^]*\r\n\r\n$/);
  await eventually(async () => (await exportAll(id, 'format=csv')).status === 200);
});
