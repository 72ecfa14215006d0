import { execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { claimDataDir } from '../../src/local/processes.ts';
import { findOrInstallPrograms } from '../../src/local/programs.ts';
import { connectionOptions, startMysql } from '../../src/local/servers.ts';
import { endProcess } from '../support/processes.ts';
import { eventually } from '../support/environment.ts';

/** A private authority, and certificates of it for `localhost` and for somebody else. */
function makeCertificates(folder: string): void {
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' });
  openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=authority', '-keyout', 'ca.key', '-out', 'ca.pem');
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=server', '-keyout', 'server.key', '-out', 'server.csr');
  for (const name of ['localhost', 'somebody.example.com']) {
    writeFileSync(join(folder, 'names'), `subjectAltName=DNS:${name}\n`);
    openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names', '-out', `${name}.pem`);
  }
  copyFileSync(join(folder, 'localhost.pem'), join(folder, 'server.pem'));
}

test.skipIf(spawnSync('openssl', ['version']).error !== undefined)('MYSQL_TLS speaks TLS to a database that insists on it, and to no impostor', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookbay-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  makeCertificates(folder);
  const registry = await claimDataDir(folder);
  onTestFinished(() => registry.release());
  const plain = await startMysql(await findOrInstallPrograms(), registry, folder, 'password');
  await plain.stop();
  const [program = '', ...args] = plain.process.spawnargs;
  const server = spawn(program, [...args, `--ssl-cert=${folder}/server.pem`, `--ssl-key=${folder}/server.key`, '--require-secure-transport=ON'], { stdio: 'ignore' });
  onTestFinished(() => void server.kill('SIGKILL'));
  const admin = () => createConnection({ ...connectionOptions(plain.config), ssl: { rejectUnauthorized: false } });
  await eventually(async () => admin().then((connection) => connection.end()).then(() => true));

  const { port, user, password, database } = plain.config;
  const settings = { MYSQL_HOST: 'localhost', MYSQL_PORT: String(port), MYSQL_USER: user, MYSQL_PASSWORD: password, MYSQL_DATABASE: database };
  const trusting = { ...settings, MYSQL_TLS: 'true', NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') };
  const migrate = (env: Record<string, string>): Promise<string> =>
    new Promise((resolve) => execFile(process.execPath, ['src/main.ts', 'migrate'], { env: { PATH: process.env['PATH'], ...env } }, (_error, stdout, stderr) => resolve(stdout + stderr)));

  // MariaDB says no more than that.
  expect(await migrate(settings)).toMatch(/Access denied|secure transport/);
  expect(await migrate({ ...settings, MYSQL_TLS: 'true' })).toMatch(/unable to verify the first certificate|self-signed certificate/);
  expect(await migrate(trusting)).toContain('"msg":"Migrated"');
  copyFileSync(join(folder, 'somebody.example.com.pem'), join(folder, 'server.pem'));
  const connection = await admin();
  await connection.query('FLUSH SSL');
  await connection.end();
  expect(await migrate(trusting)).toMatch(/does not match certificate's altnames/);
  expect(await endProcess(server, 'SIGTERM')).toBe(0);
});
