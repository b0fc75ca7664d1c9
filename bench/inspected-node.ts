import { join } from 'node:path'
import { replacementAddress } from './lab/plan.ts'
import { busyPercent } from './measure/busy-percent.ts'
import { counter } from './measure/counter.ts'
import { machineFacts } from './measure/machine.ts'
import { emptyNode, type Running, startRunning } from './nftables/running.ts'
import type { Options } from './options.ts'
import { seededCluster } from './seeded-cluster.ts'

/** A running daemon in nftables mode with many Services, which is measured while it is read. */
export interface InspectedNode {
  readonly running: Running
  /** The socket of its inspection service. */
  readonly socket: string
  /** The number of an address for a replacing endpoint; a new one at each call. */
  readonly freshAddress: () => number
  /** The head of the results; `busyPercent`: the load of other processes before the run. */
  readonly head: {
    readonly startedAt: string
    readonly machine: ReturnType<typeof machineFacts>
    readonly quick: boolean
    readonly busyPercent: number
    readonly services: number
  }
}

/** Runs a measurement with such a daemon, and always ends the daemon and its API server afterwards. */
export async function onInspectedNode(
  { quick, repeats }: Options,
  { folder, log }: { readonly folder: string; readonly log: (what: string) => void },
  measure: (node: InspectedNode) => Promise<void>,
): Promise<void> {
  const services = quick ? 1_000 : 10_000
  const startedAt = new Date().toISOString().slice(0, 10)
  const busy = await busyPercent()
  const head = { startedAt, machine: machineFacts(), quick, busyPercent: busy, services }
  const cluster = await seededCluster(services)
  const socket = join(folder, 'inspect.sock')
  const [freshSerial, address] = [counter(), counter()]
  const freshAddress = () => replacementAddress(address())
  const parts = { cluster, folder, repeats, log, freshSerial, freshAddress, save: () => undefined }
  const running = await startRunning(parts, emptyNode(parts), {
    settings: { inspection: { socket } },
  })
  try {
    await measure({ running, socket, freshAddress, head })
  } finally {
    await running.stop()
    await cluster.stop()
  }
}
