/* What of a captured request goes to the local server. */

/** Of one connection only (RFC 9110, section 7.6.1); Node makes its own. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
  'expect',
]);

/** Node sends a body of these with a length only if it is told to. */
const USUALLY_WITHOUT_BODY = ['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'];

/** Headers that decide how a request is sent. */
export function isOfConnection(name: string): boolean {
  return HOP_BY_HOP.has(name) || name === 'content-length';
}

/** The path and query at the local server: what is behind `/h/<key>`, below the path of `target`. */
export function forwardedPath(captured: string, target: URL, keepPath: boolean): string {
  const rest = keepPath ? captured : captured.replace(/^\/h\/[^/?]*/i, '');
  return rest.startsWith('/') ? target.pathname.replace(/\/$/, '') + rest : target.pathname + rest;
}

/**
 * Names and values in turn, in the order, case and number in which they were captured. `extra` replaces headers of its
 * names. `Host` is the local server's, and the length the body's; what proxies before Hookbay added is left out.
 */
export function forwardedHeaders(
  { method, raw_headers: captured, size }: { method: string; raw_headers: [string, string][]; size: number },
  host: string,
  extra: string[],
): string[] {
  const replaced = extra.filter((_text, i) => i % 2 === 0).map((name) => name.toLowerCase());
  const names = captured.map(([name]) => name.toLowerCase());
  const listed = captured
    .filter((_header, i) => names[i] === 'connection')
    .flatMap(([, value]) => value.toLowerCase().split(/[ \t]*,[ \t]*/));
  const isKept = (name: string): boolean =>
    !HOP_BY_HOP.has(name) && !replaced.includes(name) && !listed.includes(name) && !isOfProxy(name);
  const headers = captured.flatMap(([name, value], i) => {
    const known = names[i] as string;
    if (known === 'content-length') return [name, String(size)];
    if (!isKept(known)) return [];
    return [name, known === 'host' ? host : value];
  });
  const needsLength = size > 0 || !USUALLY_WITHOUT_BODY.includes(method);
  return [
    ...(names.includes('host') || replaced.includes('host') ? [] : ['Host', host]),
    ...headers,
    ...(needsLength && !names.includes('content-length') ? ['Content-Length', String(size)] : []),
    ...extra,
  ];
}

function isOfProxy(name: string): boolean {
  return name === 'forwarded' || name === 'x-real-ip' || name.startsWith('x-forwarded-');
}
