import { memoryOf } from '../daemon/process-tree.ts'
import { addServices } from '../measure/add-service.ts'
import { bursts } from '../measure/burst.ts'
import type { ChangeContext, Observer } from '../measure/context.ts'
import { firstPacket } from '../measure/first-packet.ts'
import { idle } from '../measure/idle.ts'
import { memoryUse } from '../measure/memory.ts'
import { replaceEndpoints } from '../measure/replace-endpoint.ts'
import type { Prober } from '../probe/prober.ts'
import type { NftablesCellParts, NftablesDraft } from './cell-parts.ts'
import { coldStarts } from './cold-starts.ts'
import { ChangeListener } from './kernel/change-listener.ts'
import { counting } from './measure/counting.ts'
import { countObjects } from './measure/objects.ts'
import { stall } from './measure/stall.ts'
import { record } from './raw/recorded.ts'
import type { Running } from './running.ts'

/** The memory of started programs; the mode starts none. */
const NO_CHILDREN = { kib: 0 }

/** The number of Services at which counters are measured. */
const COUNTED_AT = 1_000

/** Measures all figures of one size. A failure keeps the figures that were measured before it. */
export async function measureNftablesCell(parts: NftablesCellParts): Promise<void> {
  const { cluster, log, repeats, save } = parts
  const measured: NftablesDraft = {}
  const cell = { services: cluster.size, endpoints: cluster.endpointsEach, measured }
  try {
    log('the daemon’s transactions')
    const recorded = await record(parts)
    await withDaemon(parts, measured, await coldStarts(parts, measured, recorded))
    save(cell)
    log('what others wait for during a cold start')
    measured.stall = await stall(parts, repeats.fullSync)
    save(cell)
    if (cluster.size === COUNTED_AT) {
      log('what counting costs a packet')
      measured.counting = await counting(parts, repeats.rounds)
      save(cell)
    }
  } catch (error) {
    const unfinished = error instanceof Error ? error.message : String(error)
    log(`stopped: ${unfinished}`)
    save({ ...cell, unfinished: unfinished.slice(0, 300) })
  }
}

async function withDaemon(
  parts: NftablesCellParts,
  measured: NftablesDraft,
  running: Running,
): Promise<void> {
  const { cluster, freshAddress, repeats, log } = parts
  const { daemon, prober, topology } = running
  const listener = new ChangeListener(topology.node)
  try {
    const afterSync = memoryOf(daemon.pid)?.peak ?? 0
    const { elements } = await countObjects(topology.node, cluster)
    if (elements !== measured.objects?.elements)
      throw new Error(`the raw sender wrote ${measured.objects?.elements} elements of ${elements}`)
    log('idle')
    measured.idle = await idle(running, repeats.idleSeconds)
    log('connections')
    measured.firstPacket = firstPacket(running, repeats.connections)
    const context = { cluster, daemon, freshAddress, prober: confirmed(listener, prober) }
    await measureChanges(parts, measured, context)
    measured.memory = await memoryUse(running, NO_CHILDREN, afterSync)
    for (const complaint of daemon.complaints()) log(`the daemon logged: ${complaint}`)
  } finally {
    listener.close()
    await running.stop()
  }
}

async function measureChanges(
  { log, repeats }: NftablesCellParts,
  measured: NftablesDraft,
  context: ChangeContext,
): Promise<void> {
  log(`${repeats.replace} endpoints replaced`)
  measured.replace = await replaceEndpoints(context, repeats.replace)
  log(`${repeats.add} Services added`)
  measured.add = await addServices(context, repeats.add)
  log(`bursts of ${repeats.burst}`)
  measured.burst = await bursts(context, repeats.burst, repeats.bursts)
}

/**
 * An observer whose moment is that of the notification; it then checks that new connections reach what was reported.
 */
function confirmed(listener: ChangeListener, prober: Prober): Observer {
  return {
    async met(targets, options) {
      const at = await listener.met(targets, options)
      const seenAt = at === undefined ? undefined : await prober.met(targets, options)
      return seenAt === undefined ? undefined : at
    },
  }
}
