import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { generatedFiles } from './support/generated.ts';
import { parseManifests, render } from './support/helm.ts';
import { environmentOf, isHook, one, podOf, podsOf, specOf, type Manifest } from './support/manifests.ts';
import { openSchemas } from './support/schemas.ts';
import { chartSuite, eachHelm, newestHelm, tools } from './support/suite.ts';

async function build(overlay: string): Promise<Manifest[]> {
  const [program = '', ...args] = tools.kustomize;
  return parseManifests(
    (await promisify(execFile)(program, [...args, `k8s/overlays/${overlay}`], { maxBuffer: 2 ** 26 })).stdout,
  );
}

eachHelm('what is made from the chart', (helm) => {
  test('has not drifted from it (npm run k8s:render)', async () => {
    for (const [path, text] of Object.entries(await generatedFiles(helm))) {
      const written = readFileSync(path, 'utf8');
      if (path.endsWith('.md')) expect(written, path).toBe(text);
      else expect(parseManifests(written), path).toEqual(parseManifests(text));
    }
  });

  test('has no hook, no Secret and nothing generated', async () => {
    const manifests = Object.entries(await generatedFiles(helm)).flatMap(([path, text]) =>
      path.endsWith('.md') ? [] : parseManifests(text),
    );
    expect(manifests.filter(isHook)).toEqual([]);
    expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    expect(podsOf(manifests)).toHaveLength(5);
  });
});

chartSuite('kustomize', () => {
  test.each(['dev', 'production'])(
    'builds the overlay %s into valid objects, in one namespace that is restricted',
    async (overlay) => {
      const manifests = await build(overlay);
      const validate = openSchemas();
      expect(manifests.flatMap(validate)).toEqual([]);
      expect(one(manifests, 'Namespace').metadata.labels).toMatchObject({
        'pod-security.kubernetes.io/enforce': 'restricted',
      });
      for (const { kind, metadata } of manifests.filter(({ kind }) => kind !== 'Namespace')) {
        expect(metadata, kind).toMatchObject({
          namespace: 'hookbay',
          ...(kind !== 'Secret' && { labels: { 'app.kubernetes.io/managed-by': 'kustomize' } }),
        });
      }
    },
  );

  test('production reads its hosts from one place, and credentials from a Secret of your own', async () => {
    const manifests = await build('production');
    expect(manifests.filter(({ kind }) => kind === 'Secret' || kind === 'ConfigMap')).toEqual([]);
    for (const [kind, ending] of [
      ['Deployment', '-api'],
      ['Deployment', '-worker'],
      ['Job', ''],
    ] as const) {
      const { container } = podOf(manifests, kind, ending);
      expect(container.image).toBe('registry.example.com/hookbay:0.1.0');
      expect(environmentOf(manifests, container)).toMatchObject({ MYSQL_HOST: 'mysql.example.com' });
    }
    expect(environmentOf(manifests, podOf(manifests, 'Deployment', '-api').container)).toMatchObject({
      REDIS_HOST: 'redis.example.com',
      BASE_URL: 'https://hooks.example.com',
      DURABILITY: 'strict',
    });
  });

  test('dev has every credential that its pods name', async () => {
    const manifests = await build('dev');
    const secret = Object.keys(one(manifests, 'Secret').data ?? {});
    const needed = podsOf(manifests).flatMap(({ spec }) =>
      spec.containers.flatMap(({ env }) => (env ?? []).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef ?? [])),
    );
    expect(needed.filter(({ name, key }) => name !== 'hookbay-credentials' || !secret.includes(key))).toEqual([]);
    expect(needed.length).toBeGreaterThan(6);
  });
});

chartSuite('examples', () => {
  async function renderValues(values: unknown): Promise<Manifest[]> {
    const folder = mkdtempSync(join(tmpdir(), 'hookbay-values-'));
    try {
      writeFileSync(join(folder, 'values.yaml'), stringify(values));
      return await render(newestHelm(), { args: ['--values', join(folder, 'values.yaml')] });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }

  test.each(readdirSync('k8s/examples').filter((name) => name.startsWith('values-')))(
    '%s renders into valid objects',
    async (name) => {
      const manifests = await render(newestHelm(), { args: ['--values', `k8s/examples/${name}`] });
      expect(manifests.flatMap(openSchemas())).toEqual([]);
    },
  );

  test('Argo CD and Flux pass values that the chart accepts, and leave nothing to generate', async () => {
    const [application] = parseManifests(readFileSync('k8s/argocd/application.yaml', 'utf8'));
    const release = parseManifests(readFileSync('k8s/flux/helmrelease.yaml', 'utf8')).find(
      ({ kind }) => kind === 'HelmRelease',
    );
    const argo = (specOf(application, 'source') as { helm: { valuesObject: unknown } }).helm.valuesObject;
    for (const values of [argo, specOf(release, 'values')]) {
      const manifests = await renderValues(values);
      expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
      expect(isHook(one(manifests, 'Job'))).toBe(false);
    }
    expect(one(await renderValues(argo), 'Job').spec).not.toHaveProperty('ttlSecondsAfterFinished');
  });
});
