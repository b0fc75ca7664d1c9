import { openBrowser } from '../../test/support/browser/open-browser.ts'
import { memoryOf } from '../daemon/process-tree.ts'
import { idle } from '../measure/idle.ts'
import type { Running } from '../nftables/running.ts'
import { count } from '../report/show.ts'
import { scrollTable } from './scroll.ts'

const PAGE = 'http://127.0.0.1:10247/'

/** The cost of the daemon in one round. */
export interface Cost {
  readonly cpuPercent: number
  readonly residentKib: number
}

/** Measures the daemon while nothing changes. */
export async function measureCost({ daemon }: Running, seconds: number): Promise<Cost> {
  const { cpuPercent } = await idle({ daemon }, seconds)
  return { cpuPercent, residentKib: memoryOf(daemon.pid)?.resident ?? Number.NaN }
}

/** Measures the daemon while a browser shows the page, and then the cost of scrolling in the browser. */
export async function measureOpen(running: Running, seconds: number) {
  const { topology, cluster } = running
  await using opened = await openBrowser(['ip', 'netns', 'exec', topology.node])
  const page = await opened.browser.newPage()
  const startedAt = performance.now()
  await page.goto(PAGE)
  await page.getByText(`${count(cluster.size)} Services`).waitFor()
  const openMs = performance.now() - startedAt
  const cost = await measureCost(running, seconds)
  return { cost, openMs, ...(await scrollTable(page)) }
}
