import { request, type ClientRequest, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import draft6 from 'ajv/dist/refs/json-schema-draft-06.json' with { type: 'json' };
import schemas from 'har-schema';
import type { LogEntry } from '../../src/domain/answers.ts';
import { closing } from './environment.ts';

export interface Download {
  status: number;
  headers: IncomingHttpHeaders;
  /** What has come when the answer ends, and whether it ended as HTTP has it. */
  read(): Promise<{ bytes: Buffer; complete: boolean }>;
  /** Leaves without reading. */
  leave(): void;
}

/** Begins to download, and reads nothing until it is told to. */
export function download(url: string, path: string, token: string, method = 'GET'): Promise<Download> {
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = request(url + path, {
      method,
      agent: false,
      headers: { Authorization: `Bearer ${token}` },
    });
    sent.on('error', reject);
    sent.on('response', (response: IncomingMessage) => {
      response.on('error', () => {});
      const closed = new Promise<void>((ended) => response.on('close', ended));
      resolve({
        status: response.statusCode ?? 0,
        headers: response.headers,
        leave: () => void sent.destroy(),
        async read() {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          await closed;
          return { bytes: Buffer.concat(chunks), complete: response.complete };
        },
      });
    });
    sent.end();
    closing(sent, (open) => void open.destroy());
  });
}

export interface Ndjson {
  entries: LogEntry[];
  end: { end: true; count: number; next: number; more: boolean } | undefined;
}

/** The entries of an NDJSON export, and its end if it has one. */
export function readNdjson(bytes: Buffer): Ndjson {
  const lines = bytes.toString('utf8').split('\n').slice(0, -1);
  const values = lines.map((line) => JSON.parse(line) as LogEntry & Ndjson['end']);
  const last = values.at(-1);
  if (last?.end !== true) return { entries: values, end: undefined };
  return { entries: values.slice(0, -1), end: last };
}

/** Rows of CSV by RFC 4180, all cells in quotes; throws where a reader would have to guess. */
export function readCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = text.startsWith('\ufeff') ? 1 : 0;
  while (at < text.length) {
    if (text[at] !== '"') throw new Error(`no quote at ${at}`);
    let end = text.indexOf('"', at + 1);
    while (text[end + 1] === '"') end = text.indexOf('"', end + 2);
    row.push(text.slice(at + 1, end).replaceAll('""', '"'));
    const [separator] = /^(?:,|\r\n)/.exec(text.slice(end + 1, end + 3)) ?? [];
    if (end === -1 || separator === undefined) throw new Error(`not CSV behind ${at}`);
    at = end + 1 + separator.length;
    if (separator === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

/** What is wrong with a HAR, by the schema of version 1.2. */
export function harErrors(har: unknown): unknown {
  const ajv = new Ajv({ strict: false, allErrors: true });
  ajv.addMetaSchema(draft6);
  (addFormats as unknown as (instance: Ajv) => void)(ajv);
  const { har: root, ...parts } = schemas;
  for (const part of Object.values(parts)) ajv.addSchema(part);
  const validate = ajv.compile(root as object);
  validate(har);
  return validate.errors;
}
