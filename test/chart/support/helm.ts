import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import type { Manifest } from './manifests.ts';
import type { Helm } from './tools.ts';

const exec = promisify(execFile);

export const CHART = 'charts/hookbay';
export const VALUES = 'test/chart/values';
export const RELEASE = 'hb';
export const NAMESPACE = 'hooks';

/** Passed to Helm because a build from its module assumes a much older version. */
export const KUBE_VERSION = '1.36.2';

/** The minimal values of an evaluation, and of an installation with stores of its own. */
export const BUNDLED = ['mysql.bundled.enabled=true', 'redis.bundled.enabled=true'];
export const EXTERNAL = ['mysql.host=db', 'mysql.password.existingSecret=db-login', 'redis.host=cache'];

export interface RenderOptions {
  /** A file of test/chart/values. */
  file?: string;
  /** `a.b=c`, as with --set. */
  set?: string[];
  /** Values in JSON, as with --set-json: `a.b={…}`. */
  json?: string[];
  chart?: string;
  /** Further arguments. */
  args?: string[];
  env?: Record<string, string>;
}

/**
 * Renders the chart.
 * @throws Error with the message of Helm
 */
export async function render(
  helm: Helm,
  { file, set = [], json = [], chart = CHART, args = [], env = {} }: RenderOptions,
): Promise<Manifest[]> {
  const values = [
    ...(file === undefined ? [] : ['--values', join(VALUES, file)]),
    ...set.flatMap((value) => ['--set', value]),
    ...json.flatMap((value) => ['--set-json', value]),
  ];
  const text = await runHelm(
    helm,
    ['template', RELEASE, chart, '--namespace', NAMESPACE, '--kube-version', KUBE_VERSION, ...values, ...args],
    env,
  );
  return parseManifests(text);
}

export function parseManifests(text: string): Manifest[] {
  // Kubernetes refuses YAML with a duplicate name in a map.
  const documents = parseAllDocuments(text, { uniqueKeys: true });
  for (const { errors } of documents) if (errors[0] !== undefined) throw errors[0];
  return documents.map((document) => document.toJS() as Manifest | null).filter((manifest) => manifest !== null);
}

export async function runHelm(helm: Helm, args: string[], env: Record<string, string> = {}): Promise<string> {
  try {
    return (
      await exec(helm.path, args, { env: { ...process.env, KUBECONFIG: '/dev/null', ...env }, maxBuffer: 2 ** 26 })
    ).stdout;
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string };
    throw new Error(`${stderr ?? String(error)}${stdout?.slice(0, 2_000) ?? ''}`, { cause: error });
  }
}
