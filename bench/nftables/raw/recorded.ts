import { setTimeout as delay } from 'node:timers/promises'
import { movedServices } from '../../measure/burst.ts'
import { type ChangeContext, pick, target } from '../../measure/context.ts'
import { timeChange } from '../../measure/replace-endpoint.ts'
import type { NftablesCellParts } from '../cell-parts.ts'
import { ChangeListener } from '../kernel/change-listener.ts'
import type { EncodedTransaction } from '../kernel/netfilter-requests.ts'
import { emptyNode, startRunning } from '../running.ts'
import { Recording } from './recording.ts'

type Transactions = readonly EncodedTransaction[]

/** What a daemon sent: the transactions of its full sync, and those of each change. */
export interface Recorded {
  readonly fullSync: Transactions
  readonly replacements: readonly Transactions[]
  readonly bursts: readonly Transactions[]
}

/** Milliseconds after a change is in force in which the daemon may still remove what led to the old endpoints. */
const REST_MS = 100

/** Starts a daemon that records what it sends, makes changes, and stops it. */
export async function record(parts: NftablesCellParts): Promise<Recorded> {
  const { cluster, freshAddress, repeats } = parts
  const recording = new Recording(parts.folder)
  const { environment } = recording
  const running = await startRunning(parts, emptyNode(parts), { environment })
  const fullSync = recording.take()
  const listener = new ChangeListener(running.topology.node)
  const context = { cluster, freshAddress, daemon: running.daemon, prober: listener }
  try {
    const replacements: Transactions[] = []
    for (let n = 0; n < repeats.rawReplace; n++) {
      const [, ...rest] = cluster.endpointsOf(pick(cluster, n))
      const moved = { service: pick(cluster, n), addresses: [...rest, freshAddress()] }
      replacements.push(await recordChange(context, [moved], recording))
    }
    const bursts: Transactions[] = []
    for (let n = 0; n < repeats.bursts; n++) {
      bursts.push(await recordChange(context, movedServices(context, repeats.burst), recording))
    }
    return { fullSync, replacements, bursts }
  } finally {
    listener.close()
    await running.stop()
  }
}

async function recordChange(
  context: ChangeContext,
  moved: ReturnType<typeof movedServices>,
  recording: Recording,
): Promise<Transactions> {
  const targets = moved.map(({ service, addresses }) => target(service, addresses.at(-1) ?? 0))
  await timeChange(context, targets, () =>
    Promise.all(
      moved.map(({ service, addresses }) => context.cluster.setEndpoints(service, addresses)),
    ),
  )
  await delay(REST_MS)
  return recording.take()
}
