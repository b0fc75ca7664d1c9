import { setTimeout as delay } from 'node:timers/promises'
import { firstEndpoints } from '../../cluster/objects.ts'
import { cpuSeconds } from '../../daemon/process-tree.ts'
import { kernelClock } from '../../lab/libc.ts'
import { NetlinkTap } from '../../lab/netlink-tap.ts'
import { serviceAddress } from '../../lab/plan.ts'
import { shrinkTo } from '../../measure/add-service.ts'
import { movedServices } from '../../measure/burst.ts'
import { CHANGE_TIMEOUT_MS, pick } from '../../measure/context.ts'
import type { Timed, TimedBurst } from '../../report/ipvs/results.ts'
import { acknowledged, type Coming } from '../acknowledgements.ts'
import type { IpvsContext } from '../context.ts'

interface Change {
  readonly coming: Coming
  readonly write: () => Promise<unknown>
}

/** Replaces one of ten endpoints of a Service by a new one, repeatedly; `first` is the number of the first change. */
export function replaceEndpoints(
  context: IpvsContext,
  { first, count }: { readonly first: number; readonly count: number },
): Promise<Timed> {
  const { cluster, freshAddress } = context
  return series(context, count, (n) => {
    const service = pick(cluster, first + n)
    const fresh = freshAddress()
    const [, ...rest] = cluster.endpointsOf(service)
    return {
      coming: { endpoints: [fresh] },
      write: () => cluster.setEndpoints(service, [...rest, fresh]),
    }
  })
}

/** Adds Services with ten endpoints one by one, and removes them in the end. */
export async function addServices(context: IpvsContext, count: number): Promise<Timed> {
  const { cluster } = context
  const before = cluster.size
  const added = await series(context, count, () => {
    const service = cluster.size
    const coming = { endpoints: firstEndpoints(service), services: [serviceAddress(service)] }
    return { coming, write: () => cluster.addService() }
  })
  await shrinkTo(context, before)
  return added
}

/** Changes all endpoints of many Services at once; all writes are sent together. */
export async function bursts(
  context: IpvsContext,
  changes: number,
  count: number,
): Promise<TimedBurst> {
  const timed = await series(context, count, () => {
    const moved = movedServices(context, changes)
    return {
      coming: { endpoints: moved.flatMap(({ addresses }) => addresses) },
      write: () =>
        Promise.all(
          moved.map(({ service, addresses }) => context.cluster.setEndpoints(service, addresses)),
        ),
    }
  })
  return { changes, ...timed }
}

async function series(
  context: IpvsContext,
  count: number,
  changeOf: (n: number) => Change,
): Promise<Timed> {
  const fromSent: number[] = []
  const fromAnswered: number[] = []
  const tap = new NetlinkTap(context.topology.node)
  const cpuBefore = cpuSeconds(context.daemon.pid)
  try {
    for (let n = 0; n < count; n++) {
      const took = await timeChange(tap, changeOf(n))
      fromSent.push(took.fromSent)
      fromAnswered.push(took.fromAnswered)
    }
  } finally {
    tap.close()
  }
  const cpuSecondsEach = (cpuSeconds(context.daemon.pid) - cpuBefore) / count
  return { fromSent, fromAnswered, cpuSecondsEach }
}

async function timeChange(tap: NetlinkTap, { coming, write }: Change) {
  tap.read()
  const sentAt = kernelClock()
  await write()
  const answeredAt = kernelClock()
  const heldAt = await acknowledged(tap, coming, CHANGE_TIMEOUT_MS)
  if (heldAt === undefined) throw new Error(`a change is not there after ${CHANGE_TIMEOUT_MS} ms`)
  const fromSent = heldAt - sentAt
  await delay(fromSent * 1.5 + REST_MS)
  return { fromSent, fromAnswered: heldAt - answeredAt }
}

/** The daemon pauses for as long as its last run took; the next change must not wait for that. */
const REST_MS = 30
