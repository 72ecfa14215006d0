import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, test } from 'vitest';

/** From top to bottom; a file may import from floors below its own, and from its own room. */
const FLOORS: string[][] = [
  ['main'],
  ['api', 'worker', 'local', 'commands', 'listen', 'page'],
  ['ops'],
  ['store', 'redis', 'queue'],
  ['domain'],
  [
    'plans',
    'user-error',
    'group-commit',
    'single-flight',
    'poll',
    'roster',
    'resources',
    'deadline',
    'turns',
    'config',
    'environment',
    'redis-config',
    'log',
    'metrics',
  ],
];

/** Below all floors: these files import nothing of the project. */
const LEAVES = ['config', 'log', 'metrics'];

/** A room is a folder of `src`, or a single file in it. */
function roomOf(path: string): string {
  return (path.replace(/^src\//, '').split('/')[0] as string).replace(/\.(ts|mjs)$/, '');
}

function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const paths = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) => path as string);
  return paths.map((path) => normalize(join(dirname(file), path)));
}

const files = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`);
const floorOf = (room: string): number => FLOORS.findIndex((rooms) => rooms.includes(room));

test('every room has its floor', () => {
  expect([...new Set(files.map(roomOf))].filter((room) => floorOf(room) === -1)).toEqual([]);
});

test('imports run downward, and rooms of one floor do not import each other', () => {
  const wrong: string[] = [];
  for (const file of files) {
    for (const target of importsOf(file)) {
      const [from, to] = [roomOf(file), roomOf(target)];
      if (target.startsWith('migrations/') && from === 'store') continue;
      const sameRoom = from === to;
      const downward = floorOf(to) > floorOf(from);
      // The stores' rooms share types; the ground floor is one level.
      const neighbours = floorOf(to) === floorOf(from) && (floorOf(from) === 3 || floorOf(from) === 5);
      if (!sameRoom && !downward && !neighbours) wrong.push(`${file} → ${target}`);
    }
  }
  expect(wrong).toEqual([]);
});

test('api and worker never import each other, and leaves import nothing above the ground', () => {
  for (const file of files) {
    const rooms = importsOf(file).map(roomOf);
    if (roomOf(file) === 'api') expect(rooms).not.toContain('worker');
    if (roomOf(file) === 'worker') expect(rooms).not.toContain('api');
    if (LEAVES.includes(roomOf(file)))
      expect(rooms.filter((room) => !['plans', 'user-error', 'environment', 'redis-config'].includes(room))).toEqual(
        [],
      );
  }
  expect(files.length).toBeGreaterThan(40);
});

test('listen runs without the server: it imports Node itself, and types of the domain', () => {
  for (const file of files.filter((name) => name.startsWith('src/listen/'))) {
    const imports = [...readFileSync(file, 'utf8').matchAll(/^(import.*?) from '(.+)';$/gms)];
    const wrong = imports.filter(
      ([, what = '', from = '']) =>
        !/^(node:|\.\/)/.test(from) && !/^import type .*\.\.\/domain\//s.test(`${what}${from}`),
    );
    expect([file, wrong.map(([all]) => all)]).toEqual([file, []]);
  }
});

describe('src/page', () => {
  const pageFiles = files.filter((file) => file.startsWith('src/page/'));
  const PAGE_FLOORS = [['main'], ['view'], ['state'], ['content', 'model']];
  /** A folder of the page, or its entry; `el.ts` is for the view and the entry. */
  const pageRoomOf = (file: string): string => (file.split('/')[2] as string).replace(/\.ts$/, '');
  const pageFloorOf = (file: string): number => PAGE_FLOORS.findIndex((rooms) => rooms.includes(pageRoomOf(file)));
  const LIBRARIES: Record<string, string[]> = {
    main: ['preact'],
    el: ['preact'],
    view: ['preact', 'preact/hooks', 'diff'],
    state: ['socket.io-client', 'diff'],
    content: ['diff'],
    model: ['diff'],
  };

  test('runs without the server: it imports its own files, four libraries, and types of what the API answers', () => {
    const wrong: string[] = [];
    for (const file of pageFiles) {
      const text = readFileSync(file, 'utf8');
      const imports = /^(import type|import|export)\b(?:[^;'=]*\bfrom)? '([^']+)';$/gm;
      for (const [, how = '', name = ''] of text.matchAll(imports)) {
        const target = normalize(join(dirname(file), name));
        const own = name.startsWith('.') && target.startsWith('src/page/') && !target.includes('src/api');
        const library = LIBRARIES[pageRoomOf(file)]?.includes(name) === true;
        const types = how === 'import type' && (target === 'src/domain/answers.ts' || !name.startsWith('.'));
        if (!own && !library && !types) wrong.push(`${file} → ${name}`);
      }
      for (const [, name = ''] of text.matchAll(/\bimport\('([^']+)'\)/g))
        if (!name.startsWith('.') && LIBRARIES[pageRoomOf(file)]?.includes(name) !== true)
          wrong.push(`${file} → ${name}`);
    }
    expect(wrong).toEqual([]);
  });

  test('main → view → state → content and model, which know nothing of the document', () => {
    expect(pageFiles.filter((file) => pageRoomOf(file) !== 'el' && pageFloorOf(file) === -1)).toEqual([]);
    const wrong: string[] = [];
    for (const file of pageFiles.filter((name) => pageRoomOf(name) !== 'el')) {
      for (const target of importsOf(file).filter((name) => name.startsWith('src/page/'))) {
        const toElement = pageRoomOf(target) === 'el' && ['main', 'view'].includes(pageRoomOf(file));
        const sameRoom = pageRoomOf(file) === pageRoomOf(target);
        if (!toElement && !sameRoom && pageFloorOf(target) <= pageFloorOf(file)) wrong.push(`${file} → ${target}`);
      }
    }
    expect(wrong).toEqual([]);
    for (const file of pageFiles.filter((name) => ['content', 'model'].includes(pageRoomOf(name)))) {
      const code = readFileSync(file, 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'[^'\n]*'/g, '');
      expect([file, /\b(?:document|window|HTML\w*Element)[.;,)[ ]/.exec(code)?.[0]]).toEqual([file, undefined]);
    }
  });
});

describe('src/api', () => {
  const apiFiles = files.filter((file) => file.startsWith('src/api/'));
  const apiRoomOf = (file: string): string => (file.split('/').length > 3 ? (file.split('/')[2] as string) : 'top');
  /** What each room may import of the others. */
  const SHARED: Record<string, string[]> = {
    http: [],
    auth: ['http'],
    capture: ['http', 'auth', 'top'],
    management: ['http', 'auth', 'top'],
    live: ['http', 'auth', 'top'],
    page: ['http'],
    top: ['http', 'auth', 'capture', 'management', 'live', 'page'],
  };

  test('capture, management, live and page never import each other, and share only auth and http', () => {
    expect(new Set(apiFiles.map(apiRoomOf))).toEqual(new Set(Object.keys(SHARED)));
    const wrong: string[] = [];
    for (const file of apiFiles) {
      for (const target of importsOf(file).filter((path) => path.startsWith('src/api/'))) {
        const [from, to] = [apiRoomOf(file), apiRoomOf(target)];
        // Of the files above the rooms they import only their metrics.
        const allowed =
          from === to || (SHARED[from]?.includes(to) === true && (to !== 'top' || target === 'src/api/metrics.ts'));
        if (!allowed && !(from === 'http' && target === 'src/api/metrics.ts')) wrong.push(`${file} → ${target}`);
      }
    }
    expect(wrong).toEqual([]);
  });
});

test('no imports are circular, including those of types', () => {
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: string[]): void => {
    if (path.includes(file)) return void circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
    if (done.has(file) || !files.includes(file)) return;
    for (const target of importsOf(file)) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  expect(circles).toEqual([]);
});

test('files stay small, and only main.ts runs at import', () => {
  for (const file of [...files, ...readdirSync('migrations').map((name) => `migrations/${name}`)]) {
    const lines = readFileSync(file, 'utf8').split('\n').length;
    expect([file, lines <= 250]).toEqual([file, true]);
    const topLevelCall = /^(?:await |void )?[a-z][A-Za-z.]*\(.*\);$/m.test(readFileSync(file, 'utf8'));
    expect([file, topLevelCall]).toEqual([file, ['src/main.ts', 'src/page/main.ts'].includes(file)]);
  }
});
