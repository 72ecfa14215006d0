import { createServer, connect, type Server } from 'node:net';

/** A pod behind the balancer. */
export interface Backend {
  port: number;
  internalPort: number;
}

export interface Balancer {
  port: number;
  /** Backends to choose from; changed as pods come and go. */
  backends: Set<Backend>;
  close(): void;
}

const PROBE_MS = 50;

/** A load balancer as Kubernetes has one: it hands connections to backends that are ready, which it asks every 50 ms. */
export async function startBalancer(): Promise<Balancer> {
  const backends = new Set<Backend>();
  let ready: Backend[] = [];
  let turn = 0;
  const probe = setInterval(() => void probeAll(), PROBE_MS);
  async function probeAll(): Promise<void> {
    const answers = await Promise.all(
      [...backends].map((backend) =>
        fetch(`http://127.0.0.1:${backend.internalPort}/readyz`).then(({ ok }) => (ok ? backend : undefined), () => undefined),
      ),
    );
    ready = answers.filter((backend) => backend !== undefined);
  }
  const server: Server = createServer((client) => {
    const backend = ready[(turn += 1) % ready.length];
    if (backend === undefined) return void client.destroy();
    const upstream = connect(backend.port, '127.0.0.1');
    client.pipe(upstream).pipe(client);
    client.on('error', () => upstream.destroy());
    upstream.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    backends,
    close() {
      clearInterval(probe);
      server.close();
    },
  };
}
