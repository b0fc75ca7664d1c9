import { ChildPeak } from '../daemon/child-peak.ts'
import { memoryOf } from '../daemon/process-tree.ts'
import { firstPacket } from '../measure/first-packet.ts'
import { idle } from '../measure/idle.ts'
import { memoryUse } from '../measure/memory.ts'
import type { IpvsMeasured } from '../report/ipvs/results.ts'
import type { IpvsCellParts, IpvsDraft } from './cell-parts.ts'
import { measureChanges } from './changes-beside-raw.ts'
import { coldStarts } from './cold-starts.ts'
import type { IpvsContext } from './context.ts'
import { clears } from './measure/clear.ts'
import { iptablesBeside } from './measure/iptables-beside.ts'
import { restores } from './measure/raw-fill.ts'
import { watchLatency } from './measure/watch-latency.ts'

/** The size above which restores are measured once, because they take long and vary little. */
const MANY = 1_000

/** Measures all figures of one size. A failure keeps the figures that were measured before it. */
export async function measureIpvsCell(parts: IpvsCellParts): Promise<void> {
  const measured: IpvsDraft = {}
  const cell = { services: parts.cluster.size, measured }
  try {
    for (const [what, step] of steps(parts, measured)) {
      parts.log(what)
      await step()
      parts.save(cell)
    }
  } catch (error) {
    const unfinished = error instanceof Error ? error.message : String(error)
    parts.log(`stopped: ${unfinished}`)
    parts.save({ ...cell, unfinished: unfinished.slice(0, 300) })
  }
}

type Step = readonly [what: string, step: () => Promise<void>]

function steps(parts: IpvsCellParts, measured: IpvsDraft): readonly Step[] {
  const { cluster, folder, repeats } = parts
  const { boundMs, connections, events, fullSync } = repeats
  return [
    [
      'a watch without a daemon',
      async () => addWatch(measured, await watchLatency(parts, events / 2)),
    ],
    ['the daemon', () => withDaemon(parts, measured)],
    ['a watch again', async () => addWatch(measured, await watchLatency(parts, events / 2))],
    [
      'ipvsadm --restore',
      async () => {
        const count = cluster.size > MANY ? 1 : fullSync
        const { fresh, again } = await restores(cluster.size, folder, count)
        if (measured.rawFullSync) measured.rawFullSync = { ...measured.rawFullSync, ipvsadm: fresh }
        measured.rawClear = again
      },
    ],
    [
      'the iptables mode beside',
      async () => {
        const beside = { cluster, folder, serial: parts.freshSerial(), connections, boundMs }
        measured.iptables = await iptablesBeside(beside)
      },
    ],
  ]
}

async function withDaemon(parts: IpvsCellParts, measured: IpvsDraft): Promise<void> {
  const { repeats, log } = parts
  const context = await coldStarts(parts, measured)
  const children = new ChildPeak(context.daemon.pid)
  try {
    const afterSync = memoryOf(context.daemon.pid)?.peak ?? 0
    log('idle')
    measured.idle = await idle(context, repeats.idleSeconds)
    log('connections')
    measured.firstPacket = firstPacket(context, repeats.connections)
    await measureChanges(context, { measured, repeats, log })
    log('ipvsadm -C')
    measured.clear = await clears(context, repeats.clears)
    measured.memory = await memoryUse(context, children, afterSync)
    for (const complaint of context.daemon.complaints()) log(`the daemon logged: ${complaint}`)
  } finally {
    children.stop()
    await leave(context)
  }
}

async function leave({ daemon, view, topology }: IpvsContext): Promise<void> {
  await daemon.stop()
  view.close()
  topology.remove()
}

function addWatch(measured: IpvsDraft, more: IpvsMeasured['watch']): void {
  const before = measured.watch ?? { fromSent: [], fromAnswered: [] }
  measured.watch = {
    fromSent: [...before.fromSent, ...more.fromSent],
    fromAnswered: [...before.fromAnswered, ...more.fromAnswered],
  }
}
