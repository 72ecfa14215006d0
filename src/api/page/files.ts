import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire, stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/*
 * What GET /page/<hash>/… can answer: a list that is made once, from folders. No path of a request reaches the file
 * system.
 */

export interface PageFile {
  type: string;
  /** Types are left out of a source when it is asked for the first time: all at once would take long. */
  content: () => string;
}

export interface PageFiles {
  /** Of all contents: another version of the page has other addresses. */
  hash: string;
  byPath: Map<string, PageFile>;
  /** The import map's names of the libraries. */
  imports: Record<string, string>;
  style: string;
  /** What the first load needs: what runs first, beginning with the entry, and what the entry then waits for. */
  modules: string[];
  awaited: string[];
}

/** Modules are UTF-8 in any case. */
const SCRIPT = 'text/javascript';
const STYLE = 'text/css; charset=utf-8';

const STYLE_PATH = 'styles.css';

/** The image has what the compiler made. */
const EXTENSION = import.meta.url.endsWith('.ts') ? 'ts' : 'js';
const FOLDER = fileURLToPath(new URL('../../page/', import.meta.url));

const LIBRARIES = {
  preact: 'vendor/preact.mjs',
  'preact/hooks': 'vendor/preact-hooks.mjs',
  'socket.io-client': 'vendor/socket.io.mjs',
  diff: 'vendor/diff/index.js',
};

/** Imports that remain without types, up to the name of the module. */
const STATIC_IMPORT = /^(?:import|export)\s(?!type\b)(?:[\w$*{}\s,]+?\sfrom\s+)?'([^']+)'/gm;
/** One that the module waits for at its top level. */
const AWAITED_IMPORT = /^(?:const\s.*=\s)?await import\('([^']+)'\)/gm;

export function readPageFiles(folder = FOLDER): PageFiles {
  const texts = new Map([...readFolder(folder, '', [EXTENSION]), [STYLE_PATH, readStyles(folder)], ...readLibraries()]);
  const hash = createHash('sha256');
  for (const [path, text] of texts) hash.update(`${path}\0${text}\0`);
  return {
    hash: hash.digest('hex').slice(0, 16),
    byPath: new Map([...texts].map(([path, text]) => [path, pageFile(path, text)])),
    imports: LIBRARIES,
    style: STYLE_PATH,
    ...firstLoad(texts),
  };
}

/** One file: browsers wait for each, and together they compress better. */
function readStyles(folder: string): string {
  return readFolder(folder, '', ['css'])
    .map(([, text]) => text)
    .join('\n');
}

/** The texts of a folder by their paths in it, in the order of these. */
function readFolder(folder: string, prefix: string, extensions: string[]): [string, string][] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => name.replaceAll('\\', '/'));
  return names
    .filter((name) => extensions.includes(name.split('.').at(-1) as string) && !name.endsWith('.d.ts'))
    .toSorted()
    .map((name) => [`${prefix}${name}`, readFileSync(join(folder, name), 'utf8')]);
}

/** Only what browsers load, and without the names of source maps: those are not served. */
function readLibraries(): [string, string][] {
  const { resolve } = createRequire(import.meta.url);
  const folderOf = (name: string): string => dirname(resolve(`${name}/package.json`));
  const read = (path: string): string => readFileSync(path, 'utf8');
  const texts: [string, string][] = [
    [LIBRARIES.preact, read(resolve('preact'))],
    [LIBRARIES['preact/hooks'], read(resolve('preact/hooks'))],
    [LIBRARIES['socket.io-client'], read(join(folderOf('socket.io'), 'client-dist/socket.io.esm.min.js'))],
    ...readFolder(join(folderOf('diff'), 'libesm'), 'vendor/diff/', ['js']),
  ];
  return texts.map(([path, text]) => [path, text.replace(/\n\/\/# sourceMappingURL=\S+\s*$/, '\n')]);
}

function pageFile(path: string, text: string): PageFile {
  let stripped: string | undefined;
  return {
    type: path.endsWith('.css') ? STYLE : SCRIPT,
    content: () => (path.endsWith('.ts') ? (stripped ??= withoutComments(stripTypeScriptTypes(text))) : text),
  };
}

/** Comments that have lines of their own, a tenth of what would be sent; the compiler leaves them out of the image. */
function withoutComments(source: string): string {
  // The lines stay, so that errors name the right ones.
  return source.replaceAll(/^[ \t]*(?:\/\*[\s\S]*?\*\/|\/\/.*$)/gm, (comment) => comment.replaceAll(/[^\n]/g, ''));
}

/** Follows imports from the entry, except dynamic ones in other modules: the page loads those when it needs them. */
function firstLoad(texts: Map<string, string>): Pick<PageFiles, 'modules' | 'awaited'> {
  const entry = `main.${EXTENSION}`;
  const modules = new Set([entry]);
  addImports(modules, texts);
  const all = new Set([...modules, ...importsOf(entry, texts, AWAITED_IMPORT)]);
  addImports(all, texts);
  return { modules: [...modules], awaited: [...all.difference(modules)] };
}

/** A set grows while it is gone through. */
function addImports(found: Set<string>, texts: Map<string, string>): void {
  for (const path of found) for (const target of importsOf(path, texts, STATIC_IMPORT)) found.add(target);
}

function importsOf(path: string, texts: Map<string, string>, pattern: RegExp): string[] {
  if (path.startsWith('vendor/')) return [];
  const targets = [...(texts.get(path) ?? '').matchAll(pattern)].map(([, name = '']) =>
    name.startsWith('.') ? join(dirname(path), name).replaceAll('\\', '/') : LIBRARIES[name as keyof typeof LIBRARIES],
  );
  return targets.filter((target) => texts.has(target));
}
