import { hexProblem, hmacHex, type ParsedSignature, type SignatureInput, type SignatureScheme } from './scheme.ts';

/** Each is compared; while a secret is rolled there are two. */
const MAX_CANDIDATES = 16;

/**
 * `Stripe-Signature: t=<seconds>,v1=<hex>[,v1=<hex>…]` over `<t>.<raw body>`
 * (https://docs.stripe.com/webhooks/signature). While a secret is rolled there are several `v1`, and any of them may
 * match; other schemes are ignored.
 */
export const stripe: SignatureScheme = { header: 'stripe-signature', parse };

function parse({ signature }: SignatureInput): ParsedSignature {
  const pairs = signature.split(',').map((pair) => {
    const [scheme = '', ...value] = pair.split('=');
    return { scheme: scheme.trim(), value: value.join('=').trim() };
  });
  const t = pairs.findLast(({ scheme }) => scheme === 't')?.value;
  const candidates = pairs.filter(({ scheme }) => scheme === 'v1').map(({ value }) => value);
  const isTime = t !== undefined && /^\d{1,15}$/.test(t);
  return {
    candidates,
    ...(isTime && {
      sign: (payload: Buffer, secret: string) => hmacHex(secret, `${t}.`, payload),
      signedAt: Number(t),
    }),
    present: (digest) => `t=${t},v1=${digest}`,
    problem: timeProblem(t, isTime) ?? candidatesProblem(candidates, pairs),
  };
}

function timeProblem(t: string | undefined, isTime: boolean): string | undefined {
  if (t === undefined) return 'The signature has no "t=" part; pass the whole value of Stripe-Signature.';
  return isTime ? undefined : 'The "t=" part of the signature is not a time in Unix seconds.';
}

function candidatesProblem(candidates: string[], pairs: { scheme: string }[]): string | undefined {
  if (candidates.length === 0) {
    const others = pairs.map(({ scheme }) => scheme).filter((scheme) => /^v\d+$/.test(scheme));
    const found = others.length > 0 ? `, only ${[...new Set(others)].join(', ')}` : '';
    return `The signature has no "v1=" part${found}; pass the whole value of Stripe-Signature.`;
  }
  if (candidates.length > MAX_CANDIDATES) {
    return `The signature has ${candidates.length} "v1=" parts; at most ${MAX_CANDIDATES} are checked.`;
  }
  const problems = candidates.map(hexProblem);
  return problems.includes(undefined) ? undefined : problems[0];
}
