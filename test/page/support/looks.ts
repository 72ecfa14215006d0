import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/* What people see and touch, measured in a browser. */

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What a finger hits without aiming. */
const MIN_TARGET_PX = 44;

/** Faults that axe finds: the rule, and where. Not by a script element, which the page's policy refuses. */
export async function axeFaults(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  // What fades in has no colour of its own yet.
  await page.evaluate(() => {
    for (const animation of document.getAnimations())
      if (Number.isFinite(animation.effect?.getComputedTiming().endTime)) animation.finish();
  });
  const { violations } = await page.evaluate<AxeResults>("axe.run(document, { resultTypes: ['violations'] })");
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(
      ({ target, failureSummary = '' }) => `${id}: ${target.join(' ')} (${failureSummary.split('\n')[1]?.trim()})`,
    ),
  );
}

/** What is wider than the window, by its class; none when the page cannot be scrolled sideways. */
export function sidewaysFaults(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const root = document.documentElement;
    if (root.scrollWidth <= root.clientWidth && document.body.scrollWidth <= root.clientWidth) return [];
    const wide = [...document.querySelectorAll('*')].filter(
      (it) => it.getBoundingClientRect().right > root.clientWidth + 1,
    );
    return [
      `the page is ${root.scrollWidth} px wide`,
      ...wide.map(({ tagName, className }) => `${tagName}.${className}`),
    ];
  });
}

/** Targets that are too small to be touched; links inside a sentence may be. */
export function smallTargets(page: Page): Promise<string[]> {
  return page.evaluate((least) => {
    const TARGETS =
      'button, a[href], input, select, textarea, summary, [role=tab], [role=option], [role=menuitem], [role=switch]';
    const small: string[] = [];
    for (const target of document.querySelectorAll<HTMLElement>(TARGETS)) {
      // A link of a table covers its row.
      const hit = target.closest('label, tr') ?? target;
      const { width, height } = hit.getBoundingClientRect();
      const isShown =
        target.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && width > 1 && height > 1;
      const inDialog = document.querySelector('dialog[open]');
      const isReachable = inDialog === null || inDialog.contains(target);
      const inSentence = target.matches('a[href]') && target.parentElement?.matches('p, li, dd') === true;
      if (!isShown || !isReachable || inSentence) continue;
      if (Math.min(width, height) < least - 0.5)
        small.push(
          `${target.tagName}.${target.className} "${(target.ariaLabel ?? target.textContent).slice(0, 30)}" ` +
            `${Math.round(width)}×${Math.round(height)}`,
        );
    }
    return [...new Set(small)];
  }, MIN_TARGET_PX);
}

/** For people to look at: a folder in the variable PAGE_SHOTS gets a picture of each screen. */
export async function shoot(page: Page, name: string): Promise<void> {
  const folder = process.env['PAGE_SHOTS'];
  if (folder === undefined) return;
  mkdirSync(folder, { recursive: true });
  await page.screenshot({ path: `${folder}/${name}.png` });
}
