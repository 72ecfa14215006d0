import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** OpenSSL creates the certificates, because Node cannot. */
export const NO_OPENSSL = spawnSync('openssl', ['version']).error !== undefined;

export interface Authority {
  /** File of its certificate, for NODE_EXTRA_CA_CERTS. */
  path: string;
  /** A certificate for a name like `DNS:localhost` or `IP:127.0.0.1`, and its key. */
  issue(name: string): { cert: string; key: string };
}

/** A private authority that is removed after the test. */
export function makeAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'hookbay-ca-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-days',
    '2',
    '-subj',
    '/CN=authority',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  );
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=server', '-keyout', 'server.key', '-out', 'server.csr');
  return {
    path: join(folder, 'ca.pem'),
    issue(name) {
      writeFileSync(join(folder, 'names'), `subjectAltName=${name}\n`);
      openssl(
        'x509',
        '-req',
        '-in',
        'server.csr',
        '-CA',
        'ca.pem',
        '-CAkey',
        'ca.key',
        '-CAcreateserial',
        '-days',
        '2',
        '-extfile',
        'names',
        '-out',
        'server.pem',
      );
      return {
        cert: readFileSync(join(folder, 'server.pem'), 'utf8'),
        key: readFileSync(join(folder, 'server.key'), 'utf8'),
      };
    },
  };
}
