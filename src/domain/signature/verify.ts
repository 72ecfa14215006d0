import { setImmediate } from 'node:timers/promises';
import { github } from './github.ts';
import { shopify } from './shopify.ts';
import { slack } from './slack.ts';
import { stripe } from './stripe.ts';
import { sameText, type ParsedSignature, type SignatureInput, type SignatureScheme } from './scheme.ts';

/** The providers by the names of the specification. */
export const SCHEMES = { github, stripe, shopify, slack } satisfies Record<string, SignatureScheme>;
export type Provider = keyof typeof SCHEMES;
export const PROVIDERS = Object.keys(SCHEMES) as [Provider, ...Provider[]];

/** The providers' own libraries refuse signatures that are older, or further in the future. */
const TOLERANCE_SECONDS = 300;

/** Maximum number of characters of a signature; providers send a few hundred at most. */
export const MAX_SIGNATURE_LENGTH = 4_096;

/** Longer payloads are not diagnosed: parsing hostile JSON of 128 KiB takes 20 ms. */
const MAX_DIAGNOSED_BYTES = 128 * 1024;

const NO_MATCH =
  'The signature does not match: either the secret is wrong, or the payload is not the raw body that was signed.';

export interface VerificationResult {
  valid: boolean;
  /** In the form of the provider's header; empty when it cannot be computed. */
  expected: string;
  actual: string;
  /** How to fix the input, or a note on a valid signature. */
  details?: string;
}

/** The age never decides, because captured deliveries are old; `details` states it. `now` is in Unix milliseconds. */
export async function verifySignature(
  provider: Provider,
  input: SignatureInput,
  now: number,
): Promise<VerificationResult> {
  const { signature, payload, secret } = input;
  if (signature.length > MAX_SIGNATURE_LENGTH) {
    const details = `The signature has ${signature.length} characters; at most ${MAX_SIGNATURE_LENGTH} are read.`;
    return { valid: false, expected: '', actual: signature, details };
  }
  const parsed = SCHEMES[provider].parse(input);
  const expected = await parsed.sign?.(payload, secret);
  const valid = parsed.problem === undefined && expected !== undefined && matches(parsed, expected);
  const problem = valid ? undefined : (parsed.problem ?? (await diagnose(parsed, input)));
  const details = [problem, ageNote(parsed.signedAt, now)].filter((text) => text !== undefined);
  return {
    valid,
    expected: expected === undefined ? '' : parsed.present(expected),
    actual: signature,
    ...(details.length > 0 && { details: details.join(' ') }),
  };
}

function matches({ candidates }: ParsedSignature, expected: string): boolean {
  // Compares every candidate, so that the duration does not reveal which one matched.
  return candidates.map((candidate) => sameText(candidate, expected)).includes(true);
}

/** Tries the usual mistakes: the mistake that was made is the one under which the signature matches. */
async function diagnose(parsed: ParsedSignature, { payload, secret }: SignatureInput): Promise<string> {
  const { sign } = parsed;
  if (sign === undefined) return 'The signature cannot be checked.';
  const wouldMatch = async (otherPayload: Buffer, otherSecret: string): Promise<boolean> =>
    matches(parsed, await sign(otherPayload, otherSecret));
  if (secret !== secret.trim() && (await wouldMatch(payload, secret.trim()))) {
    return 'The secret has white space around it; without it the signature matches.';
  }
  if (payload.length > MAX_DIAGNOSED_BYTES) {
    return `${NO_MATCH} Only payloads of up to ${MAX_DIAGNOSED_BYTES} bytes are checked for usual mistakes.`;
  }
  for (const [altered, mistake] of alterations(payload)) {
    if (await wouldMatch(altered, secret)) return mistake;
    await setImmediate();
  }
  return NO_MATCH;
}

function* alterations(payload: Buffer): Generator<[Buffer, string]> {
  const text = payload.toString('utf8');
  yield [
    Buffer.from(text.trim()),
    'The payload has white space around it that was not signed; the signature matches it trimmed.',
  ];
  const compact = compactJson(text);
  if (compact !== undefined) {
    yield [
      Buffer.from(compact),
      'The payload was re-serialised; the signature matches it with its JSON compacted. Pass the raw body.',
    ];
  }
  yield [
    Buffer.from(text.replaceAll('\r\n', '\n')),
    'The line breaks of the payload were changed; the signature matches it with LF.',
  ];
  yield [
    Buffer.from(text.replaceAll(/\r?\n/g, '\r\n')),
    'The line breaks of the payload were changed; the signature matches it with CRLF.',
  ];
}

function compactJson(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function ageNote(signedAt: number | undefined, now: number): string | undefined {
  if (signedAt === undefined) return undefined;
  const age = Math.round(now / 1000 - signedAt);
  if (Math.abs(age) <= TOLERANCE_SECONDS) return undefined;
  const minutes = Math.round(Math.abs(age) / 60);
  return `The timestamp is ${minutes} minutes ${age > 0 ? 'old' : 'in the future'}; the provider's libraries refuse more than 5 minutes.`;
}
