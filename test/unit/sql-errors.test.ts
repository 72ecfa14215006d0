import { describe, expect, test } from 'vitest';
import {
  codeOf,
  isConnectionError,
  isDatabaseError,
  isSetupError,
  isRefusedAccess,
  isRefusedData,
  isUnavailable,
  mayBeDataError,
} from '../../src/store/sql-errors.ts';

const error = (message: string, fields: object): Error => Object.assign(new Error(message), fields);

describe('an outage, never the data', () => {
  test.each([
    error('connect ECONNREFUSED', { code: 'ECONNREFUSED', fatal: true }),
    error('getaddrinfo EAI_AGAIN mysql', { code: 'EAI_AGAIN' }),
    error('lost', { code: 'PROTOCOL_CONNECTION_LOST', fatal: true }),
    error('write after end', { code: 'ERR_STREAM_WRITE_AFTER_END' }),
    error('destroyed', { code: 'ERR_STREAM_DESTROYED' }),
    error("Can't add new command when connection is in closed state", { fatal: true }),
    error("ROLLBACK - Can't add new command when connection is in closed state", {}),
    error('Pool is closed.', {}),
    error('Queue limit reached.', {}),
    error('no answer in 20000 ms', { code: 'ETIMEDOUT' }),
    error('shutdown', { code: 'ER_SERVER_SHUTDOWN', errno: 1053, sqlState: '08S01' }),
    error('too many connections', { code: 'ER_CON_COUNT_ERROR', errno: 1040, sqlState: '08004' }),
    error('deadlock', { code: 'ER_LOCK_DEADLOCK', errno: 1213, sqlState: '40001' }),
    error('read only', { code: 'ER_OPTION_PREVENTS_STATEMENT', errno: 1290, sqlState: 'HY000' }),
    error('disk full', { code: 'ER_RECORD_FILE_FULL', errno: 1114, sqlState: 'HY000' }),
  ])('%s', (outage) => {
    expect([isDatabaseError(outage), isUnavailable(outage), isRefusedData(outage), mayBeDataError(outage)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

test.each([
  error('too long', { code: 'ER_DATA_TOO_LONG', errno: 1406, sqlState: '22001' }),
  error('bad value', { code: 'ER_TRUNCATED_WRONG_VALUE_FOR_FIELD', errno: 1366, sqlState: 'HY000' }),
  error('check', { code: 'ER_CHECK_CONSTRAINT_VIOLATED', errno: 3819, sqlState: 'HY000' }),
  error('trigger', { code: 'ER_SIGNAL_EXCEPTION', errno: 1644, sqlState: '45000' }),
  error('row size', { code: 'ER_TOO_BIG_ROWSIZE', errno: 1118, sqlState: '42000' }),
])('the data: %s', (refusal) => {
  expect([isRefusedData(refusal), isUnavailable(refusal), isConnectionError(refusal)]).toEqual([true, false, false]);
});

test('a wrong schema or account is neither, and the worker waits for its fix', () => {
  for (const sqlState of ['42S02', '42S22', '42000', '28000']) {
    const misfit = error('misfit', { code: 'ER_NO_SUCH_TABLE', errno: 1146, sqlState });
    expect([isDatabaseError(misfit), isRefusedData(misfit), mayBeDataError(misfit)]).toEqual([true, false, false]);
  }
});

describe('no error of the database', () => {
  test.each([
    new TypeError('x is undefined'),
    new Error('unknown capture batch version 2'),
    Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' }),
    Object.assign(new TypeError('The "data" argument must be a string'), { code: 'ERR_INVALID_ARG_TYPE' }),
    Object.assign(new RangeError('out of range'), { code: 'ERR_OUT_OF_RANGE' }),
    error('Premature close', { code: 'ERR_STREAM_PREMATURE_CLOSE' }),
    error('request aborted', { code: 'ECONNABORTED', status: 400, type: 'request.aborted' }),
    error('Decompression failed', { code: 'ERR__ERROR_FORMAT_PADDING_1', errno: -14 }),
    error('no such file', { code: 'ENOENT', errno: -2, syscall: 'open' }),
    error('permission denied', { code: 'EACCES' }),
    'text',
    undefined,
  ])('%s', (other) => {
    expect([isDatabaseError(other), isUnavailable(other), isRefusedData(other)]).toEqual([false, false, false]);
    expect([isConnectionError(other), mayBeDataError(other)]).toEqual([false, false]);
  });
});

test.each([
  error('password', { code: 'ER_ACCESS_DENIED_ERROR', errno: 1045, sqlState: '28000' }),
  error('database', { code: 'ER_BAD_DB_ERROR', errno: 1049, sqlState: '42000' }),
  error('right', { code: 'ER_TABLEACCESS_DENIED_ERROR', errno: 1142, sqlState: '42000' }),
  error('no TLS', { code: 'HANDSHAKE_NO_SSL_SUPPORT', fatal: true }),
  error('certificate', { code: 'HANDSHAKE_SSL_ERROR', fatal: true }),
])('refused access, which only an operator can fix: %s', (refusal) => {
  expect([isRefusedAccess(refusal), isSetupError(refusal)]).toEqual([true, true]);
});

test('an unreachable server is no refusal of access', () => {
  const outage = error('connect ECONNREFUSED', { code: 'ECONNREFUSED', fatal: true });
  expect([isRefusedAccess(outage), isSetupError(outage)]).toEqual([false, true]);
});

test('a violated constraint of MariaDB has its own name, not the one that MySQL gives its number', () => {
  const named = { code: 'ER_INNODB_AUTOEXTEND_SIZE_OUT_OF_RANGE', errno: 4025 };
  expect(codeOf(error('CONSTRAINT `c` failed', { ...named, sqlState: '23000' }))).toBe('ER_CONSTRAINT_FAILED');
  expect(codeOf(error('out of range', { ...named, sqlState: 'HY000' }))).toBe(named.code);
  expect(codeOf(new TypeError('x'))).toBe('TypeError');
});
