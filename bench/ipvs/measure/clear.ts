import { setTimeout as delay } from 'node:timers/promises'
import type { Clear } from '../../report/ipvs/results.ts'
import type { IpvsContext } from '../context.ts'
import { spread } from '../kernel-view.ts'
import { clearAll } from '../raw/ipvsadm.ts'
import { demandAll } from './full-sync.ts'

const NOTICED = 'another process changed the rules of node-proxy'
const POLL_MS = 10
const BOUND_MS = 60_000
const MAX_ATTEMPTS = 5

/** Another process repeatedly runs `ipvsadm -C`, and each time the daemon restores everything. */
export async function clears(context: IpvsContext, count: number): Promise<Clear> {
  const toNotice: number[] = []
  const toRepair: number[] = []
  for (let n = 0; n < count; n++) {
    const { notice, repair } = await clearOnce(context)
    toNotice.push(notice)
    toRepair.push(repair)
  }
  return { toNotice, toRepair }
}

async function clearOnce(context: IpvsContext) {
  const clearedAt = await clearUnseen(context)
  const noticedAt = await logTime(() => context.daemon.loggedAt(NOTICED, clearedAt))
  const repair = (await repaired(context)) - noticedAt
  demandAll(context.view, context.cluster.size)
  await delay(repair * 1.5 + 1_500)
  return { notice: noticedAt - clearedAt, repair }
}

/** The moment at which virtual servers spread over the cluster are complete again. */
async function repaired({ cluster, view }: IpvsContext): Promise<number> {
  const limits = { timeoutMs: BOUND_MS, pauseMs: POLL_MS }
  const repairedAt = await view.seen(spread(cluster.size), limits)
  if (repairedAt === undefined) throw new Error(`not repaired within ${BOUND_MS / 1_000} s`)
  return repairedAt
}

/** Clears between two checks by the daemon, which would otherwise repair while ipvsadm still runs. */
async function clearUnseen(context: IpvsContext) {
  const { topology, view } = context
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    const clearedAt = clearAll(topology.node)
    if (!view.exists(0)) return clearedAt
    await repaired(context)
  }
  throw new Error(`ipvsadm -C left a virtual server, ${MAX_ATTEMPTS} times`)
}

async function logTime(read: () => number | undefined): Promise<number> {
  const deadline = performance.now() + BOUND_MS
  while (performance.now() < deadline) {
    const at = read()
    if (at !== undefined) return at
    await delay(POLL_MS)
  }
  throw new Error(`the daemon did not notice within ${BOUND_MS / 1_000} s`)
}
