import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { type Deployment, deploy } from '../support/flows/deploy.ts'
import { proxyMode } from '../support/lab/daemon-config.ts'
import type { EndpointSpec } from '../support/lab/objects.ts'
import { useLab } from '../support/lab/use-lab.ts'

/**
 * Session affinity of Services that change while clients stick to their backends. The clients
 * of another Service stay where they are, whatever happens.
 */
const lab = useLab()

const FAR: readonly EndpointSpec[] = [1, 2, 3].map((n) => ({ ip: `10.180.2.${n}`, node: 'far' }))
/** So many that a random choice misses one of three backends with a probability of 10⁻¹². */
const CLIENTS = 70
const LONG_S = 600
/**
 * IPVS differs in two ways. It remembers a client as long as a connection of his, 10 s after the
 * reset that ends it, so its short timeout is longer. And a client that sticks keeps the timeout
 * that was in force when it came.
 */
const IS_IPVS = proxyMode() === 'ipvs'
const SHORT_S = IS_IPVS ? 12 : 8

const [BYSTANDER, ONE, OTHER] = [1, 2, 3].map(
  (n): Deployment => ({ key: `ns/sticky-${n}`, clusterIP: `172.30.52.${n}`, endpoints: FAR }),
) as [Deployment, Deployment, Deployment]

let clients: readonly string[]
let bystanders: readonly string[]
beforeAll(async () => {
  clients = await lab().crowd(CLIENTS)
  await sticky(BYSTANDER, LONG_S)
  bystanders = await backends(BYSTANDER)
  expect(new Set(bystanders)).toEqual(namesOf(FAR))
})
afterEach(async () => {
  expect(await backends(BYSTANDER)).toEqual(bystanders)
})

const namesOf = (endpoints: readonly EndpointSpec[]) =>
  new Set(endpoints.map(({ ip }) => `${ip}:80`))

function sticky(deployment: Deployment, timeoutSeconds: number): Promise<void> {
  const sessionAffinityConfig = { clientIP: { timeoutSeconds } }
  const spec = { sessionAffinity: 'ClientIP', sessionAffinityConfig }
  return deploy(lab(), { ...deployment, spec })
}

/** The backend of each client, one after the other. */
async function backends({ clusterIP }: Deployment, sources = clients): Promise<string[]> {
  const outcomes = await lab().outside.agent.call('connectEach', {
    protocol: 'TCP',
    sources,
    destination: clusterIP,
    port: 80,
    parallel: 1,
    timeoutMs: 5_000,
  })
  return outcomes.map((outcome) => (outcome.kind === 'answered' ? outcome.name : outcome.kind))
}

/** The same, the last client first: where backends have their turn, one in three meets the same again. */
async function inReverse(service: Deployment, sources = clients): Promise<string[]> {
  return (await backends(service, sources.toReversed())).toReversed()
}

test('a timeout that becomes longer or shorter holds from the next connection on', async () => {
  await sticky(ONE, SHORT_S)
  await sticky(OTHER, LONG_S)
  const newcomers = (await lab().crowd(2 * CLIENTS)).slice(CLIENTS)
  const [one, other] = [await backends(ONE), await backends(OTHER)]
  await sticky(ONE, LONG_S)
  await sticky(OTHER, SHORT_S)
  expect([await backends(ONE), await backends(OTHER)]).toEqual([one, other])
  const [newOne, newOther] = [await backends(ONE, newcomers), await backends(OTHER, newcomers)]
  await delay((SHORT_S + 1) * 1_000)
  expect(await backends(ONE, newcomers)).toEqual(newOne)
  expect(await inReverse(OTHER, newcomers)).not.toEqual(newOther)
  const [remembered, forgotten] = IS_IPVS ? [OTHER, ONE] : [ONE, OTHER]
  const [before, past] = IS_IPVS ? [other, one] : [one, other]
  expect(await backends(remembered)).toEqual(before)
  expect(await inReverse(forgotten)).not.toEqual(past)
})

test('without affinity a client meets all backends; with it again, one', async () => {
  await sticky(ONE, LONG_S)
  const [source = ''] = clients
  const again = Array.from({ length: CLIENTS }, () => source)
  expect(new Set(await backends(ONE, again)).size).toBe(1)
  await deploy(lab(), { ...ONE, spec: { sessionAffinity: 'None' } })
  expect(new Set(await backends(ONE, again))).toEqual(namesOf(FAR))
  await sticky(ONE, LONG_S)
  expect(new Set(await backends(ONE, again)).size).toBe(1)
  const all = await backends(ONE)
  expect(new Set(all)).toEqual(namesOf(FAR))
  expect(await backends(ONE)).toEqual(all)
})

test('clients behind one address share a backend, at the same time and later', async () => {
  await sticky(ONE, LONG_S)
  const { agent } = lab().outside
  for (const source of clients.slice(0, 5)) {
    const request = { protocol: 'TCP', source, destination: ONE.clusterIP, port: 80 } as const
    const { id, alive } = await agent.call('holdOpen', { ...request, count: 6, everyMs: 200 })
    const [name = ''] = Object.keys(alive)
    expect(alive).toEqual({ [name]: 6 })
    expect(await backends(ONE, [source, source])).toEqual([name, name])
    expect((await agent.call('holdEnd', { id, how: 'reset' })).lost).toEqual([])
  }
})

test('a backend that leaves sends its own clients elsewhere, and gets none of the others back', async () => {
  await sticky(ONE, LONG_S)
  const first = await backends(ONE)
  const lost = '10.180.2.1:80'
  await sticky({ ...ONE, endpoints: FAR.slice(1) }, LONG_S)
  const second = await backends(ONE)
  expect(new Set(second)).toEqual(namesOf(FAR.slice(1)))
  const stayed = (after: readonly string[]) =>
    after.map((name, n) => first[n] === lost || name === first[n])
  expect(new Set(stayed(second))).toEqual(new Set([true]))
  await sticky(ONE, LONG_S)
  expect(await backends(ONE)).toEqual(second)
})
