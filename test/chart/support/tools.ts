import { execFile } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { find } from '../../../src/local/programs.ts';
import { say, step } from '../../../src/local/progress.ts';

const exec = promisify(execFile);

/** Built tools are kept here, so that a second run starts at once. */
export const CACHE = resolve('node_modules/.cache/hookbay-tools');

const HELM_MODULES = { 3: 'helm.sh/helm/v3/cmd/helm@v3.21.4', 4: 'helm.sh/helm/v4/cmd/helm@v4.2.4' };
const KUSTOMIZE_MODULE = 'sigs.k8s.io/kustomize/kustomize/v5@v5.8.0';
const OLDEST_GO = [1, 26];

export interface Helm {
  major: number;
  path: string;
}

/** Programs for the chart's tests; those that are unavailable are in `missing`, with the reason. */
export interface Tools {
  helms: Helm[];
  /** Command line that builds a kustomization, without the folder. */
  kustomize: string[];
  missing: string[];
}

/** Searches PATH first; missing programs are built from their Go modules. */
export async function findOrBuildTools(): Promise<Tools> {
  const missing: string[] = [];
  const obtain = async <T>(name: string, get: () => Promise<T>): Promise<T[]> => {
    try {
      return [await get()];
    } catch (error) {
      missing.push(`${name}: ${(error as Error).message}`);
      return [];
    }
  };
  const onPath = await helmOnPath();
  const helms = [];
  for (const major of [3, 4] as const) {
    helms.push(
      ...(await obtain(`Helm ${major}`, async () =>
        onPath?.major === major ? onPath : { major, path: await build(`helm-${major}`, HELM_MODULES[major]) },
      )),
    );
  }
  const [kustomize = []] = await obtain('kustomize', kustomizeCommand);
  for (const line of missing) say(`The chart's tests are skipped. ${line}`);
  return { helms, kustomize, missing };
}

async function helmOnPath(): Promise<Helm | undefined> {
  const path = find(['helm']);
  if (path === undefined) return undefined;
  const { stdout } = await exec(path, ['version', '--template', '{{.Version}}']);
  return { major: Number(/^v?(\d+)/.exec(stdout)?.[1]), path };
}

async function kustomizeCommand(): Promise<string[]> {
  const kubectl = find(['kubectl']);
  return kubectl === undefined ? [await build('kustomize', KUSTOMIZE_MODULE), 'build'] : [kubectl, 'kustomize'];
}

/** @throws Error with the missing requirement, or the message of Go */
async function build(name: string, module: string): Promise<string> {
  const folder = join(CACHE, name);
  const path = join(folder, name.replace(/-\d$/, ''));
  if (existsSync(path)) return path;
  await checkGo();
  mkdirSync(folder, { recursive: true });
  await step(`Building ${module} (once; a few minutes)`, () => go(['install', module], { GOBIN: folder }));
  return path;
}

/**
 * Downloads a Go module, and resolves with its folder.
 * @throws Error with the missing requirement, or the message of Go
 */
export async function downloadModule(module: string): Promise<string> {
  await checkGo();
  const { Dir } = JSON.parse(await go(['mod', 'download', '-json', module])) as { Dir: string };
  return Dir;
}

async function go(args: string[], env: Record<string, string> = {}): Promise<string> {
  try {
    // Outside the project: a go.mod above it would take effect.
    const { stdout } = await exec('go', args, { cwd: tmpdir(), env: { ...process.env, ...env }, maxBuffer: 2 ** 26 });
    return stdout;
  } catch (error) {
    throw new Error(
      `go ${args.join(' ')} failed: ${(error as { stderr?: string }).stderr?.slice(-500) ?? String(error)}`,
      { cause: error },
    );
  }
}

async function checkGo(): Promise<void> {
  const [major = 0, minor = 0] = OLDEST_GO;
  const needed = `it is not on PATH, and Go ${OLDEST_GO.join('.')} or later, which would build it, is not either`;
  if (find(['go']) === undefined) throw new Error(needed);
  const { stdout } = await exec('go', ['env', 'GOVERSION'], { cwd: tmpdir() });
  const [, goMajor, goMinor] = /^go(\d+)\.(\d+)/.exec(stdout) ?? [];
  if (Number(goMajor) < major || (Number(goMajor) === major && Number(goMinor) < minor))
    throw new Error(`${needed} (${stdout.trim()} is)`);
}
