import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type FakeCluster, startFakeCluster } from '../../../src/page/testing/fake-cluster.ts'
import { enterCluster, pageFaults } from '../../support/browser/enter-cluster.ts'
import { type OpenedBrowser, openBrowser } from '../../support/browser/open-browser.ts'
import type { WatchedPage } from '../../support/browser/watched-page.ts'

/** The page of a cluster in a real browser: sixty nodes that are made up, some of them otherwise than the rest. */
const HOSTILE = '<img src=x onerror=alert(1)>/../..?#%2e"&'

let cluster: FakeCluster
let opened: OpenedBrowser
let watched: WatchedPage | undefined
beforeAll(async () => {
  cluster = await startFakeCluster({ nodes: 60, services: 10_000, nodeNames: [HOSTILE] })
  opened = await openBrowser()
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await cluster.close()
})
afterEach(async () => {
  await watched?.page.context().close()
})

/** Signed in, at a view. */
async function enter(hash = '', options = {}): Promise<WatchedPage> {
  watched = await enterCluster(opened, cluster.url + hash, options)
  return watched
}

function row(page: Page, text: string) {
  return page.locator('.rows .row', { hasText: text })
}

test('a token is kept for the tab, and the token is nowhere but in it', async () => {
  const { page, origins } = await enter()
  await row(page, 'node-7').first().waitFor()
  await page.reload()
  await row(page, 'node-7').first().waitFor()
  expect(await page.evaluate('Object.keys(localStorage)')).not.toContain('token')
  expect(await page.content()).not.toContain('reader-of-everything')
  expect(page.url()).not.toContain('reader-of-everything')
  expect(cluster.requests.filter((path) => path.includes('reader-of'))).toEqual([])
  expect([...origins]).toEqual([new URL(cluster.url).origin])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Token').waitFor()
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
  const field = page.getByLabel('Token')
  expect([await field.getAttribute('type'), await field.inputValue()]).toEqual(['password', ''])
  expect(await page.locator('pre').first().textContent()).toBe('orchctl create token NAME')
})

test('the nodes begin with what is wrong, and those that differ say in what', async () => {
  const entered = await enter()
  const { page } = entered
  await page.getByText('2 of 60 nodes cannot be read').waitFor()
  await row(page, '9,998 ports; 57 of 58 nodes have 10,000').waitFor()
  const cells = await page.locator('.rows .row [role=gridcell]:nth-child(-n+3)').allTextContents()
  const texts = cells.map((cell) => cell.trim())
  const words = Array.from({ length: 9 }, (_, at) => texts.slice(at * 3, at * 3 + 3).join(' | '))
  expect(words).toEqual([
    expect.stringMatching(/^node-7 \| no answer \| .*the connection was refused/),
    expect.stringMatching(/^node-13 \| no answer \| .*does not accept the certificate/),
    expect.stringMatching(/^node-21 \| not ready \| the oldest change has waited/),
    expect.stringMatching(/^node-55 \| not ready \| the Node is not Ready/),
    expect.stringMatching(/^node-3 \| problems \| the changed configuration file/),
    expect.stringMatching(/^node-9 \| problems \| .* belongs to .* \(and 3 more\)$/),
    'node-34 | differs | mode nftables; 57 of 58 nodes have ipvs',
    'node-42 | differs | version 0.0.9; 57 of 58 nodes have 0.1.0',
    'node-50 | differs | 9,998 ports; 57 of 58 nodes have 10,000',
  ])
  await page.getByRole('checkbox', { name: 'Only problems (9)' }).check()
  await page.getByText('9 of 60 nodes').waitFor()
  expect(pageFaults(entered)).toEqual([])
})

test('where no value has a majority, the groups are named and no node is the one that differs', async () => {
  const split = await startFakeCluster({
    nodes: 2,
    services: 10,
    everySecond: {
      status: { mode: 'nftables' },
      entry: (entry) => ({ ...entry, backends: (entry.backends ?? []).slice(1) }),
    },
  })
  onTestFinished(() => split.close())
  watched = await enterCluster(opened, split.url)
  const { page } = watched
  await page.getByText('mode: ipvs on node-1; nftables on node-2').waitFor()
  await row(page, 'mode ipvs; the nodes disagree: 1 of 2 nodes have it').waitFor()
  await row(page, 'mode nftables; the nodes disagree: 1 of 2 nodes have it').waitFor()
  await page.goto(`${split.url}#/services/shop/web`)
  const detail = page.getByRole('complementary', { name: 'shop/web' })
  await detail.getByText(/The nodes disagree, and no value is that of most/).waitFor()
  await detail
    .getByRole('listitem')
    .getByText(/^http.*: to .* on node-1; to no such backend on node-2$/)
    .waitFor()
  expect(await detail.getByText('from the other nodes').count()).toBe(0)
  expect(pageFaults(watched)).toEqual([])
})

test('a node has all of its views below the cluster, whatever its name holds', async () => {
  const entered = await enter()
  const { page } = entered
  await page.getByText('2 of 60 nodes cannot be read').waitFor()
  await page.getByRole('searchbox').fill('onerror')
  await page.getByText('1 of 60 nodes', { exact: true }).waitFor()
  await page.locator('.rows .name', { hasText: HOSTILE }).click()
  await page.getByRole('complementary').getByRole('link', { name: 'Open this node' }).click()
  const links = page.getByRole('navigation', { name: 'This node' })
  await page.getByText('10,000 Services').waitFor()
  for (const name of ['Latency', 'Problems', 'Explain', 'Services']) {
    await links.getByRole('link', { name }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor({ state: 'attached' })
    expect(page.url()).toContain(`#/nodes/${encodeURIComponent(HOSTILE)}/${name.toLowerCase()}`)
  }
  expect(await page.title()).toBe(`Services · ${HOSTILE}`)
  await page.goBack()
  await page.getByRole('heading', { name: 'Explain', level: 1 }).waitFor({ state: 'attached' })
  expect(await page.locator('main img, main script').count()).toBe(0)
  const read = cluster.requests.filter((path) => path.includes('onerror'))
  expect(read.length).toBeGreaterThan(3)
  expect(
    read.every((path) => path.startsWith(`/api/v1/nodes/${encodeURIComponent(HOSTILE)}/proxy/`)),
  ).toBe(true)
  expect(pageFaults(entered)).toEqual([])
})
