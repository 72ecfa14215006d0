import { hexProblem, hmacHex, type ParsedSignature, type SignatureInput, type SignatureScheme } from './scheme.ts';

const PREFIX = 'sha256=';

/**
 * `X-Hub-Signature-256: sha256=<hex>` over the raw body
 * (https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries).
 */
export const github: SignatureScheme = { header: 'x-hub-signature-256', parse };

function parse({ signature }: SignatureInput): ParsedSignature {
  const hex = signature.startsWith(PREFIX) ? signature.slice(PREFIX.length) : '';
  return {
    candidates: [hex],
    sign: (payload, secret) => hmacHex(secret, '', payload),
    present: (digest) => PREFIX + digest,
    problem: signature.startsWith(PREFIX) ? hexProblem(hex) : prefixProblem(signature),
  };
}

function prefixProblem(signature: string): string {
  return signature.startsWith('sha1=')
    ? 'This is the SHA-1 signature of X-Hub-Signature; pass the value of X-Hub-Signature-256.'
    : `The signature must start with "${PREFIX}"; pass the whole value of X-Hub-Signature-256.`;
}
