import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { expect, onTestFinished, test } from 'vitest';
import { claimDataDir } from '../../src/local/processes.ts';
import { findOrInstallPrograms } from '../../src/local/programs.ts';
import { connectionOptions, startMysql } from '../../src/local/mysql.ts';
import { makeAuthority, NO_OPENSSL } from '../support/certificates.ts';
import { eventually } from '../support/environment.ts';
import { endProcess } from '../support/processes.ts';

test.skipIf(NO_OPENSSL)('MYSQL_TLS connects to a database that requires TLS, and to no impostor', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'hookbay-tls-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const authority = makeAuthority();
  const present = (name: string): void => {
    for (const [part, text] of Object.entries(authority.issue(name)))
      writeFileSync(join(folder, `server.${part}`), text);
  };
  present('DNS:localhost');
  const registry = await claimDataDir(folder);
  onTestFinished(() => registry.release());
  const plain = await startMysql(await findOrInstallPrograms(), registry, folder, 'password');
  await plain.stop();
  const [program = '', ...args] = plain.process.spawnargs;
  // MySQL only reloads certificates of its own authority.
  const tls = [`--ssl-ca=${authority.path}`, `--ssl-cert=${folder}/server.cert`, `--ssl-key=${folder}/server.key`];
  const server = spawn(program, [...args, ...tls, '--require-secure-transport=ON'], { stdio: 'ignore' });
  onTestFinished(() => void server.kill('SIGKILL'));
  const admin = () => createConnection({ ...connectionOptions(plain.config), ssl: { rejectUnauthorized: false } });
  await eventually(async () =>
    admin()
      .then((connection) => connection.end())
      .then(() => true),
  );

  const { port, user, password, database } = plain.config;
  const settings = {
    MYSQL_HOST: 'localhost',
    MYSQL_PORT: String(port),
    MYSQL_USER: user,
    MYSQL_PASSWORD: password,
    MYSQL_DATABASE: database,
  };
  const trusting = { ...settings, MYSQL_TLS: 'true', NODE_EXTRA_CA_CERTS: authority.path };
  const migrate = (env: Record<string, string>): Promise<string> =>
    new Promise((resolve) =>
      execFile(
        process.execPath,
        ['src/main.ts', 'migrate'],
        { env: { PATH: process.env['PATH'], ...env } },
        (_error, stdout, stderr) => resolve(stdout + stderr),
      ),
    );

  // MariaDB's message has no more details.
  expect(await migrate(settings)).toMatch(/Access denied|secure transport/);
  expect(await migrate({ ...settings, MYSQL_TLS: 'true' })).toMatch(
    /unable to verify the first certificate|self-signed certificate/,
  );
  expect(await migrate(trusting)).toContain('"msg":"Migrated"');
  present('DNS:somebody.example.com');
  const connection = await admin();
  // MariaDB's message, then MySQL's.
  await connection.query('FLUSH SSL').catch(() => connection.query('ALTER INSTANCE RELOAD TLS'));
  await connection.end();
  expect(await migrate(trusting)).toMatch(/does not match certificate's altnames/);
  expect(await endProcess(server, 'SIGTERM')).toBe(0);
});
