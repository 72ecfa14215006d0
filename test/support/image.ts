import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The beginning of the titles of tests that need the image. */
export const IMAGE_TESTS = 'the image';

export const NO_IMAGE_TOOL =
  'no image can be built here: neither docker nor podman has or gets the base image, and IMAGE_BUILDER is not set';

/** Podman omits the health check by default, because the OCI format has none. */
const WITH_HEALTHCHECK = ['--format', 'docker'];

const LOOK_MS = 10_000;
const PULL_MS = 180_000;
const BUILD_MS = 900_000;

/** A way to build the image and the engine that runs it. */
export interface ImageTool {
  engine: 'docker' | 'podman';
  /** Builds the project under a tag. */
  build(tag: string): void;
  /** Runs a command of the engine; returns its output, with `allowFailure` also that of a failed one. */
  run(args: string[], options?: { allowFailure?: boolean }): { code: number | null; stdout: string; stderr: string };
}

/**
 * `IMAGE_BUILDER`, a command that takes a folder and a tag, builds into podman's store, and may print `export …` lines
 * that podman needs to find the image; otherwise docker or podman, where it has the base image or can pull it.
 */
export function findImageTool(): ImageTool | undefined {
  const builder = process.env['IMAGE_BUILDER'];
  if (builder) {
    const env: NodeJS.ProcessEnv = { ...process.env };
    return imageTool('podman', env, (tag) => {
      const output = execFileSync('sh', ['-c', `${builder} "$0" "$1"`, '.', tag], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: BUILD_MS,
      });
      const exported = output
        .split('\n')
        .filter((line) => line.startsWith('export '))
        .flatMap((line) => line.split(' ').slice(1));
      for (const assignment of exported)
        env[assignment.split('=')[0] as string] = assignment.slice(assignment.indexOf('=') + 1);
    });
  }
  const engine = (['docker', 'podman'] as const).find(hasBaseImage);
  return engine === undefined
    ? undefined
    : imageTool(
        engine,
        process.env,
        (tag) =>
          void execFileSync(engine, ['build', ...(engine === 'podman' ? WITH_HEALTHCHECK : []), '-t', tag, '.'], {
            stdio: ['ignore', 'pipe', 'pipe'],
            timeout: BUILD_MS,
          }),
      );
}

/** The base image of the Dockerfile. */
export function baseImage(): string {
  return /^FROM (\S+)/m.exec(readFileSync('Dockerfile', 'utf8'))?.[1] ?? '';
}

function hasBaseImage(engine: string): boolean {
  const works = (args: string[], timeout: number): boolean =>
    spawnSync(engine, args, { stdio: 'ignore', timeout }).status === 0;
  return (
    works(['info'], LOOK_MS) &&
    (works(['image', 'inspect', baseImage()], LOOK_MS) || works(['pull', '-q', baseImage()], PULL_MS))
  );
}

function imageTool(engine: ImageTool['engine'], env: NodeJS.ProcessEnv, build: (tag: string) => void): ImageTool {
  return {
    engine,
    build,
    run(args, { allowFailure = false } = {}) {
      const { status, stdout, stderr, error } = spawnSync(engine, args, {
        encoding: 'utf8',
        env,
        timeout: LOOK_MS * 6,
      });
      if (error !== undefined || (status !== 0 && !allowFailure))
        throw new Error(`${engine} ${args[0]} failed (${status ?? String(error)}): ${stdout}${stderr}`);
      return { code: status, stdout, stderr };
    },
  };
}
