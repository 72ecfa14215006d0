import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig, ROLES } from '../../src/config.ts';

interface Service {
  command: string[];
  environment?: Record<string, string>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test?: string[]; disable?: boolean };
  volumes?: string[];
}

const { services, volumes } = parse(readFileSync('compose.yaml', 'utf8'), { merge: true }) as {
  services: Record<string, Service>;
  volumes: Record<string, null>;
};
const [dockerfile, settings] = [readFileSync('Dockerfile', 'utf8'), readFileSync('src/ops/configuration.md', 'utf8')];

test('each role and its settings exist and are valid', () => {
  for (const role of ['api', 'worker', 'migrate'] as const) {
    const { command, environment = {} } = services[role] as Service;
    expect(command).toEqual([role]);
    expect(ROLES).toContain(role);
    for (const name of Object.keys(environment)) expect([name, settings.includes(`\`${name}\``)]).toEqual([name, true]);
    // The values that Compose sets without a variable in its environment.
    const env = Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, value.replace(/^\$\{\w+:-(.*)\}$/, '$1')]),
    );
    expect(readConfig(env, role)).toMatchObject({
      mysql: { host: 'mysql', user: 'hookbay' },
      redis: { host: 'redis' },
      durability: 'strict',
    });
    expect(env['JWT_SECRET']).toMatch(/development-only/);
  }
});

test('every service that another one waits for exists and can be waited for', () => {
  for (const [name, { depends_on: awaited = {} }] of Object.entries(services)) {
    for (const [other, { condition }] of Object.entries(awaited)) {
      expect([name, other, condition]).toEqual([
        name,
        other,
        other === 'migrate' ? 'service_completed_successfully' : 'service_healthy',
      ]);
      if (condition === 'service_healthy') expect(services[other]?.healthcheck?.test).toBeDefined();
    }
  }
  for (const name of ['api', 'worker']) {
    expect(Object.keys(services[name]?.depends_on ?? {}).toSorted()).toEqual(['migrate', 'redis']);
    // The image's own health check, for readiness.
    expect(dockerfile).toContain(
      `CMD ${JSON.stringify(services[name]?.healthcheck?.test?.slice(1, -1)).replaceAll(',', ', ')}`,
    );
  }
});

test('the stores are as durable as receipts require, and keep their data in volumes', () => {
  const redis = services['redis']?.command.join(' ');
  for (const setting of ['--appendonly yes', '--appendfsync always', '--maxmemory-policy noeviction'])
    expect(redis).toContain(setting);
  expect(services['mysql']?.command).toContain('--innodb-flush-log-at-trx-commit=1');
  for (const name of ['mysql', 'redis'])
    expect(services[name]?.volumes?.map((volume) => volume.split(':')[0])).toEqual([name]);
  expect(Object.keys(volumes)).toEqual(['mysql', 'redis']);
});
