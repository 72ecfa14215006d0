import { connect, type AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { makeAuthority, NO_OPENSSL } from '../support/certificates.ts';
import { eventually, useEnvironment, type Environment } from '../support/environment.ts';
import { startRole } from '../support/processes.ts';

let env: Environment;
useEnvironment((opened) => {
  env = opened;
});

/** TLS in front of the tests' Redis; resolves with its port. */
async function startTls(certificate: { cert: string; key: string }): Promise<number> {
  const server = createServer(certificate, (socket) => {
    const redis = connect(env.config.redis.port, env.config.redis.host);
    socket.pipe(redis).pipe(socket);
    for (const end of [socket, redis])
      end.on('error', () => socket.destroy()).on('close', () => [socket, redis].forEach((other) => other.destroy()));
  });
  server.on('tlsClientError', () => {});
  onTestFinished(() => void server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

test.skipIf(NO_OPENSSL)('REDIS_TLS connects to the host of the certificate, by name or by address', async () => {
  const authority = makeAuthority();
  const settings = (host: string, port: number) => ({
    ...env.env,
    REDIS_HOST: host,
    REDIS_PORT: String(port),
    REDIS_TLS: 'true',
    NODE_EXTRA_CA_CERTS: authority.path,
  });
  for (const [name, host] of [
    ['DNS:localhost', 'localhost'],
    ['IP:127.0.0.1', '127.0.0.1'],
  ] as const) {
    const worker = await startRole('worker', settings(host, await startTls(authority.issue(name))));
    expect(await worker.end()).toBe(0);
  }
  const deceived = await startRole(
    'worker',
    settings('localhost', await startTls(authority.issue('DNS:somebody.example.com'))),
    { untilReady: false },
  );
  await eventually(() => deceived.output().includes('does not match certificate'));
  expect((await fetch(`http://127.0.0.1:${deceived.internalPort}/readyz`)).status).toBe(503);
  await deceived.end();
});
