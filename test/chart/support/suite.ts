import { describe, inject } from 'vitest';
import type { Helm, Tools } from './tools.ts';

export const tools: Tools = inject('tools');

/** A group of tests that is reported as skipped, with the reason, where the tools are unavailable. */
export function chartSuite(name: string, tests: () => void): void {
  const reason = tools.missing.length === 0 ? '' : ` (skipped: ${tools.missing.join('; ')})`;
  describe.skipIf(tools.missing.length > 0)(`${name}${reason}`, tests);
}

/** The same group with each version of Helm. */
export function eachHelm(name: string, tests: (helm: Helm) => void): void {
  chartSuite(name, () => {
    for (const helm of tools.helms) describe(`Helm ${helm.major}`, () => tests(helm));
  });
}

/** The newest Helm, for tests that do not depend on its version. */
export function newestHelm(): Helm {
  return tools.helms.at(-1) as Helm;
}
