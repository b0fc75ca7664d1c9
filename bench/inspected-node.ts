import { join } from 'node:path'
import { replacementAddress } from './lab/plan.ts'
import { busyPercent } from './measure/busy-percent.ts'
import { counter } from './measure/counter.ts'
import { machineFacts } from './measure/machine.ts'
import { emptyNode, type Running, startRunning } from './nftables/running.ts'
import type { Options } from './options.ts'
import { seededCluster } from './seeded-cluster.ts'

/** A daemon of nftables mode that runs with many Services, to be measured while it is read. */
export interface InspectedNode {
  readonly running: Running
  /** Of its inspection service. */
  readonly socket: string
  /** The number of an address for an endpoint that replaces another; a new one for each call. */
  readonly freshAddress: () => number
  /** What results say of the run; `busyPercent`: by what else the machine did before. */
  readonly head: {
    readonly startedAt: string
    readonly machine: ReturnType<typeof machineFacts>
    readonly quick: boolean
    readonly busyPercent: number
    readonly services: number
  }
}

/** Measures such a daemon, and ends it and its API server whatever happens. */
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
