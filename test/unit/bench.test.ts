import { expect, test } from 'vitest';
import { UserError } from '../../src/user-error.ts';
import { readArguments } from '../load/bench/arguments.ts';
import { fileSystemOf } from '../load/bench/conditions.ts';
import { cpuOf, openCpuMeter, parseCpu } from '../load/bench/cpu.ts';
import { goalsOf, isMet } from '../load/bench/goals.ts';
import { imbalances } from '../load/bench/measure.ts';
import { settingsOf } from '../load/bench/plan.ts';
import { number } from '../load/bench/report.ts';
import { summarize, type Measurement } from '../load/bench/results.ts';
import { inTurn } from '../load/bench/run.ts';
import { shapeOf, USUAL } from '../load/bench/setting.ts';
import { quantile, spreadOf } from '../support/statistics.ts';
import { statusOf } from '../load/generator/connection.ts';
import { createMessage, jsonBody } from '../load/generator/message.ts';
import { closedLoop, openLoop } from '../load/generator/pace.ts';

test('a spread is the median of any number of values with their range', () => {
  expect(spreadOf([3, 100, 1])).toEqual({ median: 3, min: 1, max: 100 });
  expect(spreadOf([4, 1, 2, 3])).toEqual({ median: 2.5, min: 1, max: 4 });
  expect(() => spreadOf([])).toThrow();
});

test('a quantile is the smallest value that so many do not exceed', () => {
  const hundred = Array.from({ length: 100 }, (_none, i) => i + 1);
  expect([0, 0.5, 0.99, 1].map((q) => quantile(hundred, q))).toEqual([1, 50, 99, 100]);
  expect(quantile([], 0.5)).toBeNaN();
});

test('CPU time is read whatever the name of the program, with that of ended children', () => {
  const fields = ['S', '1', '10', '10', '0', '-1', '4194560', '1', '2', '3', '4', '150', '50', '7', '3', '20', '0'];
  expect(parseCpu(`10 (a) b (c) ${fields.join(' ')}\n`)).toBe(2_100_000);
});

test('CPU time of a process grows with its work', () => {
  const meter = openCpuMeter(process.pid);
  const [before, msBefore] = [cpuOf([process.pid]), meter()];
  while (cpuOf([process.pid]) < before + 50_000);
  expect(cpuOf([process.pid, process.pid])).toBeGreaterThanOrEqual(2 * before + 100_000);
  // The first tick may have begun before.
  expect(meter() - msBefore).toBeGreaterThan(35);
});

test('without arguments everything is measured', () => {
  const options = readArguments([]);
  expect(options).toMatchObject({ rounds: 3, seconds: 3, connections: [1, 4, 16, 64, 128, 256] });
  expect(options.parts).toEqual(['connections', 'latency', 'new-connections', 'sizes', 'endpoints', 'processes']);
});

test('arguments choose parts and options', () => {
  const options = readArguments(['connections', '--rounds', '5', '--connections=1,512', '--subjects', 'koa,hookbay']);
  expect(options).toMatchObject({
    parts: ['connections'],
    rounds: 5,
    connections: [1, 512],
    subjects: ['koa', 'hookbay'],
  });
  expect(settingsOf('connections', options).map((one) => `${shapeOf(one)}: ${one.subject}`)).toEqual([
    '1 connection: koa',
    '1 connection: hookbay',
    '512 connections: koa',
    '512 connections: hookbay',
  ]);
});

test('the goals need some of the connections and the latency', () => {
  expect(readArguments(['goals'])).toMatchObject({ parts: ['connections', 'latency'], connections: [1, 4, 128] });
});

test('another checkout is measured beside this one', () => {
  const settings = settingsOf('sizes', readArguments(['sizes', '--against', '.']));
  expect(settings.map(({ subject }) => subject).slice(0, 4)).toEqual(['hookbay', 'against', 'hookbay', 'against']);
});

test.each([
  ['speed', 'no part "speed"'],
  ['--rounds=0', '--rounds takes whole numbers from 1 to 100'],
  ['--seconds=1.5', '--seconds takes whole numbers'],
  ['--connections=1,,2', '--connections takes whole numbers'],
  ['--subjects=rust', 'no subject "rust"'],
  ['--against=/nowhere', '--against: '],
  ['--against=test', 'src/main.ts'],
  ['--data=/nowhere', '--data: '],
  ['--color', "Unknown option '--color'"],
])('the argument %s is refused, and what is possible is said', (argument, why) => {
  expect(() => readArguments([argument])).toThrow(UserError);
  expect(() => readArguments([argument])).toThrow(why);
  expect(() => readArguments([argument])).toThrow('usage: npm run bench');
});

test('each round starts with another subject, and shapes stay together', () => {
  const settings = settingsOf('new-connections', readArguments([]));
  const order = (round: number): string[] => inTurn(settings, round).map(({ subject }) => subject);
  expect(order(1)).toEqual(['koa', 'hookbay', 'node', 'koa', 'hookbay', 'node']);
  expect(order(2)).toEqual(['hookbay', 'node', 'koa', 'hookbay', 'node', 'koa']);
  expect(inTurn(settings, 1).map(({ newConnections }) => newConnections)).toEqual([
    false,
    false,
    false,
    true,
    true,
    true,
  ]);
});

test('books that grew by another number than there are receipts do not balance', () => {
  const before = { rows: 0, request_count: 100, dailyRequests: 100 };
  expect(imbalances(before, { rows: 50, request_count: 150, dailyRequests: 150 }, 50)).toEqual([]);
  expect(imbalances(before, { rows: 49, request_count: 150, dailyRequests: 151 }, 50)).toEqual([
    'THE BOOKS DO NOT BALANCE: 50 receipts, and rows grew by 49',
    'THE BOOKS DO NOT BALANCE: 50 receipts, and dailyRequests grew by 51',
  ]);
  expect(imbalances({}, {}, 50)).toEqual([]);
});

test('what got no receipt may be stored, and what got one has to be', () => {
  expect(imbalances({}, { rows: 52 }, 50, 2)).toEqual([]);
  expect(imbalances({}, { rows: 53 }, 50, 2)).toHaveLength(1);
  expect(imbalances({}, { rows: 49 }, 50, 2)).toHaveLength(1);
});

/** A measurement with one cost and rate. */
function measurement(part: Partial<Measurement>, micros: number, perSecond: number): Measurement {
  return {
    ...USUAL,
    part: 'connections',
    subject: 'hookbay',
    halfRate: false,
    round: 1,
    receipts: 1,
    receiptsPerSecond: perSecond,
    storedPerSecond: perSecond,
    backlog: 0,
    drainMs: 0,
    generatorCpu: 1,
    generatorShare: 0.5,
    capturesPerBatch: 1,
    redisReadsPerBatch: 1,
    statementsPerTransaction: 1,
    problems: [],
    latency: { p50: 2, p90: 3, p99: 30, max: 40 },
    cpu: { api: micros / 2, all: micros },
    ...part,
  };
}

test('goals compare medians of all rounds', () => {
  const connections = 128;
  const summaries = summarize([
    measurement({ connections }, 90, 9_000),
    measurement({ connections }, 1_000, 10),
    measurement({ connections }, 80, 10_000),
    measurement({ connections, subject: 'node' }, 20, 40_000),
    measurement({ connections, subject: 'koa' }, 30, 20_000),
    measurement({ connections: 1 }, 500, 500),
    measurement({ connections, part: 'latency', halfRate: true }, 80, 5_000),
  ]);
  expect(summaries.map(({ setting }) => setting.subject)).toEqual(['node', 'koa', 'hookbay', 'hookbay', 'hookbay']);
  const goals = goalsOf(summaries, 0.5).map((goal) => [goal.value, isMet(goal)]);
  expect(goals).toEqual([
    [4.5, true],
    [1.5, true],
    [0.45, false],
    [undefined, undefined],
    [undefined, undefined],
    [undefined, undefined],
    [4, false],
    [30, false],
  ]);
});

test('the file system is that of the longest mount point above the folder', () => {
  const mounts = '/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\ntmpfs /tmp/a tmpfs2 rw 0 0\n';
  expect(['/home', '/tmp/b', '/tmp/ab', '/tmp/a/b', '/tmp/a'].map((folder) => fileSystemOf(folder, mounts))).toEqual([
    'ext4',
    'tmpfs',
    'tmpfs',
    'tmpfs2',
    'tmpfs2',
  ]);
});

test('figures have three digits', () => {
  expect([0.123_45, 12.345, 123.45, 12_345.6, Number.NaN, undefined].map(number)).toEqual([
    '0.123',
    '12.3',
    '123',
    '12,346',
    '',
    '',
  ]);
});

test.each([102, 1_024, 16_384, 262_144])('a body of %d bytes is JSON of this size', (bytes) => {
  const body = jsonBody(bytes);
  expect(body.length).toBe(bytes);
  expect(JSON.parse(body.toString())).toMatchObject({ ref: 'refs/heads/main' });
});

test('a request has the path and a delivery id of its own each time', () => {
  const message = createMessage('/h/aaaa', Buffer.from('{}'), true);
  const sent = ['/h/bbbb', '/h/cccc'].map((path) => {
    message.address(path);
    return message.bytes.toString();
  });
  expect(sent[0]).toMatch(/^POST \/h\/bbbb HTTP\/1\.1\r\n.*\r\nContent-Length: 2\r\n.*Connection: close\r\n\r\n\{\}$/s);
  expect(sent[1]).toMatch(/^POST \/h\/cccc /);
  expect(new Set(sent.map((text) => /X-GitHub-Delivery: (\S+)/.exec(text)?.[1])).size).toBe(2);
});

test('the status of an answer is known when it is complete', () => {
  const answer = 'HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\ncontent-length: 4\r\n\r\nbusy';
  expect(statusOf(answer)).toBe(503);
  for (let cut = 0; cut < answer.length; cut += 1) expect(statusOf(answer.slice(0, cut))).toBeUndefined();
  expect(() => statusOf('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')).toThrow('without Content-Length');
});

test('a closed loop ends with its time or its amount', () => {
  let clock = 1_000;
  const timed = closedLoop({ seconds: 1 }, () => clock);
  expect(timed.take()).toBe(1_000);
  clock = 2_000;
  expect([timed.take(), timed.ended()]).toEqual([undefined, true]);
  const counted = closedLoop({ amount: 1 }, () => clock);
  expect([counted.take(), counted.take(), counted.ended()]).toEqual([2_000, undefined, true]);
});

test('an open loop takes requests when they are due, also late, and all of them', () => {
  let clock = 0;
  const pace = openLoop(100, 0.04, () => clock);
  expect([pace.take(), pace.take()]).toEqual([0, undefined]);
  clock = 25;
  expect([pace.take(), pace.take(), pace.take()]).toEqual([10, 20, undefined]);
  clock = 1_000;
  expect([pace.take(), pace.take(), pace.ended()]).toEqual([30, undefined, true]);
});
