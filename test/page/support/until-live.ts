import type { Page } from 'playwright-core';

/** Resolves when the page says that it is live. */
export async function untilLive(page: Page): Promise<void> {
  await page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();
}
