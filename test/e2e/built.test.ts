import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { send } from '../support/client.ts';
import { closing, openEnvironment } from '../support/environment.ts';
import { addressesIn } from '../support/html.ts';
import { startRole } from '../support/processes.ts';

test('what the image is built from builds in a clean folder, and its API serves the page', async () => {
  const folder = closing(mkdtempSync(join(tmpdir(), 'hookbay-built-')), (path) => rmSync(path, { recursive: true }));
  for (const part of ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'src', 'migrations'])
    cpSync(part, join(folder, part), { recursive: true });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  mkdirSync(join(folder, 'src/page/styles'), { recursive: true });
  writeFileSync(join(folder, 'src/page/styles/of-the-test.css'), '.of-the-test { margin: 0 }\n');
  execFileSync('npm', ['run', 'build'], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });

  const environment = closing(await openEnvironment(), (open) => open.close());
  const api = await startRole('api', environment.env, { main: join(folder, 'dist/src/main.js') });
  closing(api, async (running) => void (await running.end()));
  const addresses = addressesIn((await send<string>(`${api.url}/`)).body);
  expect(addresses.filter((address) => address.endsWith('/main.js'))).toHaveLength(1);
  const [styles = ''] = addresses.filter((address) => address.endsWith('.css'));
  expect((await send<string>(`${api.url}${styles}`)).body).toContain('.of-the-test');
  for (const address of addresses) {
    const { status, headers } = await send(`${api.url}${address}`);
    expect([address, status, headers['cache-control']]).toEqual([address, 200, expect.stringContaining('immutable')]);
  }
});
