import type { BrowserContextOptions, Page } from 'playwright-core'
import { TOKENS } from '../../../src/page/testing/fake-cluster.ts'
import type { OpenedBrowser } from './open-browser.ts'
import { type WatchedPage, watchedPage } from './watched-page.ts'

/** Opens the page of a cluster, and signs in as a user who may read everything. */
export async function enterCluster(
  { browser }: OpenedBrowser,
  address: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const watched = await watchedPage(browser, options)
  await watched.page.goto(address)
  await signIn(watched.page, TOKENS.reader)
  await watched.page.getByRole('navigation', { name: 'Cluster' }).waitFor()
  return watched
}

/** Types a token. */
export async function signIn(page: Page, token: string): Promise<void> {
  await page.getByLabel('Token').fill(token)
  await page.keyboard.press('Enter')
}

/** Errors of the page itself, without the refused requests that the browser reports, too. */
export function pageFaults({ errors }: WatchedPage): readonly string[] {
  return errors.filter((error) => !error.startsWith('Failed to load resource'))
}
