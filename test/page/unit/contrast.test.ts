import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const FOLDER = 'src/page/styles';
const css = readFileSync(`${FOLDER}/tokens.css`, 'utf8');

type Theme = Record<string, string>;

/** The colours of each theme; the dark one changes some of the light one's. */
function themes(): { light: Theme; dark: Theme } {
  const [light = '', dark = ''] = css.split('@media (prefers-color-scheme: dark)');
  const read = (part: string): Theme =>
    Object.fromEntries(
      [...part.matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(([, name = '', value = '']) => [name, value]),
    );
  return { light: read(light), dark: { ...read(light), ...read(dark) } };
}

/** WCAG 2.2, relative luminance. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = (colour.match(/\w\w/g) ?? []).map((hex) => {
    const part = Number.parseInt(hex, 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].toSorted((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const SURFACES = ['surface', 'surface-2', 'surface-3', 'accent-soft'];
const TEXTS = ['text', 'text-2', 'accent', 'good', 'warn', 'bad', 'key', 'string', 'number'];

/** What a colour needs on each surface that it may lie on: text by 1.4.3, focus rings by 1.4.11. */
const PAIRS: [colour: string, surface: string, least: number][] = [
  ...TEXTS.flatMap((text) => SURFACES.map((surface): [string, string, number] => [text, surface, 4.5])),
  ...SURFACES.map((surface): [string, string, number] => ['focus', surface, 3]),
  ['on-accent', 'accent', 4.5],
];

test.each(['light', 'dark'] as const)('38 in the %s theme every text is readable on every surface', (name) => {
  const theme = themes()[name];
  const low = PAIRS.map(([colour, surface, least]) => ({
    pair: `${colour} on ${surface}`,
    contrast: contrast(theme[colour] ?? '', theme[surface] ?? ''),
    least,
  })).filter(({ contrast: found, least }) => !(found >= least));
  expect(low).toEqual([]);
});

test('40 every colour of the light theme has its dark one, and no style has a colour of its own', () => {
  const { light, dark } = themes();
  expect(Object.keys(light).filter((name) => light[name] === dark[name])).toEqual([]);
  expect(Object.keys(light).length).toBeGreaterThan(12);
  for (const name of readdirSync(FOLDER).filter((file) => file !== 'tokens.css')) {
    const own = readFileSync(`${FOLDER}/${name}`, 'utf8').match(
      /#[0-9a-f]{3,8}\b|\b(?:rgb|hsl|oklch)a?\(|: (?:black|white|red)\b/gi,
    );
    expect([name, own]).toEqual([name, null]);
  }
});
