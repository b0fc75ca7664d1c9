import { setTimeout as delay } from 'node:timers/promises'
import type { ViewPrice } from '../../report/ipvs/results.ts'
import type { IpvsContext } from '../context.ts'

const DURATION_MS = 1_000
const NOBODY = 0

/** Looks for something that never comes, as often as during a change. */
export async function viewPrice({ view }: Pick<IpvsContext, 'view'>): Promise<ViewPrice> {
  const before = view.cost
  const startedAt = performance.now()
  await view.seen([{ service: 0, endpoints: [NOBODY] }], DURATION_MS)
  const tookMs = performance.now() - startedAt
  const { looks, busyMs } = view.cost
  const count = looks - before.looks
  await delay(100)
  return { lookMs: (busyMs - before.busyMs) / count, periodMs: tookMs / count }
}
