import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { find } from '../../src/local/programs.ts';
import { closing } from '../support/environment.ts';

afterEach(() => vi.unstubAllEnvs());

function folderWith(...names: string[]): string {
  const folder = closing(mkdtempSync(join(tmpdir(), 'programs-')), (path) => rmSync(path, { recursive: true }));
  for (const name of names) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

test("the first program on PATH is used, under any of its names, so that other servers can precede the system's", () => {
  const [mysql, mariadb] = [folderWith('mysqld'), folderWith('mysqld', 'mariadbd')];
  vi.stubEnv('PATH', [mysql, mariadb].join(delimiter));
  expect(find(['mariadbd', 'mysqld'])).toBe(join(mysql, 'mysqld'));
  vi.stubEnv('PATH', [mariadb, mysql].join(delimiter));
  expect(find(['mariadbd', 'mysqld'])).toBe(join(mariadb, 'mariadbd'));
});
