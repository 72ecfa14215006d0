import { setFlagsFromString } from 'node:v8';
import { readConfig, ROLES, type Config, type Role } from './config.ts';
import { MisconfigurationError, UserError } from './user-error.ts';
import { createLog, describeError, logConsole, type Log } from './log.ts';
import { createResources, type Resources } from './resources.ts';

/* Modules that only some roles need are imported dynamically: a health check runs every few seconds. */

const USAGE = `usage: main.ts <role>
  api           take captures and answer the management API
  worker        write captures to MySQL
  migrate       bring the database schema up to date, and exit
  token         print a JWT: --sub <user> [--plan <plan>] [--ttl <number>s|m|h|d, default 1h]
  dead-letters  list, replay or discard captures that the database refused; see dead-letters --help
  shards        print or change the number of shards of the capture queues: [<number>]
  healthcheck   check whether the API or worker on this machine is alive (--ready: ready), and exit with 0 or 1
  listen        forward captures to a server on this machine; see listen --help
  local         run everything on this machine, with a private database and Redis`;

const TAKES_ARGUMENTS: Role[] = ['token', 'dead-letters', 'shards', 'healthcheck'];

/** Exit code of the role "migrate" where repeating it is pointless (EX_CONFIG of sysexits.h). */
const MISCONFIGURED = 78;

await main();

async function main(): Promise<void> {
  const [roleName, ...args] = process.argv.slice(2);
  if (roleName === '--help' || roleName === '-h') return void process.stdout.write(`${USAGE}\n`);
  // It runs on laptops, without any setting of a server.
  if (roleName === 'listen') return void (process.exitCode = await (await import('./listen/listen.ts')).listen(args));
  const role = ROLES.find((known) => known === roleName);
  if (role === undefined) return fail(new UserError(USAGE));
  if (!TAKES_ARGUMENTS.includes(role) && args.length > 0)
    return fail(
      new UserError(`The role ${role} takes no arguments (${args.join(' ')}); settings are environment variables`),
    );
  try {
    await run(role, readConfig(process.env, role), args);
  } catch (error) {
    fail(error, role === 'migrate' && error instanceof MisconfigurationError ? MISCONFIGURED : 1);
  }
}

async function run(role: Role, config: Config, args: string[]): Promise<void> {
  if (role === 'token') return printToken(config, args);
  if (role === 'healthcheck') return checkHealth(config, args);
  // The user of `npm start` reads sentences, not JSON lines.
  const log = createLog(role === 'local' ? 'warn' : config.logLevel, { role });
  const resources = createResources((error) => log.error({ error: describeError(error) }, 'Closing failed'));
  stopOnSignal(resources, config.shutdownTimeoutMs, log);
  if (role !== 'local') {
    describeCrash(log);
    logConsole(log);
  }
  try {
    await start(role, config, args, resources, log);
  } catch (error) {
    await resources.close();
    throw error;
  }
}

async function start(role: Role, config: Config, args: string[], resources: Resources, log: Log): Promise<void> {
  if (role === 'api' || role === 'worker') countBuffersWithHeap();
  if (role === 'api') await (await import('./api/start.ts')).startApi(config, resources, log);
  else if (role === 'worker') await (await import('./worker/start.ts')).startWorkerProcess(config, resources, log);
  else if (role === 'shards') await runShards(config, args, resources, log);
  else if (role === 'local') await (await import('./local/start.ts')).startLocal(config, resources);
  else
    await withDatabase(
      config,
      role === 'dead-letters' ? runDeadLetters(config, args, resources, log) : runMigrations(config, resources, log),
    );
}

/**
 * By default V8 starts to collect all garbage after each 64 MiB of buffers: with large bodies that takes more CPU than
 * all other work. With the flag their bytes and the heap have one limit, which grows with what is in use.
 */
function countBuffersWithHeap(): void {
  setFlagsFromString('--external-memory-accounted-in-global-limit');
}

/** The user of a command gets instructions for an unreachable database, not a stack. */
async function withDatabase({ mysql }: Config, command: Promise<void>): Promise<void> {
  const { isSetupError, isRefusedAccess } = await import('./store/sql-errors.ts');
  await command.catch((error: unknown) => {
    if (!isSetupError(error)) throw error;
    const Kind = isRefusedAccess(error) ? MisconfigurationError : UserError;
    throw new Kind(
      `The database at ${mysql.host}:${mysql.port} cannot be used: ${(error as Error).message}. Check MYSQL_URL, or MYSQL_HOST, MYSQL_PORT, MYSQL_USER, MYSQL_PASSWORD and MYSQL_DATABASE.`,
    );
  });
}

async function runMigrations(config: Config, resources: Resources, log: Log): Promise<void> {
  const { openDatabase } = await import('./store/database.ts');
  const command = await import('./commands/migrate.ts');
  // Changing a large table takes long, so silence closes no connection here.
  const db = resources.add(openDatabase(config.mysql, { silenceMs: 0 }), (database) => database.close());
  await command.runMigrations(db, config.plans, config.migrateWaitMs, log);
  await resources.close();
}

async function runDeadLetters(config: Config, args: string[], resources: Resources, log: Log): Promise<void> {
  const { deadLetters } = await import('./commands/dead-letters.ts');
  // A command that a signal interrupts has failed.
  process.exitCode = 1;
  process.exitCode = await deadLetters(args, {
    openDb: async () =>
      resources.add((await import('./store/database.ts')).openDatabase(config.mysql), (database) => database.close()),
    log,
    print: (line) => void process.stdout.write(`${line}\n`),
    say: (line) => void process.stderr.write(`${line}\n`),
  });
  await resources.close();
}

async function runShards({ redis }: Config, args: string[], resources: Resources, log: Log): Promise<void> {
  const { shards } = await import('./commands/shards.ts');
  process.stdout.write(`${await shards(args, redis, resources, log)}\n`);
  await resources.close();
}

async function printToken(config: Config, args: string[]): Promise<void> {
  const { mintToken } = await import('./commands/token.ts');
  process.stdout.write(`${mintToken(config, args)}\n`);
}

async function checkHealth({ internalPort }: Config, args: string[]): Promise<void> {
  if (args.length > 1 || (args[0] ?? '--ready') !== '--ready') throw new UserError('usage: healthcheck [--ready]');
  const { findProblem } = await import('./ops/healthcheck.ts');
  const problem = await findProblem(internalPort, args.length === 0 ? '/livez' : '/readyz');
  if (problem !== undefined) throw new UserError(problem);
}

/** SIGTERM, Ctrl-C, and the exit of the launcher that started this process all stop it in order. */
function stopOnSignal(resources: Resources, timeoutMs: number, log: Log): void {
  let stopping = false;
  const stop = (why: string): void => {
    if (stopping) return;
    stopping = true;
    log.info({ why }, 'Stopping');
    // A process that hangs while it closes has to exit all the same: its captures are in Redis.
    setTimeout(() => {
      log.error('Stopped before everything was closed');
      process.exit(1);
    }, timeoutMs).unref();
    resources.close().then(() => {
      log.info('Stopped');
      process.exit();
    }, fail);
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
  // The terminal was closed, and accepts no more output either.
  process.on('SIGHUP', () => stop('SIGHUP'));
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => stop('the output is closed'));
  process.on('disconnect', () => stop('the launcher has exited'));
}

/** Node prints an uncaught error with all its fields: SQL with its values, commands of Redis with whole jobs. */
function describeCrash(log: Log): void {
  process.on('uncaughtException', (error) => {
    log.fatal({ error: describeError(error) }, 'Crashed');
    process.exit(1);
  });
}

function fail(error: unknown, exitCode = 1): never {
  // A UserError tells the user what to do, so it needs no stack.
  const text =
    error instanceof Error && !(error instanceof UserError)
      ? error.stack
      : error instanceof Error
        ? error.message
        : String(error);
  process.stderr.write(`${text}\n`);
  process.exit(exitCode);
}
