import { beforeEach, expect, test } from 'vitest'
import type { TimedReport } from '../support/agent/protocol.ts'
import {
  changingService,
  ENDPOINTS,
  type ServiceChange,
  type Target,
} from '../support/flows/changing-service.ts'
import { deploy, objectsOf } from '../support/flows/deploy.ts'
import { isIpvs } from '../support/lab/daemon-config.ts'
import { useLab } from '../support/lab/use-lab.ts'

/** Changes of each Service; a long measurement sets more: each takes some tens of milliseconds, and two seconds in ipvs mode. */
const CHANGES = Number(process.env['NP_CHANGES'] ?? (isIpvs() ? 66 : 132))
/** Services that change one after the other, and are written together. */
const SERVICES = Array.from({ length: Number(process.env['NP_SERVICES'] ?? 1) }, (_, number) =>
  changingService(number),
)
/** A measurement that takes so long ends earlier. */
const SECONDS = Number(process.env['NP_SECONDS'] ?? Infinity)
const BATCH = { protocol: 'TCP', attempts: 40, parallel: 4, timeoutMs: 10_000 } as const

/**
 * Pods, whom every policy serves at every address. Each connects to one address only: a port of its client that is used again at
 * another address of the same backend may go unheard in ipvs mode (docs/semantics.md, what a mode cannot do).
 */
const CLIENTS = SERVICES.flatMap(({ key, clusterIP, nodePort }, number) => {
  const source = (serial: number) => `10.0.0.${2 + 2 * number + serial}`
  return [
    { key, source: source(0), target: 'clusterIP', destination: clusterIP, port: 80 },
    { key, source: source(1), target: 'nodePort', destination: '192.168.0.2', port: nodePort },
  ] as const
})

/** A new connection to a Service that is not there is refused, and not passed on to where nothing answers. */
const lab = useLab({ config: { serviceCIDRs: ['172.30.0.0/16', 'fd00:30::/112'] } })
beforeEach(() => lab().reset())

/** A change, from before it was written until it was in the kernel, in milliseconds since the epoch. */
interface Made extends Pick<ServiceChange, 'kind' | 'unserved'> {
  readonly from: number
  readonly to: number
}

/** Makes the changes of all Services by turns; those of each, in their order. */
async function change(): Promise<ReadonlyMap<string, readonly Made[]>> {
  const made = new Map(SERVICES.map(({ key }) => [key, [] as Made[]]))
  const changes = SERVICES.map((service) => ({ key: service.key, next: service.changes() }))
  const end = Date.now() + SECONDS * 1000
  for (let turn = 0; turn < CHANGES; turn++) {
    const from = Date.now()
    const turns = changes.map(({ key, next }) => ({
      key,
      change: next.next().value,
    }))
    for (const { key, change: one } of turns) {
      if (one.deployment === undefined) await lab().api.remove('Service', key)
      else await lab().api.apply(...objectsOf(one.deployment))
    }
    await lab().daemon.synced()
    const to = Date.now()
    for (const { key, change: one } of turns) {
      made.get(key)?.push({ kind: one.kind, unserved: one.unserved, from, to })
    }
    if (turns.every(({ change: one }) => one.unserved.length === 0) && to >= end) break
  }
  return made
}

/** A connection without an answer. */
type Unanswered = TimedReport['unanswered'][number] & {
  readonly key: string
  readonly target: Target
}

/** The changes that were at work at some time of a connection, with the one before them. */
function changesOf({ from, to }: Unanswered, made: readonly Made[]): readonly Made[] {
  return made.filter((one, at) => one.from <= to && from <= (made[at + 1]?.to ?? Infinity))
}

test('no connection is refused or lost while its Service changes', async () => {
  for (const { first } of SERVICES) await deploy(lab(), { ...first, endpoints: ENDPOINTS })
  let isOver = false
  const changing = change().finally(() => {
    isOver = true
  })
  let count = 0
  const unanswered: Unanswered[] = []
  const connecting = CLIENTS.map(async ({ key, target, ...client }) => {
    const { agent } = await lab().site('pod', client.source)
    while (!isOver) {
      const report = await agent.call('connectTimed', { ...BATCH, ...client })
      count += report.attempts
      unanswered.push(...report.unanswered.map((one) => ({ ...one, key, target })))
    }
  })
  const start = performance.now()
  const [made] = await Promise.all([changing, ...connecting])
  const lost = unanswered.flatMap((one) => {
    const changes = changesOf(one, made.get(one.key) ?? [])
    const isServed = changes.every(({ unserved }) => !unserved.includes(one.target))
    return isServed ? [{ ...one, during: changes.map(({ kind }) => kind) }] : []
  })
  expect(lost).toEqual([])
  const changes = [...made.values()].flat().length
  expect(count).toBeGreaterThan(changes)
  if (process.env['NP_CHANGES'] !== undefined) {
    const seconds = Math.round((performance.now() - start) / 1000)
    const excused = `${unanswered.length} unanswered while no client was served`
    console.info(`${count} connections over ${changes} changes in ${seconds} s, ${excused}`)
  }
}, 10_800_000)
