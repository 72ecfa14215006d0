import createError from 'http-errors';

export const RETRY_AFTER_SECONDS = 2;

/** What `error-handler.ts` adds to `{error}` and to the response's headers. */
export interface ErrorExtras {
  body?: Record<string, unknown>;
  headers?: Record<string, string>;
}

export function badRequest(message: string): createError.HttpError {
  return httpError(400, message);
}

export function forbidden(message: string): createError.HttpError {
  return httpError(403, message);
}

/** The same message for what does not exist, is malformed or belongs to another user. */
export function notFound(message = 'Not found'): createError.HttpError {
  return httpError(404, message);
}

export function conflict(message: string): createError.HttpError {
  return httpError(409, message);
}

/** `description` is only given after a valid signature, so it only reaches the token's holder (RFC 6750, section 3). */
export function unauthorized(description?: string): createError.HttpError {
  const challenge =
    description === undefined ? 'Bearer' : `Bearer error="invalid_token", error_description="${description}"`;
  return httpError(401, 'A valid bearer token is required', { headers: { 'WWW-Authenticate': challenge } });
}

/** Sizes in bytes; `actualSize` is the declared length, or what was read when the limit was exceeded. */
export function payloadTooLarge(maxSize: number, actualSize: number): createError.HttpError {
  return httpError(413, `The body is larger than ${maxSize} bytes`, { body: { maxSize, actualSize } });
}

/** Nothing was promised, so the client may repeat the request. */
export function unavailable(message: string): createError.HttpError {
  return httpError(503, message, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
}

const MAX_QUOTED = 80;

/** Makes a client's text safe for a message: cuts it, and replaces control characters and those that reorder text. */
export function printable(text: string): string {
  const cut = text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED - 1)}…` : text;
  return cut.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
}

export function httpError(status: number, message: string, extras: ErrorExtras = {}): createError.HttpError {
  return createError(status, message, { extras, expose: true });
}
