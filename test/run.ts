/*
 * `npm test`: type check, format, lint, and every test, on servers of its own. Ends with a line of counts. In CI a
 * skipped test is a failure: nothing may pass because it did not run. The tests of the image are the exception where
 * nothing can build one, and that is said.
 */
import { spawn } from 'node:child_process';
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { claimDataDir } from '../src/local/processes.ts';
import { say } from '../src/local/progress.ts';
import { findOrInstallBrowser } from '../src/local/programs.ts';
import { findImageTool, IMAGE_TESTS, NO_IMAGE_TOOL } from './support/image.ts';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  testResults: {
    name: string;
    message?: string;
    status: string;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

/** The files for the formatter. */
const FORMATTED = ['src/**/*.{ts,mjs}', 'test/**/*.ts', 'migrations/*.ts'];

const filters = process.argv.slice(2);
const failures: string[] = [];
// A short name: it contains sockets, whose paths are limited.
const folder = mkdtempSync(join(tmpdir(), 'hookbay-'));

if (filters.length === 0) {
  await check('Type check', 'tsc', ['--build', '--noEmit', '.', 'src/page', 'test/page']);
  await check('Format', 'prettier', ['--check', '--log-level=warn', ...FORMATTED]);
  await check('Lint', 'oxlint', ['--type-aware', '--deny-warnings', 'src', 'test', 'migrations']);
}
const wantsBrowser = filters.length === 0 || filters.some((filter) => /browser|test\/page/.test(filter));
// Without one its tests are skipped.
if (wantsBrowser) await findOrInstallBrowser().catch((error: unknown) => say(String(error)));
const reportFile = join(folder, 'report.json');
await check('Tests', 'vitest', [
  'run',
  '--root=.',
  '--config=test/vitest.config.ts',
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${reportFile}`,
  ...filters,
]);
const report = readReport();
await cleanUp();
finish(report);

/** Runs a tool of node_modules on the Node that runs this file. */
function check(name: string, tool: string, args: string[]): Promise<void> {
  say(`\n${name}`);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [join('node_modules/.bin', tool), ...args], {
      stdio: 'inherit',
      env: { ...process.env, TMPDIR: folder },
    });
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => child.kill(signal));
    child.on('exit', (code) => {
      if (code !== 0) failures.push(name);
      resolve();
    });
  });
}

function readReport(): Report | undefined {
  try {
    return JSON.parse(readFileSync(reportFile, 'utf8')) as Report;
  } catch {
    return undefined;
  }
}

/**
 * Vitest stops its servers unless it is interrupted (Ctrl-C): the remaining ones are found by their data directories.
 */
async function cleanUp(): Promise<void> {
  for (const file of globSync('**/processes.json', { cwd: folder })) await claimDataDir(join(folder, dirname(file)));
  rmSync(folder, { recursive: true, force: true });
}

function finish(report: Report | undefined): void {
  const tests = report?.testResults.flatMap(({ assertionResults }) => assertionResults) ?? [];
  const notRun = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
  const [imageTests, others] = [
    notRun.filter(({ fullName }) => fullName.startsWith(IMAGE_TESTS)),
    notRun.filter(({ fullName }) => !fullName.startsWith(IMAGE_TESTS)),
  ];
  const why = imageTests.length > 0 && findImageTool() === undefined ? ` (${NO_IMAGE_TOOL})` : '';
  for (const { fullName } of imageTests) say(`skipped: ${fullName}${why}`);
  for (const { fullName } of others) say(`skipped: ${fullName}`);
  const unexpected = why === '' ? notRun : others;
  if (process.env['CI'] === 'true' && unexpected.length > 0) failures.push('skipped tests');
  if (report === undefined || report.numPassedTests === 0) failures.push('no test ran');
  say(failures.length === 0 ? '\nEverything passed.' : `\nNot passed: ${[...new Set(failures)].join(', ')}`);
  const failed = Math.max(report?.numFailedTests ?? 0, failures.length > 0 ? 1 : 0);
  say(`${report?.numPassedTests ?? 0} passed, ${failed} failed, ${notRun.length} skipped`);
  process.exitCode = failures.length === 0 ? 0 : 1;
}
