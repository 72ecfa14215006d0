import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { expect, test } from 'vitest';
import { claimDataDir } from '../../src/local/processes.ts';
import { find, findOrInstallPrograms } from '../../src/local/programs.ts';
import { connectionOptions, startMysql } from '../../src/local/mysql.ts';
import { closing } from '../support/environment.ts';

/** MariaDB under the name of a MySQL whose compiled-in folder for files is missing, with MySQL's options. */
function mysqlWithoutFolder(mariadb: string, folder: string): string {
  const program = join(folder, 'mysqld');
  const script = `#!/bin/sh
for option; do
  case "$option" in
    --version) echo 'mysqld  Ver 9.7.4 for Linux on x86_64 (Debian)'; exit ;;
    --initialize-insecure) initialize=1 ;;
    --secure-file-priv=NULL) allowed=1 ;;
    --mysqlx=OFF) ;;
    *) set -- "$@" "$option" ;;
  esac
  shift
done
[ "$allowed" ] || { echo 'Failed to access directory for --secure-file-priv' >&2; exit 1; }
[ ! "$initialize" ] || exec '${find(['mariadb-install-db'])}' "$@" --auth-root-authentication-method=normal --skip-test-db
exec '${mariadb}' "$@"
`;
  writeFileSync(program, script, { mode: 0o755 });
  return program;
}

test('MySQL starts without the folder for files that only its full package creates', async () => {
  const folder = closing(mkdtempSync(join(tmpdir(), 'mysql-core-')), (path) => rmSync(path, { recursive: true }));
  const programs = await findOrInstallPrograms();
  const isMariadb = /mariadb/i.test(
    execFileSync(programs.database, ['--no-defaults', '--version'], { encoding: 'utf8' }),
  );
  const database = isMariadb ? mysqlWithoutFolder(programs.database, folder) : programs.database;
  const registry = closing(await claimDataDir(folder), (open) => open.release());
  const server = closing(await startMysql({ ...programs, database }, registry, folder, 'secret'), (open) =>
    open.stop(),
  );
  const connection = await createConnection(connectionOptions(server.config));
  const [rows] = await connection.query('SELECT 1 AS one');
  expect(rows).toEqual([{ one: 1 }]);
  await connection.end();
});
