/** Of answers to captures: the capture's id where it is kept. */
export const REQUEST_ID_HEADER = 'X-Hookbay-Request-Id';

/**
 * On every answer below `/h`. Bodies there are their owners' own: a browser that shows one may run no script on this
 * origin, read nothing of it, and keep no tie to its pages.
 */
export const CAPTURE_HEADERS = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Access-Control-Allow-Origin': '*',
  [REQUEST_ID_HEADER]: 'none',
};

/** Of receipts, as Node takes them fastest: flat, and without what differs between them. */
export const RECEIPT_HEADERS = [
  ...Object.entries(CAPTURE_HEADERS)
    .filter(([name]) => name !== REQUEST_ID_HEADER)
    .flat(),
  'Content-Type',
  'application/json; charset=utf-8',
];
