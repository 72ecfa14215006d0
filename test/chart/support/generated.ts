import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { CHART, KUBE_VERSION, runHelm } from './helm.ts';
import type { Helm } from './tools.ts';

const README = `${CHART}/README.md`;
const TABLE = /(<!-- values: made by npm run k8s:render -->\n)[\s\S]*(<!-- end of values -->)/;

/** Files that are generated from the chart, by path: `npm run k8s:render` writes them, and a test compares them. */
export async function generatedFiles(helm: Helm): Promise<Record<string, string>> {
  const template = async (...args: string[]): Promise<string> =>
    `# Made from charts/hookbay by \`npm run k8s:render\`; changes belong there.\n${await runHelm(helm, ['template', 'hookbay', CHART, '--namespace', 'hookbay', '--no-hooks', '--kube-version', KUBE_VERSION, ...args])}`;
  return {
    'k8s/base/hookbay.yaml': await template('--values', 'k8s/values-base.yaml'),
    'k8s/stores/stores.yaml': await template(
      '--values',
      'k8s/values-stores.yaml',
      '--show-only',
      'templates/mysql.yaml',
      '--show-only',
      'templates/redis.yaml',
    ),
    [README]: readFileSync(README, 'utf8').replace(
      TABLE,
      (_all, start: string, end: string) => `${start}${valuesTable()}${end}`,
    ),
  };
}

/** A row for each value that has a `# --` line above it. */
export function valuesTable(): string {
  const text = readFileSync(`${CHART}/values.yaml`, 'utf8');
  const values = parse(text) as unknown;
  const rows: string[] = [];
  const path: { indent: number; key: string }[] = [];
  let description: string | undefined;
  for (const line of text.split('\n')) {
    const comment = /^\s*# -- (.*)$/.exec(line);
    const entry = /^(\s*)([A-Za-z]\w*):/.exec(line);
    if (comment !== null) description = comment[1];
    if (entry === null) continue;
    const indent = entry[1]?.length ?? 0;
    while ((path.at(-1)?.indent ?? -1) >= indent) path.pop();
    path.push({ indent, key: entry[2] as string });
    if (description === undefined) continue;
    const keys = path.map(({ key }) => key);
    const value = JSON.stringify(keys.reduce<unknown>((node, key) => (node as Record<string, unknown>)[key], values));
    rows.push(`| \`${keys.join('.')}\` | \`${value}\` | ${description.replaceAll('|', '\\|')} |`);
    description = undefined;
  }
  return `| Value | Default | Meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
}
