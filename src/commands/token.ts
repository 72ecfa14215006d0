import { parseArgs } from 'node:util';
import jwt from 'jsonwebtoken';
import type { Config } from '../config.ts';
import { UserError } from '../user-error.ts';

const MAX_TOKEN_SECONDS = 365 * 86_400;

/** The token is for development and tests. Throws a UserError that names the invalid argument. */
export function mintToken(config: Config, args: string[]): string {
  const values = tokenArguments(args);
  const ttl = /^(\d{1,9})([smhd])$/.exec(values.ttl);
  const seconds = Number(ttl?.[1]) * { s: 1, m: 60, h: 3600, d: 86_400 }[(ttl?.[2] ?? 's') as 's' | 'm' | 'h' | 'd'];
  if (!values.sub) throw new UserError('--sub must name the user that the token is for');
  if (!(seconds >= 1 && seconds <= MAX_TOKEN_SECONDS))
    throw new UserError('--ttl must be a number and a unit, like 30s, 15m, 8h or 1d, and at most 365d');
  if (values.plan !== undefined && !config.plans.has(values.plan)) {
    throw new UserError(`--plan must be one of ${[...config.plans.keys()].join(', ')}`);
  }
  const claims = values.plan === undefined ? {} : { [config.jwt.planClaim]: values.plan };
  return jwt.sign(claims, config.jwt.secret, { algorithm: 'HS256', subject: values.sub, expiresIn: seconds });
}

function tokenArguments(args: string[]): { sub?: string | undefined; plan?: string | undefined; ttl: string } {
  try {
    return parseArgs({
      args,
      options: { sub: { type: 'string' }, plan: { type: 'string' }, ttl: { type: 'string', default: '1h' } },
    }).values;
  } catch (error) {
    throw new UserError(
      `${(error as Error).message}\nusage: token --sub <user> [--plan <plan>] [--ttl <number>s|m|h|d]`,
    );
  }
}
