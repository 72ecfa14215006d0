/*
 * `npm run test:compatibility [-- redis|valkey] [test file …]`: the integration and end-to-end tests on MySQL with
 * Redis, then with Valkey, in the versions of Debian unstable. Run by hand, because each takes as long as `npm test`;
 * the tests of the image and the chart are left out. Ends with a line of counts for each set of servers.
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { delimiter } from 'node:path';
import { UserError } from '../../src/user-error.ts';
import { say } from '../../src/local/progress.ts';
import { prepareServers, STORES, type ServerSet } from './servers.ts';

const LEFT_OUT = ['test/e2e/image.test.ts'];

const [first, ...others] = process.argv.slice(2);
const chosen = STORES.filter((store) => store === first);
const given = chosen.length > 0 ? others : process.argv.slice(2);
const all = globSync('test/{integration,e2e}/*.test.ts').filter((file) => !LEFT_OUT.includes(file));
const files = given.length > 0 ? given : all;

const summary: string[] = [];
try {
  for (const store of chosen.length > 0 ? chosen : STORES) {
    const servers = await prepareServers(store);
    say(`\nTesting on ${servers.versions}`);
    const { counts, passed } = await runTests(servers);
    summary.push(`${servers.versions}: ${counts}`);
    if (!passed) process.exitCode = 1;
  }
} catch (error) {
  if (!(error instanceof UserError)) throw error;
  say(error.message);
  process.exitCode = 1;
}
for (const line of summary) say(line);

/** Prints the output of the tests, and returns its last line. */
function runTests({ folder }: ServerSet): Promise<{ counts: string; passed: boolean }> {
  const PATH = `${folder}${delimiter}${process.env['PATH'] ?? ''}`;
  const args = ['src/local/bootstrap.mjs', 'test/run.ts', ...files];
  const child = spawn(process.execPath, args, { env: { ...process.env, PATH }, stdio: ['inherit', 'pipe', 'inherit'] });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
  let tail = '';
  child.stdout.on('data', (chunk: Buffer) => {
    process.stdout.write(chunk);
    tail = (tail + chunk.toString()).slice(-1_000);
  });
  return new Promise((resolve) => {
    child.on('close', (code) => resolve({ counts: tail.trim().split('\n').at(-1) ?? '', passed: code === 0 }));
  });
}
