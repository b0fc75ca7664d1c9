import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startFakeCluster } from '../../../../src/page/testing/fake-cluster.ts'
import { startFakeNode } from '../../../../src/page/testing/fake-node.ts'
import { enterCluster } from '../../../support/browser/enter-cluster.ts'
import { openBrowser } from '../../../support/browser/open-browser.ts'
import { watchedPage } from '../../../support/browser/watched-page.ts'

const FOLDER = join(import.meta.dirname, '../../../../docs/pictures')
const EXPLAINED = '#/explain?source=10.0.0.2&destination=10.96.0.1%3A80'

/** What the documents show: a name, the fragment of the page, and what has to be seen first. */
const VIEWS: readonly (readonly [name: string, hash: string, seen: (page: Page) => unknown])[] = [
  [
    'services',
    '#/services/shop/web',
    (page) =>
      page
        .locator('.backends td:nth-child(2)', { hasText: /\d\.\d/ })
        .first()
        .waitFor(),
  ],
  ['latency', '#/latency', (page) => page.locator('.plot canvas').waitFor()],
  ['explain', EXPLAINED, (page) => page.locator('.way svg').waitFor()],
]

/** The same of the page of a cluster. */
const CLUSTER_VIEWS: typeof VIEWS = [
  ['nodes', '#/nodes', (page) => page.locator('.rows').getByText('9,998 ports').waitFor()],
  [
    'service',
    '#/services/shop/web',
    (page) => page.locator('.service-nodes td:nth-child(6)', { hasText: /\d/ }).first().waitFor(),
  ],
]

/** Writes docs/pictures: each view in both themes, with ten thousand Services that are made up, and sixty nodes. */
const node = await startFakeNode({ services: 10_000 })
await using opened = await openBrowser()
mkdirSync(FOLDER, { recursive: true })
for (const colorScheme of ['light', 'dark'] as const) {
  const { page } = await watchedPage(opened.browser, { colorScheme })
  await page.goto(node.url)
  await page.locator('.rows').getByText('KiB').first().waitFor()
  for (const [name, hash, seen] of VIEWS) {
    await page.setViewportSize({ width: 1280, height: name === 'explain' ? 1010 : 800 })
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await seen(page)
    await page.screenshot({ path: join(FOLDER, `page-${name}-${colorScheme}.png`) })
  }
}
await node.close()
const cluster = await startFakeCluster({ nodes: 60, services: 10_000 })
for (const colorScheme of ['light', 'dark'] as const) {
  const { page } = await enterCluster(opened, cluster.url, { colorScheme })
  await page.locator('.rows .state.good').first().waitFor()
  for (const [name, hash, seen] of CLUSTER_VIEWS) {
    await page.evaluate(`location.hash = ${JSON.stringify(hash)}`)
    await seen(page)
    await page.screenshot({ path: join(FOLDER, `cluster-${name}-${colorScheme}.png`) })
  }
}
await cluster.close()
