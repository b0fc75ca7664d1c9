import { createRequire } from 'node:module'
import type { AxeResults } from 'axe-core'
import type { Page } from 'playwright-core'

/** Loads axe-core into a page. The context of the page must bypass its Content-Security-Policy. */
export async function addAxe(page: Page): Promise<void> {
  await page.addScriptTag({ path: createRequire(import.meta.url).resolve('axe-core') })
}

/** What axe-core finds, each as one line. */
export async function axeFaults(page: Page): Promise<readonly string[]> {
  const { violations } = await page.evaluate<AxeResults>('axe.run(document)')
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary = '' }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  )
}
