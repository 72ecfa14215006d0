import { formatDateTime } from '../../content/time.ts';
import { resetInWords } from './in-words.ts';

const TIMEOUT_MS = 60_000;

/** On every answer of a capture: the entry's id where it is kept. */
const REQUEST_ID_HEADER = 'X-Hookbay-Request-Id';

/**
 * Sends a webhook to an endpoint of this origin.
 * @returns what is wrong, in words; undefined when it was captured
 */
export async function sendTest(endpointId: string): Promise<string | undefined> {
  try {
    const response = await fetch(`/h/${endpointId}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ hello: 'world', sent_at: new Date().toISOString() }),
      credentials: 'omit',
      // A custom response may lead elsewhere, where the policy of the page does not let it go.
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const isKept = (response.headers.get(REQUEST_ID_HEADER) ?? 'none') !== 'none';
    if (isKept || response.type === 'opaqueredirect') return undefined;
    return refusalInWords(response.status, (await response.json().catch(() => ({}))) as Refusal);
  } catch {
    return 'Hookbay is unreachable, so the test request was not sent';
  }
}

interface Refusal {
  error?: unknown;
  dailyRequestsMax?: unknown;
  resetAt?: unknown;
}

export function refusalInWords(status: number, { error, resetAt }: Refusal): string {
  const said = typeof error === 'string' ? error : 'no reason was given';
  if (status === 429 && typeof resetAt === 'string')
    return `${said} (429). Captures are taken again from ${resetInWords(resetAt)}, ${formatDateTime(resetAt, 'local')} here`;
  return `The test request was not captured: ${said} (${status})`;
}
