import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

const PAGES = globSync('**/*.md', { exclude: ['**/node_modules/**'] });

/** What stands in a block of code is neither a link nor a heading. */
function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^(`{3,})[^]*?^\1$/gm, '');
}

/** Anchors of the headings, as GitHub makes them: the second one of a name gets `-1`. */
function anchorsOf(markdown: string): Set<string> {
  const anchors = new Map<string, number>();
  for (const [, heading = ''] of withoutBlocks(markdown).matchAll(/^#{1,6} (.*)$/gm)) {
    const text = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const anchor = text.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(' ', '-');
    const count = anchors.get(anchor) ?? 0;
    anchors.set(anchor, count + 1);
    if (count > 0) anchors.set(`${anchor}-${count}`, 1);
  }
  return new Set(anchors.keys());
}

/** Targets of links and of references (`[name]: target`). */
function targetsOf(markdown: string): string[] {
  const prose = withoutBlocks(markdown).replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g), ...prose.matchAll(/^\[[^\]]+\]: (\S+)$/gm)].map(
    ([, target]) => target as string,
  );
}

/** Relative links of a page that lead nowhere. */
function brokenLinks(page: string, markdown: string): string[] {
  return targetsOf(markdown).filter((target) => {
    if (/^[a-z]+:/.test(target)) return false;
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : normalize(join(dirname(page), path));
    if (file === page) return anchor !== undefined && !anchorsOf(markdown).has(anchor);
    if (!existsSync(file) || anchor === undefined) return !existsSync(file);
    return !statSync(file).isFile() || !anchorsOf(readFileSync(file, 'utf8')).has(anchor);
  });
}

test.each(PAGES)('links of %s lead to a file and a heading that exist', (page) => {
  expect(brokenLinks(page, readFileSync(page, 'utf8'))).toEqual([]);
});

test('every page is there, and can be reached from README.md', () => {
  const reached = new Set(['README.md']);
  for (const page of reached) {
    for (const target of targetsOf(readFileSync(page, 'utf8'))) {
      const file = normalize(join(dirname(page), target.split('#')[0] ?? ''));
      if (file.endsWith('.md') && existsSync(file)) reached.add(file);
    }
  }
  expect([...reached].toSorted()).toEqual(PAGES.toSorted());
  expect(PAGES.length).toBeGreaterThanOrEqual(6);
});

test('a link that leads nowhere is found, and one in code is none', () => {
  const markdown = [
    '# Here it is',
    '## Here, it is!',
    '### Here it is',
    '```sh',
    '# no heading [a](b.md)',
    '```',
    '`[1](nowhere)` [2](#here-it-is) `code` [`3`](#here-it-is-2) [4](package.json) [5](https://example.com/#x)',
    '[6](#no-heading-ab) [7](nowhere.md) [8](README.md#nowhere) [9](src#nowhere)',
    '[10]: nowhere/',
    '[11]: README.md',
  ];
  expect(brokenLinks('page.md', markdown.join('\n'))).toEqual([
    '#no-heading-ab',
    'nowhere.md',
    'README.md#nowhere',
    'src#nowhere',
    'nowhere/',
  ]);
});

test('files that src/README.md names are there', () => {
  const text = readFileSync('src/README.md', 'utf8');
  const named = [...text.matchAll(/`([\w./-]+\.(?:ts|tpl|mjs))`/g)].map(([, path]) => path as string);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((path) => !existsSync(`src/${path}`) && !existsSync(path))).toEqual([]);
});
