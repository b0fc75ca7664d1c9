import { afterEach, beforeEach, expect, test } from 'vitest'
import { type OpenedBrowser, openBrowser } from '../../support/browser/open-browser.ts'
import { type WatchedPage, watchedPage } from '../../support/browser/watched-page.ts'
import { type Deployment, deploy } from '../../support/flows/deploy.ts'
import { useLab } from '../../support/lab/use-lab.ts'

/** The page that a real daemon serves, in a browser that runs on its node. */
const lab = useLab()
const PAGE = 'http://127.0.0.1:10247/'

const TWO: Deployment = {
  key: 'shop/web',
  clusterIP: '172.30.41.1',
  endpoints: [{ ip: '10.180.0.1' }, { ip: '10.180.2.1', node: 'far' }],
}

let opened: OpenedBrowser
let watched: WatchedPage
beforeEach(async () => {
  await lab().reset()
  await lab().site('pod', '10.0.0.2')
  opened = await openBrowser(['ip', 'netns', 'exec', lab().node.namespace.name])
  watched = await watchedPage(opened.browser)
})
afterEach(async () => {
  await opened[Symbol.asyncDispose]()
})

test('explain, from a link in the details to the answer of the kernel', async () => {
  const { page, errors, origins } = watched
  await deploy(lab(), TWO)
  await page.goto(PAGE)
  await page.getByRole('row', { name: /shop\/web/ }).click()
  const detail = page.getByRole('complementary', { name: 'shop/web' })
  await detail.getByText('10.180.2.1:80').waitFor()
  await detail.getByRole('link', { name: '172.30.41.1:80' }).click()
  await page.getByText('The connection is established.').waitFor()
  const picture = page.getByRole('img', { name: /to 172\.30\.41\.1:80\. 50 %: 10\.180/ })
  expect(await picture.locator('.delivered').count()).toBe(2)
  await page.getByText('The way as text').click()
  expect(await page.locator('.way-text').textContent()).toMatch(
    /iptables nat NPROXY-VIPS.*10\.180\.2\.1/,
  )
  expect([errors, [...origins]]).toEqual([[], ['http://127.0.0.1:10247']])
})

test('what it shows of a packet is what happens to it, and what was changed by hand is named', async () => {
  const { page } = watched
  await deploy(lab(), TWO)
  const drop =
    'nft add table ip mine; nft add chain ip mine f { type filter hook forward priority 0 \\; }'
  await lab().node.namespace.exec([
    'sh',
    '-c',
    `${drop}; nft add rule ip mine f ip daddr 10.180.2.1 drop`,
  ])
  await page.goto(`${PAGE}#/explain?source=10.0.0.2&destination=shop/web`)
  await page.getByText('The kernel does otherwise than node-proxy wants').waitFor()
  expect(await page.locator('.outcomes .silent').textContent()).toContain('50 %')
  expect(await page.locator('.way .silent').count()).toBe(1)
  await lab().node.namespace.exec(['nft', 'delete', 'table', 'ip', 'mine'])
})

test('each backend has the connections that it answered', async () => {
  const { page } = watched
  await deploy(lab(), TWO)
  await page.goto(`${PAGE}#/services/shop/web`)
  const packet = { source: '10.0.0.2', destination: TWO.clusterIP, port: 80, timeoutMs: 5_000 }
  const outcomes = await lab().connect('pod', { ...packet, attempts: 50 })
  const names = outcomes.map((one) => (one.kind === 'answered' ? one.name : one.kind))
  for (const backend of ['10.180.0.1:80', '10.180.2.1:80']) {
    const answered = names.filter((name) => name === backend).length
    expect(answered).toBeGreaterThan(0)
    const row = page.getByRole('row', { name: backend })
    await row.getByText(`${answered}`, { exact: true }).waitFor()
    await row.getByText(`${answered * 2} %`).waitFor()
  }
})

test('a Service that loses its endpoints, and a conflict, appear while the page is open', async () => {
  const { page } = watched
  const spec = { externalIPs: ['1.2.3.9'] }
  await deploy(lab(), { ...TWO, spec })
  await page.goto(PAGE)
  await page.getByRole('row', { name: /shop\/web Done/ }).waitFor()
  await deploy(lab(), { ...TWO, key: 'shop/other', clusterIP: '172.30.41.2', spec, endpoints: [] })
  await page.getByRole('row', { name: /shop\/other/ }).waitFor()
  await page.getByRole('link', { name: /Problems 1/ }).click()
  const conflict = page.getByText(/externalIP 1\.2\.3\.9 port 80 \(TCP\) belongs to shop/)
  await conflict.waitFor()
  expect(await page.locator('.problem-list li').count()).toBe(1)
  await page.getByRole('link', { name: 'Latency' }).click()
  await page
    .getByRole('row', { name: /shop\/other [\d.]+ m?s/ })
    .first()
    .waitFor()
})
