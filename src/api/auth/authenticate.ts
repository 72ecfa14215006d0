import type { Context, Next } from 'koa';
import { isShareToken } from '../../domain/share.ts';
import { admitShare } from './share-admission.ts';
import { bearerToken, verifyToken, type AuthOptions, type Principal } from './token.ts';

/** Admits requests with a valid bearer token and puts its `Principal` into `ctx.state.principal`. */
export function authenticate(options: AuthOptions) {
  return async (ctx: Context, next: Next): Promise<void> => {
    ctx.state['principal'] = await admit(ctx, options);
    await next();
  };
}

/** @throws HttpError when the token does not admit the request */
async function admit(ctx: Context, options: AuthOptions): Promise<Principal> {
  const token = bearerToken(ctx);
  if (isShareToken(token)) return admitShare(ctx, token, options);
  const principal = await verifyToken(token, options);
  await options.rememberPlan(principal.userId, principal.plan.name);
  return principal;
}
