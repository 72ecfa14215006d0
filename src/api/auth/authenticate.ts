import type { Context, Next } from 'koa';
import { isShareToken } from '../../domain/share.ts';
import { admitShare, type ShareAdmissionOptions } from './share-admission.ts';
import { bearerToken, verifyToken, type AuthOptions, type Principal } from './token.ts';

export type AuthenticateOptions = AuthOptions & ShareAdmissionOptions;

/** Admits requests with a valid bearer token and puts its `Principal` into `ctx.state.principal`. */
export function authenticate(options: AuthenticateOptions) {
  return async (ctx: Context, next: Next): Promise<void> => {
    ctx.state['principal'] = await admit(ctx, options);
    await next();
  };
}

/**
 * The principal of a request: a user by its token, or the holder of a share link. A route that answers for long calls
 * this again at intervals.
 * @throws HttpError when the token does not admit the request, or not any more
 */
export async function admit(ctx: Context, options: AuthenticateOptions): Promise<Principal> {
  const token = bearerToken(ctx.get('Authorization'));
  if (isShareToken(token)) return admitShare(ctx, token, options);
  const principal = await verifyToken(token, options);
  await options.rememberPlan(principal.userId, principal.plan.name);
  return principal;
}
