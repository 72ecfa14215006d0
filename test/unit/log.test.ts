import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { atMostEvery, describeError, logConsole, type Log } from '../../src/log.ts';

describe('describeError', () => {
  test('keeps class, message, code and frames', () => {
    const described = describeError(Object.assign(new RangeError('too far'), { code: 'E_FAR' }));
    expect(described).toMatchObject({ type: 'RangeError', message: 'too far', code: 'E_FAR' });
    expect(described['stack']).toMatch(/^\s+at .*log\.test\.ts/);
  });

  test('keeps the numeric code of an error of the web platform', () => {
    const described = describeError(new DOMException('too late', 'TimeoutError'));
    expect(described).toMatchObject({ type: 'TimeoutError', message: 'too late', code: 23 });
  });

  const thrownBy = (act: () => unknown): unknown => {
    try {
      return act();
    } catch (error) {
      return error;
    }
  };

  test.each<[string, unknown]>([
    // Short enough to be quoted completely.
    ['JSON that can not be read', thrownBy(() => JSON.parse('canary'))],
    ['JSON with a line that looks like a frame', thrownBy(() => JSON.parse('x\n at canary (y)'))],
    ['an argument that Node does not take', thrownBy(() => Buffer.from(Symbol('canary') as unknown as string))],
    ['an argument that Node quotes', thrownBy(() => new URL('canary'))],
    ['a message of several lines', new Error('x', { cause: 'canary' })],
    [
      'a refused value',
      Object.assign(new Error("Incorrect string value: 'canary'"), {
        code: 'ER_X',
        errno: 1366,
        sqlState: '22007',
        sql: 'canary',
      }),
    ],
    [
      'a command that Redis does not know',
      Object.assign(new Error("ERR unknown command 'EVALSHA', with args beginning with: 'canary' 'x\n y'"), {
        command: { args: ['canary'] },
      }),
    ],
    ['something that is no error', 'canary'],
  ])('leaves out the data in %s', (_what, error) => {
    const text = JSON.stringify(describeError(error));
    expect(text).not.toContain('canary');
    expect(text.length).toBeGreaterThan(10);
  });
});

test('the output of a library is logged, an error without its data', () => {
  const lines: [string, object][] = [];
  const note =
    (level: string) =>
    (fields: object): void =>
      void lines.push([level, fields]);
  const before = { ...console };
  logConsole({ warn: note('warn'), error: note('error') } as unknown as Log);
  const { warn, error } = console;
  Object.assign(console, before);
  warn('beware', 1);
  error(Object.assign(new Error("Incorrect value: 'canary'"), { errno: 1366, sqlState: '22007' }));
  expect(lines).toEqual([
    ['warn', { console: ['beware', { type: 'number' }] }],
    ['error', { console: [{ type: 'Error', errno: 1366, sqlState: '22007' }] }],
  ]);
});

test('atMostEvery writes the first of many, and then how many it left out', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const lines: [string, number][] = [];
  const write = atMostEvery<string>(1_000, (value, leftOut) => lines.push([value, leftOut]));
  vi.advanceTimersByTime(5_000);
  for (const value of ['a', 'b', 'c']) write(value);
  vi.advanceTimersByTime(999);
  write('d');
  vi.advanceTimersByTime(1);
  write('e');
  vi.advanceTimersByTime(1_000);
  write('f');
  vi.useRealTimers();
  expect(lines).toEqual([
    ['a', 0],
    ['e', 3],
    ['f', 0],
  ]);
});

test('a process exits when the reader of its log is closed', async () => {
  const script = `
    const { createLog } = await import('./src/log.ts');
    const log = createLog('info');
    log.info('up');
    process.stdin.once('data', () => {
      log.info('one');
      log.info('two');
      process.exit();
    });`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await once(child.stdout, 'data');
  child.stdout.destroy();
  child.stdin.write('go');
  expect(await ended).toEqual([0, null]);
});
