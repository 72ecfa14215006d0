import jwt from 'jsonwebtoken';
import type { Context, Next } from 'koa';
import type { JwtConfig } from '../../config.ts';
import { forbidden, printable, unauthorized } from '../http/errors.ts';
import type { Plan, Plans } from '../../plans.ts';
import type { KeySource } from './jwks-source.ts';
import type { VerificationKey } from './verification-key.ts';

const CLOCK_TOLERANCE_SECONDS = 5;
const MAX_TOKEN_LENGTH = 16 * 1024;
const MAX_SUBJECT_LENGTH = 255;

export interface Principal {
  userId: string;
  plan: Plan;
  /** Expiry of the token, in Unix milliseconds. */
  expiresAt: number;
}

export interface AuthOptions {
  jwt: JwtConfig;
  keySource: KeySource;
  plans: Plans;
  defaultPlan: string;
  /** Called for every valid token: captures carry none, so the plan has to be saved. */
  rememberPlan: (userId: string, plan: string) => Promise<void>;
}

/** Admits requests with a valid bearer token and puts its `Principal` into `ctx.state.principal`. */
export function authenticate(options: AuthOptions) {
  return async (ctx: Context, next: Next): Promise<void> => {
    const principal = await verifyToken(bearerToken(ctx), options);
    await options.rememberPlan(principal.userId, principal.plan.name);
    ctx.state['principal'] = principal;
    await next();
  };
}

export function principal(ctx: Context): Principal {
  return ctx.state['principal'] as Principal;
}

/**
 * The principal of a token. The key determines the algorithm; the token's `kid` only selects one of the known keys (RFC
 * 8725, section 3.1). A `crit` header names extensions that must be understood, and none is; other headers are ignored.
 * @throws HttpError 401, 403 for an unknown plan, 503 when no keys are known
 */
export async function verifyToken(token: string, options: AuthOptions): Promise<Principal> {
  const key = await options.keySource(kidOf(token));
  if (key === undefined) throw unauthorized();
  return principalOf(verify(token, key, options.jwt), options);
}

/** @throws HttpError 401 */
export function bearerToken(ctx: Context): string {
  const token = /^Bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(ctx.get('Authorization'))?.[1];
  if (token === undefined) throw unauthorized();
  return token;
}

/** @throws HttpError 401 for a malformed token, and for one with extensions (RFC 7515, section 4.1.11) */
function kidOf(token: string): string | undefined {
  const { kid, crit } = headerOf(token);
  if (crit !== undefined || (kid !== undefined && typeof kid !== 'string')) throw unauthorized();
  return kid;
}

function headerOf(token: string): Record<string, unknown> {
  if (token.length > MAX_TOKEN_LENGTH) throw unauthorized();
  try {
    // The library parses the payload too, and throws the errors of JSON.parse.
    const header: unknown = jwt.decode(token, { complete: true })?.header;
    if (typeof header === 'object' && header !== null) return header as Record<string, unknown>;
  } catch {}
  throw unauthorized();
}

/** @throws HttpError 401; with a description only when the signature was valid */
function verify(token: string, { key, algorithms }: VerificationKey, { issuer, audience }: JwtConfig): jwt.JwtPayload {
  try {
    const claims = jwt.verify(token, key, {
      algorithms,
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      ...(issuer !== '' && { issuer }),
      ...(audience !== '' && { audience }),
    });
    if (typeof claims === 'object') return claims;
  } catch (error) {
    if (error instanceof jwt.TokenExpiredError) throw unauthorized('The token has expired');
    if (error instanceof jwt.NotBeforeError) throw unauthorized('The token is not valid yet');
    // jsonwebtoken checks these claims after the signature.
    if (error instanceof Error && /^jwt (issuer|audience) invalid/.test(error.message)) {
      throw unauthorized(
        `The ${error.message.includes('issuer') ? 'iss' : 'aud'} claim is not the one that is required here`,
      );
    }
  }
  throw unauthorized();
}

function principalOf(claims: jwt.JwtPayload, { plans, defaultPlan, jwt: { planClaim } }: AuthOptions): Principal {
  const { sub, exp } = claims;
  const planName: unknown = claims[planClaim] ?? defaultPlan;
  if (exp === undefined) throw unauthorized('The token has no exp claim');
  // A lone surrogate has no UTF-8: two such subjects would be stored as one.
  if (typeof sub !== 'string' || sub === '' || sub.length > MAX_SUBJECT_LENGTH || !sub.isWellFormed()) {
    throw unauthorized(`The sub claim must be a string of 1 to ${MAX_SUBJECT_LENGTH} characters`);
  }
  const plan = typeof planName === 'string' ? plans.get(planName) : undefined;
  if (plan === undefined) {
    throw forbidden(`The plan ${printable(JSON.stringify(planName))} of your token is not known here`);
  }
  return { userId: sub, plan, expiresAt: exp * 1_000 };
}
