interface SqlError extends Error {
  code?: string;
  errno?: number;
  sqlState?: string;
  fatal?: boolean;
}

const DUPLICATE_KEY = 1062;

/** Refusals of a value whose SQLSTATE is the generic HY000, by server error number. */
const REFUSED_VALUE_ERRNOS = new Set([
  1366, // incorrect value for column (MySQL)
  3819, // check constraint violated (MySQL)
  1118, // row too large
  1105, // unknown error: what some MySQL-compatible engines raise for a bad value
]);

/** Lost, refused or exhausted connections, and statements that may be repeated: the data is not at fault. */
const UNAVAILABLE_ERRNOS = new Set([
  1021, 1028, 1030, 1040, 1041, 1042, 1043, 1053, 1077, 1114, 1129, 1130, 1152, 1158, 1159, 1160, 1161, 1180, 1184,
  1203, 1205, 1213, 1226, 1290, 1317, 1836, 1927, 1969, 3024, 3100, 4031,
]);

/** Access denied (to a database, a table, an operation, or in general), unknown database, unsupported login. */
const REFUSED_ACCESS_ERRNOS = new Set([1044, 1045, 1049, 1142, 1227, 1251, 1698]);

/** MariaDB's name of a violated constraint: mysql2 names all errors by MySQL's list, which has another one here. */
const MARIADB_CONSTRAINT = { errno: 4025, sqlState: '23000', code: 'ER_CONSTRAINT_FAILED' };

/** The name of a database's refusal, for an operator. */
export function codeOf(error: Error): string {
  const { errno, sqlState, code } = error as SqlError;
  const isConstraint = errno === MARIADB_CONSTRAINT.errno && sqlState === MARIADB_CONSTRAINT.sqlState;
  return isConstraint ? MARIADB_CONSTRAINT.code : (code ?? error.name);
}

export function isDuplicateKey(error: unknown): boolean {
  return asSqlError(error)?.errno === DUPLICATE_KEY;
}

/** Covers SQLSTATE classes 22 (data exception), 23 (constraint), 44 and 45 (trigger): repeating is pointless. */
export function isRefusedData(error: unknown): boolean {
  const sqlError = asSqlError(error);
  if (sqlError?.sqlState === undefined || UNAVAILABLE_ERRNOS.has(sqlError.errno ?? 0)) return false;
  return /^(22|23|44|45)/.test(sqlError.sqlState) || REFUSED_VALUE_ERRNOS.has(sqlError.errno ?? 0);
}

/** An unclear error that persists is the data's fault. A wrong schema or account (class 42) never is. */
export function mayBeDataError(error: unknown): boolean {
  const sqlError = asSqlError(error);
  return (
    sqlError?.sqlState !== undefined &&
    !isUnavailable(error) &&
    !isConnectionError(error) &&
    !/^(42|28|08)/.test(sqlError.sqlState)
  );
}

/** Whether the connection is no longer usable. */
export function isConnectionError(error: unknown): boolean {
  const sqlError = asSqlError(error);
  return (
    sqlError !== undefined && (sqlError.fatal === true || sqlError.sqlState === undefined || sqlError.errno === 1290)
  );
}

/** The account, its rights, the database's name or the protocol is refused: only an operator can fix that. */
export function isRefusedAccess(error: unknown): boolean {
  const { code, errno } = asSqlError(error) ?? {};
  return REFUSED_ACCESS_ERRNOS.has(errno ?? 0) || code === 'HANDSHAKE_NO_SSL_SUPPORT' || code === 'HANDSHAKE_SSL_ERROR';
}

/** Whether the address, the account or the database's name is wrong: a fault of settings, not of a statement. */
export function isSetupError(error: unknown): boolean {
  return isConnectionError(error) || isRefusedAccess(error);
}

/** Whether the database cannot answer now, though the same statement may work later. */
export function isUnavailable(error: unknown): boolean {
  const sqlError = asSqlError(error);
  if (sqlError === undefined) return false;
  if (sqlError.sqlState === undefined) return true;
  return UNAVAILABLE_ERRNOS.has(sqlError.errno ?? 0) || sqlError.fatal === true;
}

/** Whether the database ended a statement at its time limit; MariaDB's number, and MySQL's. */
export function isOverTime(error: unknown): boolean {
  return [1969, 3024].includes(asSqlError(error)?.errno ?? 0);
}

/** Whether an error comes from the database or the connection to it, not from our own code. */
export function isDatabaseError(error: unknown): boolean {
  return asSqlError(error) !== undefined;
}

/** Listed one by one, because Node's codes for other faults (a missing file, a wrong argument) have the same form. */
const CONNECTION_CODES = new Set([
  'EAI_AGAIN',
  'EAI_FAIL',
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTDOWN',
  'EHOSTUNREACH',
  'EMFILE',
  'ENETDOWN',
  'ENETUNREACH',
  'ENOBUFS',
  'ENOTFOUND',
  'EPIPE',
  'ERR_STREAM_DESTROYED',
  'ERR_STREAM_WRITE_AFTER_END',
  'ETIMEDOUT',
]);

/** Codes of mysql2's own errors (PROTOCOL_CONNECTION_LOST, HANDSHAKE_SSL_ERROR), which nothing else uses. */
const MYSQL2_CODE = /^(PROTOCOL|HANDSHAKE)_/;

/** Messages of mysql2 without a code: from its pool, and for a connection that was lost before. */
const MYSQL2_MESSAGE = /^(Pool is closed\.|Queue limit reached\.)|closed state/;

function asSqlError(error: unknown): SqlError | undefined {
  if (!(error instanceof Error) || error instanceof TypeError) return undefined;
  const { code, sqlState, fatal, message } = error as SqlError;
  const known = typeof code === 'string' && (CONNECTION_CODES.has(code) || MYSQL2_CODE.test(code));
  return sqlState !== undefined || fatal === true || known || MYSQL2_MESSAGE.test(message) ? error : undefined;
}
