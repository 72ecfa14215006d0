import { hexProblem, hmacHex, type ParsedSignature, type SignatureInput, type SignatureScheme } from './scheme.ts';

const PREFIX = 'v0=';

/**
 * `X-Slack-Signature: v0=<hex>` over `v0:<timestamp>:<raw body>`
 * (https://docs.slack.dev/authentication/verifying-requests-from-slack).
 */
export const slack: SignatureScheme = {
  header: 'x-slack-signature',
  timestampHeader: 'x-slack-request-timestamp',
  parse,
};

function parse({ signature, timestamp }: SignatureInput): ParsedSignature {
  const hex = signature.startsWith(PREFIX) ? signature.slice(PREFIX.length) : '';
  const isTime = timestamp !== undefined && /^\d{1,15}$/.test(timestamp);
  return {
    candidates: [hex],
    ...(isTime && {
      sign: (payload: Buffer, secret: string) => hmacHex(secret, `v0:${timestamp}:`, payload),
      signedAt: Number(timestamp),
    }),
    present: (digest) => PREFIX + digest,
    problem:
      timeProblem(timestamp, isTime) ??
      (signature.startsWith(PREFIX)
        ? hexProblem(hex)
        : `The signature must start with "${PREFIX}"; pass the whole value of X-Slack-Signature.`),
  };
}

/** The timestamp is part of the signed text, so a missing one cannot be replaced. */
function timeProblem(timestamp: string | undefined, isTime: boolean): string | undefined {
  if (timestamp === undefined || timestamp === '')
    return 'A timestamp is required for slack: pass the value of X-Slack-Request-Timestamp.';
  return isTime ? undefined : 'The timestamp must be the value of X-Slack-Request-Timestamp, in Unix seconds.';
}
