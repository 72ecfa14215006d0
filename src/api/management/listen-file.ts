import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import type { Router } from '@koa/router';
import type { Operation } from './operation.ts';

/* GET /listen.mjs: the role `listen` as one file, which needs Node alone. */

/** The files of `src/listen`, those first that others need when they are loaded. */
export const LISTEN_MODULES = [
  'text',
  'session',
  'forwarded',
  'options',
  'event-stream',
  'api',
  'follow',
  'forward',
  'deliver',
  'listen',
];

const ABOUT = `#!/usr/bin/env node
// Hookbay: forwards what an endpoint captures to a server on this machine. Needs Node 20.3 or later, and nothing else.
// node listen.mjs --help
`;

const START = 'process.exitCode = await listen(process.argv.slice(2));\n';

export const LISTEN_OPERATION: Operation = {
  path: '/listen.mjs',
  method: 'get',
  summary: 'The command that forwards captures to a local server, as one file for Node 20.3 or later',
  guarded: false,
  answers: { 200: 'text/javascript' },
};

export function listenFileRoute(router: Router): void {
  let file: string | undefined;
  router.get(LISTEN_OPERATION.path, (ctx) => {
    file ??= joinListenModules();
    ctx.type = 'text/javascript';
    ctx.body = file;
  });
}

/** The modules one after the other; they have no name twice, which would be a syntax error. */
export function joinListenModules(): string {
  const imports = new Map<string, Set<string>>();
  const parts = LISTEN_MODULES.map((name) =>
    readModule(name)
      .replaceAll(/^import \{([^}]*)\} from '([^']+)';\n/gm, (_all, names: string, from: string) => {
        const known = imports.get(from) ?? new Set();
        for (const one of names.split(',')) if (one.trim() !== '') known.add(one.trim());
        if (from.startsWith('node:')) imports.set(from, known);
        return '';
      })
      .replaceAll(/^export (?:\{\};\n)?/gm, ''),
  );
  const heads = [...imports].map(([from, names]) => `import { ${[...names].join(', ')} } from '${from}';\n`);
  return [ABOUT, heads.join(''), ...parts, START].join('\n');
}

/** The image has what the compiler made; without a build, types are left out here. */
function readModule(name: string): string {
  const isSource = import.meta.url.endsWith('.ts');
  const text = readFileSync(new URL(`../../listen/${name}.${isSource ? 'ts' : 'js'}`, import.meta.url), 'utf8');
  return isSource ? stripTypeScriptTypes(text) : text;
}
