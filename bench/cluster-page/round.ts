import type { Page } from 'playwright-core'
import { signIn } from '../../test/support/browser/enter-cluster.ts'
import { openBrowser } from '../../test/support/browser/open-browser.ts'
import { cpuSeconds, memoryOf } from '../daemon/process-tree.ts'
import { count } from '../report/show.ts'
import { type Frames, readFrames, recordFrames } from './frames.ts'
import type { ServedCluster } from './served-cluster.ts'

/** The cost of the server in a part of a round. */
export interface ServerCost {
  readonly cpuPercent: number
  readonly residentKib: number
}

/** Figures of one round with the page open. */
export interface OpenedRound extends Frames {
  readonly cost: ServerCost
  readonly nodesMs: number
  readonly serviceMs: number
}

/** Long, because reading all nodes may take long on a busy machine. */
const TIMEOUT_MS = 120_000

/** Measures the server while `during` runs. */
export async function measureServer(
  { pid }: Pick<ServedCluster, 'pid'>,
  during: () => Promise<unknown>,
): Promise<ServerCost> {
  const [before, startedAt] = [cpuSeconds(pid), performance.now()]
  await during()
  const elapsed = (performance.now() - startedAt) / 1_000
  return {
    cpuPercent: ((cpuSeconds(pid) - before) / elapsed) * 100,
    residentKib: memoryOf(pid)?.resident ?? Number.NaN,
  }
}

/**
 * Measures the server while a browser reads all nodes `times` times, including the pauses in between. Then the browser
 * opens a Service.
 */
export async function measureOpen(cluster: ServedCluster, times: number): Promise<OpenedRound> {
  await using opened = await openBrowser()
  const context = await opened.browser.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  page.setDefaultTimeout(TIMEOUT_MS)
  await recordFrames(page)
  await page.goto(`${cluster.url}/page/`)
  const nodesMs = await timed(() => showNodes(page, cluster))
  const cost = await measureServer(cluster, () => readAll(page, cluster.nodes * times))
  const serviceMs = await timed(() => showService(page, cluster))
  return { cost, nodesMs, serviceMs, ...(await readFrames(page)) }
}

/** Signs in, and waits until the status of every node is shown. */
async function showNodes(page: Page, { nodes, token }: ServedCluster): Promise<void> {
  await signIn(page, token)
  const figures = page.getByLabel('All nodes', { exact: true })
  await figures.getByText(`${count(nodes)} of ${count(nodes)}`).waitFor()
}

/** Waits until this number of statuses has arrived. */
async function readAll(page: Page, statuses: number): Promise<void> {
  let left = statuses
  await page.waitForEvent('response', (response) => {
    if (response.url().endsWith('/inspection/v1/status')) left--
    return left <= 0
  })
}

/** Opens a Service, and waits until it is read from every node. */
async function showService(page: Page, { nodes, url }: ServedCluster): Promise<void> {
  await page.goto(`${url}/page/#/services/shop/web`)
  await page.getByText(`The sum over ${count(nodes)} of ${count(nodes)} nodes.`).waitFor()
}

async function timed(act: () => Promise<void>): Promise<number> {
  const startedAt = performance.now()
  await act()
  return performance.now() - startedAt
}
