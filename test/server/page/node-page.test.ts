import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type FakeNode, startFakeNode } from '../../../src/page/testing/fake-node.ts'
import { addAxe, axeFaults } from '../../support/browser/axe-faults.ts'
import { type OpenedBrowser, openBrowser } from '../../support/browser/open-browser.ts'
import { type WatchedPage, watchedPage } from '../../support/browser/watched-page.ts'

/** The page in a real browser, with ten thousand Services of a fake; test/kernel/inspection/page has a real node. */
const HOSTILE = '<img src=x onerror=alert(1)>/"><script>alert(2)</script>'

let node: FakeNode
let opened: OpenedBrowser
let watched: WatchedPage | undefined
beforeAll(async () => {
  node = await startFakeNode({ services: 10_000, names: ['shop/web', HOSTILE] })
  opened = await openBrowser()
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
  await node.close()
})
afterEach(async () => {
  await watched?.page.context().close()
})

async function open(hash = '', options = {}): Promise<WatchedPage> {
  watched = await watchedPage(opened.browser, options)
  await watched.page.goto(node.url + hash)
  return watched
}

function grid(page: Page) {
  return page.getByRole('grid', { name: 'Services' })
}

test('loads from its own origin alone, and without an error', async () => {
  const { page, errors, origins } = await open()
  await page.getByText('10,000 Services').waitFor()
  for (const name of ['Latency', 'Problems', 'Explain']) {
    await page.getByRole('link', { name }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor({ state: 'attached' })
  }
  expect([...origins]).toEqual([new URL(node.url).origin])
  expect(errors).toEqual([])
})

describe('the table', () => {
  test('of ten thousand Services has few rows, which know their place', async () => {
    const { page } = await open()
    await page.getByText('10,000 Services').waitFor()
    expect(await grid(page).getAttribute('aria-rowcount')).toBe('10001')
    expect(await page.locator('.rows .row').count()).toBeLessThan(60)
    await grid(page).evaluate((element) => element.scrollTo(0, element.scrollHeight))
    await page.locator('[aria-rowindex="10001"]').waitFor()
    expect(await page.locator('.rows .row').count()).toBeLessThan(60)
  })

  test('is filtered by words, and by what is wrong', async () => {
    const { page } = await open()
    await page.getByText('10,000 Services').waitFor()
    await page.getByRole('searchbox').fill('billing cart-20')
    await page.getByRole('status').getByText(' of 10,000 Services').waitFor()
    const names = await page.locator('.rows .name').allTextContents()
    expect(names.map((name) => name.trim())).toEqual(expect.arrayContaining(['billing/cart-20']))
    expect(names.every((name) => name.includes('billing/cart-20'))).toBe(true)
    await page.getByRole('searchbox').fill('')
    await page.getByRole('checkbox', { name: /Only problems/ }).check()
    await page.getByText('19 of 10,000 Services').waitFor()
    expect(await page.locator('.rows .state').allTextContents()).not.toContain('Done')
  })

  test('is sorted by what is forwarded, once two readings are there', async () => {
    const { page } = await open()
    await page.locator('.rows .row').first().getByText('KiB').waitFor()
    await page.getByRole('button', { name: 'Traffic/s' }).click()
    const column = page.getByRole('columnheader', { name: 'Traffic/s' })
    expect(await column.getAttribute('aria-sort')).toBe('descending')
    await page.locator('[aria-rowindex="2"]').getByText('MiB').waitFor()
  })
})

test('the keyboard alone: from the top to a Service, its backends, and back', async () => {
  const { page } = await open()
  await page.getByText('10,000 Services').waitFor()
  const focused = () => page.evaluate<string>('document.activeElement.className')
  const active = async () => (await page.locator('.row.active').textContent())?.trim()
  for (let presses = 0; (await focused()) !== 'grid'; presses++) {
    expect(presses).toBeLessThan(20)
    await page.keyboard.press('Tab')
  }
  await page.keyboard.press('End')
  await page.locator('[aria-rowindex="10001"].active').waitFor()
  await page.keyboard.press('Home')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await page.locator('[aria-rowindex="4"].active').waitFor()
  const id = await grid(page).getAttribute('aria-activedescendant')
  expect(await page.locator(`#${id}`).textContent()).toContain(await active())
  await page.keyboard.press('Enter')
  await page.getByRole('complementary').getByRole('table').first().waitFor()
  expect(await page.evaluate('document.activeElement.id')).toBe('detail-title')
  await page.keyboard.press('Escape')
  await page.getByRole('complementary').waitFor({ state: 'detached' })
  expect(await focused()).toBe('grid')
  await page.locator('[aria-rowindex="4"].active').waitFor()
})

test('details: where packets arrive, and what each backend gets', async () => {
  const { page } = await open('#/services/shop/web')
  const detail = page.getByRole('complementary', { name: 'shop/web' })
  await detail.getByText('10.96.0.1:80').waitFor()
  const rows = detail.getByRole('row')
  await rows.nth(1).getByText('23 %').waitFor()
  expect(await rows.count()).toBe(5)
  expect(await rows.nth(1).textContent()).toMatch(/10\.244\.0\.1:8080.*on this node/)
  await rows
    .nth(1)
    .locator('td', { hasText: /^\d+\.\d$/ })
    .waitFor()
})

test('a change appears in the plot and the table while it is looked at', async () => {
  const { page } = await open('#/latency')
  await page.getByRole('img', { name: /Latency of 600 changes over time/ }).waitFor()
  node.change(3, 4_321)
  await page.getByRole('img', { name: /Latency of 601 changes/ }).waitFor()
  expect(await page.getByRole('row').nth(1).textContent()).toContain('4.32 s')
})

describe('explain', () => {
  test('the search box shows the answer, the way as a picture and as text', async () => {
    const { page, errors } = await open('#/explain')
    await page.getByLabel('From').fill('10.0.0.2')
    await page.getByLabel('To', { exact: false }).first().fill('10.96.0.1:80')
    await page.keyboard.press('Enter')
    await page.getByText('The connection is established.').waitFor()
    const picture = page.getByRole('img', { name: /^TCP from 10\.0\.0\.2, to 10\.96\.0\.1:80\./ })
    expect(await picture.locator('.delivered').count()).toBe(4)
    expect(await page.locator('.left-out').textContent()).toContain('10.244.9.9:8080 not ready')
    await page.getByText('The way as text').click()
    await page
      .locator('.way-text')
      .getByText('real server 10.244.0.1:8080, weight 1')
      .first()
      .waitFor()
    expect(page.url()).toContain('destination=10.96.0.1%3A80')
    expect(errors).toEqual([])
  })

  test('a refusal says what to correct', async () => {
    const { page } = await open('#/explain?source=node&destination=10.0.0.1')
    await page.getByText('add the port, as in 10.0.0.1:80').waitFor()
    expect(await page.locator('.failure code').textContent()).toBe('NP_NODEPROXY_USAGE')
  })
})

test('names are text, whatever they hold', async () => {
  const { page, errors } = await open()
  await page.getByText('10,000 Services').waitFor()
  await page.getByRole('searchbox').fill('onerror')
  await page.locator('.rows .name', { hasText: '<img src=x onerror=alert(1)>' }).click()
  expect(await page.locator('.rows img, .rows script').count()).toBe(0)
  node.change(1, 30)
  await page.getByRole('link', { name: 'Latency' }).click()
  await page.getByRole('row').nth(1).getByText('<img src=x').waitFor()
  expect(errors).toEqual([])
})

test.each(['light', 'dark'] as const)(
  'axe finds nothing wrong in any view: %s',
  async (colorScheme) => {
    const { page } = await open('', { colorScheme, bypassCSP: true })
    await addAxe(page)
    const views = ['#/services', '#/services/shop/web', '#/latency', '#/problems']
    for (const view of [...views, '#/explain?source=node&destination=10.96.0.1:80']) {
      await page.evaluate(`location.hash = ${JSON.stringify(view)}`)
      await page.locator('table, .row, .problem-list, .way svg').first().waitFor()
      expect({ view, faults: await axeFaults(page) }).toEqual({ view, faults: [] })
    }
  },
)

test('colours follow the system, and the choice of the reader', async () => {
  const { page } = await open('', { colorScheme: 'dark' })
  const back = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
  expect(await back()).toBe('rgb(18, 22, 28)')
  await page.getByRole('button', { name: 'Colours: system' }).click()
  await page.getByRole('button', { name: 'Colours: light' }).waitFor()
  expect(await back()).toBe('rgb(246, 247, 249)')
  await page.reload()
  await page.getByRole('button', { name: 'Colours: light' }).waitFor()
  expect(await back()).toBe('rgb(246, 247, 249)')
})
