import { hmacBase64, type ParsedSignature, type SignatureInput, type SignatureScheme } from './scheme.ts';

/**
 * `X-Shopify-Hmac-Sha256: <Base64>` over the raw body, keyed by the app's client secret
 * (https://shopify.dev/docs/apps/build/webhooks/subscribe/https).
 */
export const shopify: SignatureScheme = { header: 'x-shopify-hmac-sha256', parse };

function parse({ signature }: SignatureInput): ParsedSignature {
  return {
    candidates: [signature],
    sign: (payload, secret) => hmacBase64(secret, payload),
    present: (digest) => digest,
    problem: base64Problem(signature),
  };
}

function base64Problem(signature: string): string | undefined {
  if (/^[A-Za-z0-9+/]{43}=$/.test(signature)) return undefined;
  if (/^(sha256=)?[0-9a-fA-F]{64}$/.test(signature))
    return 'The signature is hexadecimal; Shopify sends Base64 in X-Shopify-Hmac-Sha256.';
  if (/^[A-Za-z0-9+/\-_]{43}=?$/.test(signature))
    return 'The signature must be standard Base64 with its "=" at the end, as in X-Shopify-Hmac-Sha256.';
  return `The signature has ${signature.length} characters; the Base64 of HMAC-SHA256 has 44.`;
}
