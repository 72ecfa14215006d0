import { parseArgs } from 'node:util';
import jwt from 'jsonwebtoken';
import { startApi } from './api/start.ts';
import { readConfig, ROLES, type Config, type Role } from './config.ts';
import { UserError } from './errors.ts';
import { startLocal } from './local/start.ts';
import { createLog, describeError, type Log } from './log.ts';
import { largestBody } from './plans.ts';
import { createResources, type Resources } from './resources.ts';
import { openDatabase } from './store/database.ts';
import { checkPacketSize, migrate } from './store/migrations.ts';
import { startWorkerProcess } from './worker/start.ts';

const USAGE = `usage: main.ts <role>
  api       take captures and answer the management API
  worker    write captures to MySQL
  migrate   bring the database schema up to date, and exit
  token     print a JWT: --sub <user> [--plan <plan>] [--ttl <number>s|m|h|d, default 1h]
  local     run everything on this machine, with a private database and Redis`;

const MAX_TOKEN_SECONDS = 365 * 86_400;

await main();

async function main(): Promise<void> {
  const [roleName, ...args] = process.argv.slice(2);
  if (roleName === '--help' || roleName === '-h') return void process.stdout.write(`${USAGE}\n`);
  const role = ROLES.find((known) => known === roleName);
  if (role === undefined) return fail(new UserError(USAGE));
  if (role !== 'token' && args.length > 0) return fail(new UserError(`The role ${role} takes no arguments (${args.join(' ')}); settings are environment variables`));
  try {
    await run(role, readConfig(process.env, role), args);
  } catch (error) {
    fail(error);
  }
}

async function run(role: Role, config: Config, args: string[]): Promise<void> {
  if (role === 'token') return printToken(config, args);
  // Whoever runs `npm start` reads sentences, not JSON lines.
  const log = createLog(role === 'local' ? 'warn' : config.logLevel, { role });
  const resources = createResources((error) => log.error({ error: describeError(error) }, 'Closing failed'));
  stopOnSignal(resources, config.shutdownTimeoutMs, log);
  if (role !== 'local') describeCrash(log);
  try {
    if (role === 'api') await startApi(config, resources, log);
    else if (role === 'worker') await startWorkerProcess(config, resources, log);
    else if (role === 'local') await startLocal(config, resources);
    else await runMigrations(config, resources, log);
  } catch (error) {
    await resources.close();
    throw error;
  }
}

async function runMigrations(config: Config, resources: Resources, log: Log): Promise<void> {
  const db = resources.add(openDatabase(config.mysql), (database) => database.close());
  await checkPacketSize(db, largestBody(config.plans));
  const ran = await migrate(db);
  log.info({ ran }, ran.length === 0 ? 'The schema is up to date' : 'Migrated');
  await resources.close();
}

/** Mints a token for development and tests; in production tokens come from an identity provider. */
function printToken(config: Config, args: string[]): void {
  const values = tokenArguments(args);
  const ttl = /^(\d{1,9})([smhd])$/.exec(values.ttl);
  const seconds = Number(ttl?.[1]) * { s: 1, m: 60, h: 3600, d: 86_400 }[(ttl?.[2] ?? 's') as 's' | 'm' | 'h' | 'd'];
  if (!values.sub) throw new UserError('--sub must name the user that the token is for');
  if (!(seconds >= 1 && seconds <= MAX_TOKEN_SECONDS)) throw new UserError('--ttl must be a number and a unit, like 30s, 15m, 8h or 1d, and at most 365d');
  if (values.plan !== undefined && !config.plans.has(values.plan)) {
    throw new UserError(`--plan must be one of ${[...config.plans.keys()].join(', ')}`);
  }
  const claims = values.plan === undefined ? {} : { [config.jwt.planClaim]: values.plan };
  process.stdout.write(`${jwt.sign(claims, config.jwt.secret, { algorithm: 'HS256', subject: values.sub, expiresIn: seconds })}\n`);
}

function tokenArguments(args: string[]): { sub?: string | undefined; plan?: string | undefined; ttl: string } {
  try {
    return parseArgs({ args, options: { sub: { type: 'string' }, plan: { type: 'string' }, ttl: { type: 'string', default: '1h' } } }).values;
  } catch (error) {
    throw new UserError(`${(error as Error).message}\nusage: token --sub <user> [--plan <plan>] [--ttl <number>s|m|h|d]`);
  }
}

/** SIGTERM, Ctrl-C, and the end of the launcher that started this process all mean: stop in order. */
function stopOnSignal(resources: Resources, timeoutMs: number, log: Log): void {
  let stopping = false;
  const stop = (why: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'Stopping');
    // A process that hangs while it closes must still go: what it held is in Redis.
    setTimeout(() => {
      log.error('Stopped before everything was closed');
      process.exit(1);
    }, timeoutMs).unref();
    resources.close().then(
      () => {
        log.info('Stopped');
        process.exit();
      },
      fail,
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  // The terminal was closed, and takes no more output either.
  process.on('SIGHUP', () => stop('SIGHUP'));
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stop('nobody reads the output'));
  process.on('disconnect', () => stop('the launcher is gone'));
}

/** Node prints an uncaught error with all its fields: SQL with its values, commands of Redis with whole jobs. */
function describeCrash(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ error: describeError(error) }, 'Crashed');
    process.exit(1);
  });
}

function fail(error: unknown): never {
  // An error whose message tells the user what to do needs no stack under it.
  const text = error instanceof Error && !(error instanceof UserError) ? error.stack : error instanceof Error ? error.message : String(error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
}
