import { expect } from 'vitest';
import type { Locator, Page } from 'playwright-core';
import type { send } from '../../support/client.ts';
import type { PageTests } from './page.ts';

/** An image of 10 x 10 pixels. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAYAAACNMs+9AAAAFUlEQVR42mNk+M9Qz0AEYBxVSF+FABJADveWkH6oAAAAAElFTkSuQmCC',
  'base64',
);

type Sent = NonNullable<Parameters<typeof send>[1]>;

/** The open request. */
export function detailOf(page: Page): Locator {
  return page.getByRole('region', { name: 'Request', exact: true });
}

export function panelOf(page: Page): Locator {
  return detailOf(page).getByRole('tabpanel');
}

export async function tab(page: Page, name: RegExp): Promise<void> {
  await detailOf(page).getByRole('tab', { name }).click();
}

/** Sends a webhook, and shows it in a page that is open already. */
export async function openSent(
  tests: PageTests,
  page: Page,
  endpointId: string,
  { path = '', ...sent }: Sent & { path?: string },
): Promise<string> {
  const { id } = await tests.capture(`${endpointId}${path}`, sent);
  await page.goto(`${tests.url}/#/e/${endpointId}/r/${id}`);
  await detailOf(page).getByText(id).waitFor();
  return id;
}

/** Waits until a text is there, as people see it. */
export async function expectText(where: Locator, text: string | RegExp): Promise<void> {
  const has = async (): Promise<boolean> => {
    const shown = await where.innerText();
    return typeof text === 'string' ? shown.includes(text) : text.test(shown);
  };
  await expect.poll(has, { message: String(text), timeout: 20_000 }).toBe(true);
}
