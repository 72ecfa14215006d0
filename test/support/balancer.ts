import { createServer, connect, type Server } from 'node:net';

/** A pod behind the balancer. */
export interface Backend {
  port: number;
  internalPort: number;
}

export interface Balancer {
  port: number;
  /** Backends to choose from; a test changes them as pods start and stop. */
  backends: Set<Backend>;
  close(): void;
}

/** Interval of the readiness probe; a backend is removed after this many failures in a row. */
export interface ReadinessProbe {
  periodMs: number;
  failureThreshold: number;
}

/**
 * A load balancer like that of Kubernetes: it forwards connections to ready backends, which it probes every 50 ms by
 * default.
 */
export async function startBalancer(
  readiness: ReadinessProbe = { periodMs: 50, failureThreshold: 1 },
): Promise<Balancer> {
  const backends = new Set<Backend>();
  const failures = new Map<Backend, number>();
  let ready: Backend[] = [];
  let turn = 0;
  const probe = setInterval(() => void probeAll(), readiness.periodMs);
  async function probeAll(): Promise<void> {
    await Promise.all(
      [...backends].map(async (backend) => {
        const ok = await fetch(`http://127.0.0.1:${backend.internalPort}/readyz`).then(
          (answer) => answer.ok,
          () => false,
        );
        // A new backend has to be ready once before it is used.
        failures.set(backend, ok ? 0 : (failures.get(backend) ?? readiness.failureThreshold) + 1);
      }),
    );
    ready = [...backends].filter((backend) => (failures.get(backend) ?? Infinity) < readiness.failureThreshold);
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
