import { parseArgs } from 'node:util';
import { isUuid } from '../domain/ids.ts';
import { UserError } from '../user-error.ts';
import type { Log } from '../log.ts';
import type { Database } from '../store/database.ts';
import {
  countDeadLetters,
  discardDeadLetters,
  listDeadLetters,
  nextDeadLetters,
  type DeadLetter,
} from '../store/dead-letters.ts';
import { replayDeadLetter, type Replayed } from './replay.ts';

const USAGE = `usage: dead-letters <command>
  list [--endpoint <id>] [--limit <n>] [--json]   list captures that the database refused, oldest first (at most 100)
  replay <id>... | --all                          try again to store them; those refused again stay
  discard <id>... | --all --yes                   delete them for good

None of them shows captured data. A replay can be interrupted and repeated, and two can run at once.
Exit code: 0 when it is done, 1 when a capture was refused again or an error occurred.`;

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 100_000;

const CHUNK = 500;

/** The command's dependencies; `print` writes a line of the result, `say` a message for the operator. */
export interface CommandContext {
  openDb: () => Promise<Database>;
  log: Log;
  print: (line: string) => void;
  say: (line: string) => void;
}

interface Arguments {
  command: string;
  ids: string[];
  endpoint?: string | undefined;
  limit: number;
  json: boolean;
  all: boolean;
}

/**
 * The role `dead-letters`. Replays and discards write a line with the ids to the log.
 * @returns the exit code
 * @throws UserError for invalid arguments; the driver's error when the database is unreachable
 */
export async function deadLetters(args: string[], context: CommandContext): Promise<number> {
  if (args.includes('--help') || args.includes('-h')) {
    context.print(USAGE);
    return 0;
  }
  const parsed = parse(args);
  const db = await context.openDb();
  if (parsed.command === 'list') return list(db, parsed, context);
  if (parsed.command === 'replay') return replay(db, parsed, context);
  return discard(db, parsed, context);
}

async function list(
  db: Database,
  { endpoint, limit, json }: Arguments,
  { print, say }: CommandContext,
): Promise<number> {
  const letters = await listDeadLetters(db.knex, endpoint, limit);
  for (const line of json ? letters.map(asJson) : asTable(letters)) print(line);
  const total = await countDeadLetters(db.knex, endpoint);
  if (total === 0) say('There are no dead letters.');
  else if (total > letters.length) say(`These are ${letters.length} of ${total}; --limit shows more.`);
  return 0;
}

async function replay(db: Database, { ids }: Arguments, { log, say }: CommandContext): Promise<number> {
  const counts: Record<Replayed, number> = {
    stored: 0,
    'stored before': 0,
    'endpoint gone': 0,
    refused: 0,
    'not there': 0,
  };
  for await (const chunk of chunks(db, ids)) {
    const outcomes: Partial<Record<Replayed, string[]>> = {};
    try {
      for (const id of chunk) {
        const outcome = await replayDeadLetter(db, id);
        counts[outcome] += 1;
        (outcomes[outcome] ??= []).push(id);
      }
    } finally {
      log.info({ count: chunk.length, outcomes }, 'Dead letters replayed');
    }
  }
  say(
    `${counts.stored} stored, ${counts.refused} refused again, ${counts['endpoint gone']} dropped because their endpoint is gone, ` +
      `${counts['stored before']} stored before, ${counts['not there']} not there (any more).`,
  );
  return counts.refused > 0 ? 1 : 0;
}

async function discard(db: Database, { ids }: Arguments, { log, say }: CommandContext): Promise<number> {
  let discarded = 0;
  for await (const chunk of chunks(db, ids)) {
    const count = await discardDeadLetters(db.knex, chunk);
    log.info({ count, ids: chunk }, 'Dead letters discarded');
    discarded += count;
  }
  say(`${discarded} discarded.`);
  return 0;
}

/** The named ids, otherwise all, each once; also those that are added meanwhile. */
async function* chunks(db: Database, ids: string[]): AsyncGenerator<string[]> {
  for (let start = 0; start < ids.length; start += CHUNK) yield ids.slice(start, start + CHUNK);
  if (ids.length > 0) return;
  for (
    let chunk = await nextDeadLetters(db.knex, undefined, CHUNK);
    chunk.length > 0;
    chunk = await nextDeadLetters(db.knex, chunk.at(-1), CHUNK)
  )
    yield chunk;
}

function asJson({ id, endpointId, userId, errorCode, refusedAt, bytes }: DeadLetter): string {
  return JSON.stringify({
    id,
    endpoint_id: endpointId,
    user_id: userId,
    error_code: errorCode,
    refused_at: refusedAt.toISOString(),
    bytes,
  });
}

function asTable(letters: DeadLetter[]): string[] {
  if (letters.length === 0) return [];
  const rows = letters.map(({ id, endpointId, userId, errorCode, refusedAt, bytes }) => [
    id,
    endpointId,
    refusedAt.toISOString(),
    String(bytes),
    errorCode,
    // Escaped: text from an identity provider must not control a terminal.
    JSON.stringify(userId),
  ]);
  const all = [['ID', 'ENDPOINT', 'REFUSED AT', 'BYTES', 'ERROR', 'USER'], ...rows];
  const widths = all.reduce<number[]>((widest, row) => row.map((cell, i) => Math.max(widest[i] ?? 0, cell.length)), []);
  return all.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
}

function parse(args: string[]): Arguments {
  const [command = '', ...rest] = args;
  const { values, positionals } = readOptions(command, rest);
  const ids = [...new Set(positionals.map((id) => id.toLowerCase()))];
  for (const id of [...ids, ...(values.endpoint === undefined ? [] : [values.endpoint])]) {
    if (!isUuid(id)) throw new UserError(`${JSON.stringify(id)} is not an id`);
  }
  if (command !== 'list' && ids.length > 0 === (values.all ?? false))
    throw new UserError(`${command} needs ids, or --all instead of them`);
  if (command === 'discard' && values.all && !values.yes)
    throw new UserError('discard --all deletes every dead letter for good; say --yes as well');
  const limit = Number(/^\d{1,6}$/.exec(values.limit ?? String(DEFAULT_LIMIT))?.[0]);
  if (!(limit >= 1 && limit <= MAX_LIMIT)) throw new UserError(`--limit must be a whole number from 1 to ${MAX_LIMIT}`);
  return { command, ids, endpoint: values.endpoint, limit, json: values.json ?? false, all: values.all ?? false };
}

function readOptions(command: string, args: string[]) {
  const options = {
    list: { endpoint: { type: 'string' }, limit: { type: 'string' }, json: { type: 'boolean' } },
    replay: { all: { type: 'boolean' } },
    discard: { all: { type: 'boolean' }, yes: { type: 'boolean' } },
  } as const;
  if (!Object.hasOwn(options, command)) throw new UserError(USAGE);
  try {
    const own = options[command as keyof typeof options];
    const { values, positionals } = parseArgs({ args, options: own, allowPositionals: command !== 'list' });
    return {
      positionals,
      values: values as { endpoint?: string; limit?: string; json?: boolean; all?: boolean; yes?: boolean },
    };
  } catch (error) {
    throw new UserError(`${(error as Error).message}\n${USAGE}`);
  }
}
