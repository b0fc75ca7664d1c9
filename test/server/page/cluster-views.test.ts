import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import {
  type FakeCluster,
  startFakeCluster,
  TOKENS,
} from '../../../src/page/testing/fake-cluster.ts'
import { addAxe, axeFaults } from '../../support/browser/axe-faults.ts'
import { enterCluster, pageFaults, signIn } from '../../support/browser/enter-cluster.ts'
import { type OpenedBrowser, openBrowser } from '../../support/browser/open-browser.ts'
import { type WatchedPage, watchedPage } from '../../support/browser/watched-page.ts'

/** What cluster-page.test.ts leaves out of the page of a cluster in a real browser. */
let cluster: FakeCluster
let opened: OpenedBrowser
let watched: WatchedPage | undefined
beforeAll(async () => {
  cluster = await startFakeCluster({ nodes: 60, services: 10_000 })
  opened = await openBrowser()
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await cluster.close()
})
afterEach(async () => {
  await watched?.page.context().close()
})

async function open(hash = '', options = {}): Promise<WatchedPage> {
  watched = await watchedPage(opened.browser, options)
  await watched.page.goto(cluster.url + hash)
  return watched
}

/** Signed in, at a view. */
async function enter(hash = '', options = {}): Promise<WatchedPage> {
  watched = await enterCluster(opened, cluster.url + hash, options)
  return watched
}

function row(page: Page, text: string) {
  return page.locator('.rows .row', { hasText: text })
}

describe('signing in', () => {
  test.each([
    ['two words', 'This is no token'],
    ['an.expired.token', 'orch-server does not accept the token'],
  ])('with "%s" leads back, with the reason', async (token, why) => {
    const { page } = await open('#/services')
    await signIn(page, token)
    await page.getByRole('alert').getByText(why).waitFor()
    expect(await page.locator('main').textContent()).not.toContain(token)
    await signIn(page, TOKENS.reader)
    await page.getByText('10,000 Services').waitFor()
  })

  test.each([
    ['guest', 'may not list nodes'],
    ['lister', '60 of 60 nodes cannot be read'],
  ] as const)('as %s, who misses a right', async (user, words) => {
    const { page } = await open('#/nodes/node-1')
    await signIn(page, TOKENS[user])
    await page.getByText(words).first().waitFor()
    if (user === 'lister') await page.getByText('Your user may not get nodes/proxy').waitFor()
    const command = page.locator('main pre').last()
    expect(await command.textContent()).toContain('--clusterrole=node-inspection-reader')
  })
})

describe('the nodes', () => {
  test('are sorted by the column whose heading is clicked, and turned by the next click', async () => {
    const { page } = await enter()
    await page.getByText('2 of 60 nodes cannot be read').waitFor()
    const heading = page.getByRole('columnheader', { name: 'Node', exact: true })
    for (const [order, first] of [
      ['ascending', 'node-1'],
      ['descending', 'node-9'],
    ] as const) {
      await heading.getByRole('button').click()
      await page.locator('.rows .name').first().getByText(first, { exact: true }).waitFor()
      expect(await heading.getAttribute('aria-sort')).toBe(order)
    }
  })

  test('by keyboard: to the first one, what to do about it, and back', async () => {
    const { page } = await enter()
    await page.getByText('2 of 60 nodes cannot be read').waitFor()
    await page.getByRole('grid', { name: 'Nodes' }).focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    const detail = page.getByRole('complementary', { name: 'node-7' })
    await detail.getByText('kubectl get --raw /api/v1/nodes/node-7/proxy/').waitFor()
    expect(page.url()).toMatch(/#\/nodes\/node-7$/)
    await page.keyboard.press('Escape')
    await detail.waitFor({ state: 'detached' })
    expect(await page.evaluate('document.activeElement.className')).toBe('grid')
  })
})

describe('a Service over all nodes', () => {
  test('has the sum of what backends got, and names the node that differs', async () => {
    const { page } = await enter('#/services')
    await page.getByText('10,000 Services').waitFor()
    await page.getByRole('searchbox').fill('shop/web')
    await page.locator('.rows .row').first().click()
    const detail = page.getByRole('complementary', { name: 'shop/web' })
    await detail.getByText('The sum over 58 of 60 nodes.').waitFor()
    await detail.getByText('node-50 differs from the other nodes').waitFor()
    const backends = detail.getByRole('table', { name: /Backends of http/ }).getByRole('row')
    expect(await backends.count()).toBe(5)
    expect(await backends.nth(1).textContent()).toContain('on 57 of 58 nodes')
    // A rate needs two readings.
    await backends.nth(2).locator('td').first().getByText(/\dK$/).waitFor()
    const nodes = detail.getByRole('table', { name: 'On each node' }).getByRole('row')
    expect(await nodes.count()).toBe(61)
    expect(await nodes.nth(1).textContent()).toMatch(/node-7.*connection was refused.*no answer/s)
    expect(await nodes.nth(3).textContent()).toMatch(
      /node-50.*Pending, elsewhere Done.*without 10\.244\.0\.1:8080/s,
    )
    await nodes.nth(3).getByRole('link').click()
    await page.getByRole('navigation', { name: 'This node' }).waitFor()
    expect(page.url()).toMatch(/#\/nodes\/node-50\/services\/shop\/web$/)
  })
})

describe('explain', () => {
  test('finds the node of a Pod, and shows the way', async () => {
    const entered = await enter('#/explain')
    const { page } = entered
    await page.getByRole('textbox', { name: 'From' }).fill('pod/shop/web-5')
    await page.getByLabel('To', { exact: false }).first().fill('10.96.0.1:80')
    await page.keyboard.press('Enter')
    await page.getByText('pod/shop/web-5 is 10.244.5.2 on node-5').waitFor()
    await page.getByText('The connection is established.').waitFor()
    expect(await page.locator('.way .delivered').count()).toBe(4)
    await page.getByRole('textbox', { name: 'From' }).fill('10.244.9.2')
    await page.keyboard.press('Enter')
    await page.getByText('10.244.9.2 on node-9').waitFor()
    expect(pageFaults(entered)).toEqual([])
  })

  test('has the reader choose where no node is found', async () => {
    const { page } = await enter('#/explain?source=203.0.113.5&destination=10.96.0.1%3A80')
    await page.getByText('choose the node on which the connection arrives').waitFor()
    await page.getByLabel('On node').selectOption('node-12')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page.getByText('203.0.113.5 on node-12').waitFor()
    expect(page.url()).toContain('&node=node-12')
  })
})

test('a page that is not seen requests nothing', async () => {
  const { page } = await enter()
  await page.getByText('2 of 60 nodes cannot be read').waitFor()
  await page.evaluate(
    `Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })`,
  )
  // A reading of all nodes that had begun is brought to its end.
  let before = -1
  await expect
    .poll(
      () => {
        const last = before
        before = cluster.requests.length
        return before === last
      },
      { timeout: 20_000, interval: 1_000 },
    )
    .toBe(true)
  await page.waitForTimeout(3_500)
  expect(cluster.requests.length).toBe(before)
  await page.evaluate(
    `delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))`,
  )
  await expect.poll(() => cluster.requests.length, { timeout: 5_000 }).toBeGreaterThan(before + 50)
})

test.each(['light', 'dark'] as const)(
  'axe finds nothing wrong in any view: %s',
  async (colorScheme) => {
    const { page } = await open('', { colorScheme, bypassCSP: true })
    await addAxe(page)
    expect(await axeFaults(page)).toEqual([])
    await signIn(page, TOKENS.reader)
    const views: readonly (readonly [hash: string, seen: string])[] = [
      ['#/nodes', '.rows .state.bad'],
      ['#/nodes/node-7', '.detail pre'],
      ['#/nodes/node-50', '.detail .problem-list'],
      ['#/services', '.rows .row'],
      ['#/services/shop/web', '.service-nodes .differs'],
      ['#/explain?source=pod%2Fshop%2Fweb-5&destination=10.96.0.1%3A80', '.way svg'],
      ['#/nodes/node-34/services', '.rows .row'],
    ]
    for (const [view, seen] of views) {
      await page.evaluate(`location.hash = ${JSON.stringify(view)}`)
      await page.locator(seen).first().waitFor()
      expect({ view, faults: await axeFaults(page) }).toEqual({ view, faults: [] })
    }
  },
)

test('a token that expires leads back to the field, with the reason', async () => {
  const own = await startFakeCluster({ nodes: 3, services: 5 })
  watched = await watchedPage(opened.browser)
  const { page } = watched
  await page.goto(own.url)
  await signIn(page, TOKENS.reader)
  await row(page, 'node-1').waitFor()
  own.expireTokens()
  await page.getByRole('alert').getByText('may have expired').waitFor()
  expect(await page.evaluate('sessionStorage.length')).toBe(0)
  await own.close()
})
