import type { IncomingMessage } from 'node:http';

/** Which host answers what. */
export interface Hosts {
  takeCapture(req: IncomingMessage): boolean;
  takeManagement(req: IncomingMessage): boolean;
}

/** Where captures have an address of their own, its host answers them alone, and no other host does. */
export function createHosts(captureBaseUrl: string | undefined): Hosts {
  if (captureBaseUrl === undefined) return { takeCapture: () => true, takeManagement: () => true };
  const { hostname } = new URL(captureBaseUrl);
  // Without the port, which proxies map.
  const isCaptureHost = ({ headers }: IncomingMessage): boolean =>
    headers.host?.toLowerCase().replace(/\.?(?::\d*)?$/, '') === hostname;
  return { takeCapture: isCaptureHost, takeManagement: (req) => !isCaptureHost(req) };
}
