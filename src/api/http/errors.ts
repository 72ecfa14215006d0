import createError from 'http-errors';

/** Seconds that a sender is asked to wait after a 503. */
export const RETRY_AFTER_SECONDS = 2;

/** What the error translator (`error-handler.ts`) adds to `{error}` and to the response's headers. */
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

/** One text for what does not exist, is malformed or belongs to somebody else. */
export function notFound(message = 'Not found'): createError.HttpError {
  return httpError(404, message);
}

export function conflict(message: string): createError.HttpError {
  return httpError(409, message);
}

/**
 * The one 401 (RFC 6750, section 3). `description` is given only when the signature
 * was right, so that it helps the token's holder and nobody else.
 */
export function unauthorized(description?: string): createError.HttpError {
  const challenge =
    description === undefined ? 'Bearer' : `Bearer error="invalid_token", error_description="${description}"`;
  return httpError(401, 'A valid bearer token is required', { headers: { 'WWW-Authenticate': challenge } });
}

/** Sizes in bytes; `actualSize` is what was declared, or read until the limit was passed. */
export function payloadTooLarge(maxSize: number, actualSize: number): createError.HttpError {
  return httpError(413, `The body is larger than ${maxSize} bytes`, { body: { maxSize, actualSize } });
}

/** Nothing was promised: the same request may be sent again. */
export function unavailable(message: string): createError.HttpError {
  return httpError(503, message, { headers: { 'Retry-After': String(RETRY_AFTER_SECONDS) } });
}

/** Characters of a client's own words that a message quotes. */
const MAX_SHOWN = 80;

/** What a client wrote, for a message: cut, and without control characters and what reorders text. */
export function shown(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN - 1)}…` : text;
  return cut.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
}

export function httpError(status: number, message: string, extras: ErrorExtras = {}): createError.HttpError {
  return createError(status, message, { extras, expose: true });
}
