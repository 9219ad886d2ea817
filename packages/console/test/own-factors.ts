// What people do with their own second factors on the page of their account, in English.
import { codeOf } from '@castellan/testing/second-factors/app';
import type { Locator, Page } from 'playwright-core';

export const button = (place: Page | Locator, name: string): Locator =>
  place.getByRole('button', { name, exact: true });
export const setUpDialog = (page: Page): Locator =>
  page.getByRole('dialog', { name: 'Set up an authenticator app' });
export const codesDialog = (page: Page): Locator =>
  page.getByRole('dialog', { name: 'Keep your recovery codes' });
export const proofDialog = (page: Page): Locator =>
  page.getByRole('dialog', { name: 'Confirm that it is you' });

/** Returns the secret that a dialog shows. */
export async function secretIn(dialog: Locator): Promise<string> {
  const shown = await dialog.locator('code').textContent();
  return (shown ?? '').replaceAll(' ', '');
}

/** Begins the set-up and returns the secret that the page shows. */
export async function beginSetUp(page: Page): Promise<string> {
  await button(page, 'Set up an authenticator app').click();
  return secretIn(setUpDialog(page));
}

export async function confirmSetUp(
  page: Page,
  secret: string,
  dialog: Locator = setUpDialog(page),
): Promise<void> {
  await dialog.getByLabel('Enter the code that the app shows').fill(codeOf(secret));
  await button(dialog, 'Confirm').click();
}

/** Says that the codes are kept, and returns them. */
export async function keepCodes(page: Page): Promise<string[]> {
  const shown = codesDialog(page);
  await shown.getByRole('listitem').first().waitFor();
  const codes = await shown.getByRole('listitem').allTextContents();
  await shown.getByLabel('I have kept them').check();
  await button(shown, 'Done').click();
  await shown.waitFor({ state: 'detached' });
  return codes;
}
