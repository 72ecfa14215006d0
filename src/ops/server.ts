import { createServer, type Server } from 'node:http';

export interface Health {
  /** Why no work should be sent here; empty when the process is ready. */
  notReady(): string[];
  scrape(): Promise<string>;
}

const PROMETHEUS_TEXT = 'text/plain; version=0.0.4; charset=utf-8';

/**
 * The internal port. `/livez` only shows that the event loop runs, so an outage of a shared store never restarts the
 * fleet; `/readyz` tells whether to send work here; `/metrics` is for Prometheus.
 */
export function createOpsServer(health: Health): Server {
  return createServer((req, res) => {
    const path = (req.url ?? '').split('?')[0];
    if (path === '/livez') return answer(200, { live: true });
    if (path === '/readyz') {
      const reasons = health.notReady();
      return answer(reasons.length === 0 ? 200 : 503, { ready: reasons.length === 0, reasons });
    }
    if (path === '/metrics') {
      return void health.scrape().then(
        (text) => res.writeHead(200, { 'Content-Type': PROMETHEUS_TEXT }).end(text),
        () => answer(500, { error: 'The metrics could not be read' }),
      );
    }
    return answer(404, { error: 'Not found; there are /livez, /readyz and /metrics' });

    function answer(status: number, body: object): void {
      res.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
    }
  });
}
