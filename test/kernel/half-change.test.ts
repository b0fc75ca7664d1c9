import { beforeEach, expect, test } from 'vitest'
import type { TimedReport } from '../support/agent/protocol.ts'
import {
  CHANGING,
  ENDPOINTS,
  FIRST,
  type ServiceChange,
  serviceChanges,
  type Target,
} from '../support/flows/changing-service.ts'
import { deploy, objectsOf } from '../support/flows/deploy.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Changes of the Service; a long measurement sets more: each takes some tens of milliseconds. */
const CHANGES = Number(process.env['NP_CHANGES'] ?? 132)
/** A measurement that takes so long ends earlier. */
const SECONDS = Number(process.env['NP_SECONDS'] ?? Infinity)
const BATCH = { protocol: 'TCP', attempts: 40, parallel: 4, timeoutMs: 10_000 } as const

/**
 * Pods, whom every policy serves at every address. Each connects to one address only: a port of its client that is used again at
 * another address of the same backend may go unheard in ipvs mode (docs/semantics.md, what a mode cannot do).
 */
const CLIENTS = [
  { source: '10.0.0.2', target: 'clusterIP', destination: CHANGING.clusterIP, port: 80 },
  { source: '10.0.0.3', target: 'nodePort', destination: '192.168.0.2', port: CHANGING.nodePort },
] as const

/** A new connection to a Service that is not there is refused, and not passed on to where nothing answers. */
const lab = useLab({ config: { serviceCIDRs: ['172.30.0.0/16', 'fd00:30::/112'] } })
beforeEach(() => lab().reset())

/** A change, from before it was written until it was in the kernel, in milliseconds since the epoch. */
interface Made extends Pick<ServiceChange, 'kind' | 'unserved'> {
  readonly from: number
  readonly to: number
}

/** Makes the changes one after the other. */
async function change(): Promise<readonly Made[]> {
  const made: Made[] = []
  const end = Date.now() + SECONDS * 1000
  for (const { kind, unserved, deployment } of serviceChanges().take(CHANGES)) {
    const from = Date.now()
    if (deployment === undefined) await lab().api.remove('Service', CHANGING.key)
    else await lab().api.apply(...objectsOf(deployment))
    await lab().daemon.synced()
    made.push({ kind, unserved, from, to: Date.now() })
    if (unserved.length === 0 && Date.now() >= end) break
  }
  return made
}

/** A connection without an answer. */
type Unanswered = TimedReport['unanswered'][number] & { readonly target: Target }

/** The changes that were at work at some time of a connection, with the one before them. */
function changesOf({ from, to }: Unanswered, made: readonly Made[]): readonly Made[] {
  return made.filter((one, at) => one.from <= to && from <= (made[at + 1]?.to ?? Infinity))
}

test('no connection is refused or lost while its Service changes', async () => {
  await deploy(lab(), { ...FIRST, endpoints: ENDPOINTS })
  let isOver = false
  const changing = change().finally(() => {
    isOver = true
  })
  let count = 0
  const unanswered: Unanswered[] = []
  const connecting = CLIENTS.map(async ({ target, ...client }) => {
    const { agent } = await lab().site('pod', client.source)
    while (!isOver) {
      const report = await agent.call('connectTimed', { ...BATCH, ...client })
      count += report.attempts
      unanswered.push(...report.unanswered.map((one) => ({ ...one, target })))
    }
  })
  const start = performance.now()
  const [made] = await Promise.all([changing, ...connecting])
  const lost = unanswered.flatMap((one) => {
    const changes = changesOf(one, made)
    const isServed = changes.every(({ unserved }) => !unserved.includes(one.target))
    return isServed ? [{ ...one, during: changes.map(({ kind }) => kind) }] : []
  })
  expect(lost).toEqual([])
  expect(count).toBeGreaterThan(made.length)
  if (process.env['NP_CHANGES'] !== undefined) {
    const seconds = Math.round((performance.now() - start) / 1000)
    const excused = `${unanswered.length} unanswered while no client was served`
    console.info(`${count} connections over ${made.length} changes in ${seconds} s, ${excused}`)
  }
}, 3_600_000)
