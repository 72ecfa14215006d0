import type { LogEntry } from '../../../domain/answers.ts';
import { base64, decodeText } from '../../content/bytes.ts';
import { curlCommand } from '../../content/curl.ts';
import { httpMessage } from '../../content/http-message.ts';
import { formatSize } from '../../content/size.ts';
import { formatAddress } from '../../model/address.ts';
import { NO_FILTER } from '../../model/filter.ts';
import type { Inspector } from '../../state/inspector.ts';
import { wholeBody } from '../../state/whole-body.ts';

/** Longer texts are for files. */
const MAX_COPIED_BYTES = 4 * 1024 * 1024;

/** A command for bash that sends the request again; where its body is long or binary, it reads it with `$TOKEN`. */
export async function copyableCurl({ detail, settings }: Inspector, entry: LogEntry): Promise<string> {
  return curlCommand(await asSent(detail, entry), { baseUrl: settings.captureBase, apiUrl: location.origin });
}

/** The message in HTTP/1.1. */
export async function copyableMessage(inspector: Inspector, entry: LogEntry): Promise<string> {
  const message = httpMessage(await withWholeBody(inspector, await asSent(inspector.detail, entry)));
  if (message === undefined) throw new Error('its body is no text');
  return message;
}

/** The body as it was sent; one that is no text as Base64. */
export async function copyableBody(inspector: Inspector, entry: LogEntry): Promise<string> {
  return (await withWholeBody(inspector, entry)).body;
}

/** The address of an entry; whoever opens it has to sign in. */
export function permalink({ endpoint_id: endpoint, id: request }: LogEntry): string {
  const address = formatAddress({ endpoint, request, compare: undefined, filter: NO_FILTER });
  return `${location.origin}${location.pathname}${address}`;
}

/** What the list has of an entry lacks the request-target and the headers as sent. */
async function asSent(detail: Inspector['detail'], entry: LogEntry): Promise<LogEntry> {
  return entry.raw_headers === undefined ? detail.read(entry.id) : entry;
}

async function withWholeBody({ api }: Inspector, entry: LogEntry): Promise<LogEntry> {
  if (!entry.body_truncated) return entry;
  if (entry.size > MAX_COPIED_BYTES)
    throw new Error(`it has ${formatSize(entry.size)}, which is for a file: see Save as file`);
  const { body_truncated: _, ...rest } = entry;
  const bytes = await wholeBody(api, entry);
  const text = decodeText(bytes);
  return text === undefined
    ? { ...rest, body: base64(bytes), body_encoding: 'base64' }
    : { ...rest, body: text, body_encoding: 'utf8' };
}
