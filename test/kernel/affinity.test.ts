import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import {
  connectAll,
  deployPorts,
  deploySticky,
  ENDPOINTS,
  expectCrowdSticks,
  moved,
  podsOf,
  TARGETS,
} from '../support/affinity/sticky-service.ts'
import { isIpvs, isUserspace } from '../support/lab/daemon-config.ts'
import { reconfigure } from '../support/lab/reconfigure.ts'
import { useLab } from '../support/lab/use-lab.ts'

const lab = useLab()
beforeEach(() => lab().reset())

test('3,000 clients of one Service are spread evenly, and all stay with their endpoints', async () => {
  await expectCrowdSticks(lab(), 3000)
})

test('a client that keeps coming stays beyond the timeout; an idle one is balanced again', async () => {
  await deploySticky(lab(), 8)
  const clients = await lab().crowd(120)
  const [steady, idle] = [clients.slice(0, 60), clients.slice(60)]
  const first = await connectAll(lab(), steady)
  const firstIdle = await connectAll(lab(), idle)
  for (const round of [1, 2, 3]) {
    await delay(3000)
    expect(moved(first, await connectAll(lab(), steady)), `round ${round}`).toBe(0)
  }
  // In reverse: whatever connected meanwhile, round robin gives only one in three the same again.
  const later = await connectAll(lab(), idle.toReversed())
  expect(moved(firstIdle, later.toReversed())).toBeGreaterThan(0)
})

test('the node port and the ClusterIP share a client’s endpoint', async () => {
  await deploySticky(lab(), undefined)
  const clients = await lab().crowd(30)
  const first = await connectAll(lab(), clients)
  expect(
    moved(first, await connectAll(lab(), clients, { destination: '192.168.0.2', port: 30080 })),
  ).toBe(0)
})

test('when an endpoint leaves, only its own clients move', async () => {
  await deploySticky(lab(), 600)
  const clients = await lab().crowd(90)
  const first = await connectAll(lab(), clients)
  await deploySticky(lab(), 600, ENDPOINTS.slice(1))
  const after = await connectAll(lab(), clients)
  const stayed = first.flatMap((name, index) => (name === '10.180.2.1:80' ? [] : [index]))
  expect(stayed.filter((index) => first[index] !== after[index])).toEqual([])
  expect(new Set(after)).toEqual(new Set(['10.180.2.2:80', '10.180.2.3:80']))
  expect(moved(after, await connectAll(lab(), clients))).toBe(0)
})

test.skipIf(isUserspace())(
  'a restart of the daemon keeps every client at its endpoint',
  async () => {
    await deploySticky(lab(), 600)
    const clients = await lab().crowd(90)
    const first = await connectAll(lab(), clients)
    await lab().daemon.kill()
    await lab().daemon.start()
    await lab().daemon.synced()
    expect(moved(first, await connectAll(lab(), clients))).toBe(0)
  },
)

describe.skipIf(isIpvs())('one Pod for all ports of a Service', () => {
  test('by whichever port, address and protocol a client comes', async () => {
    await deployPorts(lab())
    const clients = await lab().crowd(60)
    const first = podsOf(await connectAll(lab(), clients))
    expect(new Set(first).size).toBe(ENDPOINTS.length)
    const movedAt = new Map<object, number>()
    for (const target of TARGETS) {
      movedAt.set(target, moved(first, podsOf(await connectAll(lab(), clients, target))))
    }
    expect(movedAt).toEqual(new Map(TARGETS.map((target) => [target, 0])))
  })

  test('also where its first port is the second, while a port with other Pods comes', async () => {
    await deployPorts(lab())
    const clients = await lab().crowd(60)
    const first = podsOf(await connectAll(lab(), clients, { port: 81 }))
    const only = ENDPOINTS.slice(0, 1)
    await deployPorts(lab(), { extra: only })
    expect(moved(first, podsOf(await connectAll(lab(), clients)))).toBe(0)
    const extra = podsOf(await connectAll(lab(), clients, { port: 82 }))
    expect(new Set(extra)).toEqual(new Set(only.map(({ ip }) => ip)))
    expect(moved(first, podsOf(await connectAll(lab(), clients, { port: 81 })))).toBe(0)
  })

  test('a client whose Pod leaves gets another one for all ports', async () => {
    await deployPorts(lab())
    const clients = await lab().crowd(60)
    const first = podsOf(await connectAll(lab(), clients))
    await deployPorts(lab(), { endpoints: ENDPOINTS.slice(1) })
    const after = podsOf(await connectAll(lab(), clients, { port: 81 }))
    const stayed = first.flatMap((pod, index) => (pod === ENDPOINTS[0]?.ip ? [] : [index]))
    expect(stayed.filter((index) => first[index] !== after[index])).toEqual([])
    expect(moved(after, podsOf(await connectAll(lab(), clients)))).toBe(0)
  })

  test('a backend for each port, where affinityScope is port', async () => {
    await reconfigure(lab(), { affinityScope: 'port' })
    await deployPorts(lab())
    const clients = await lab().crowd(60)
    const first = podsOf(await connectAll(lab(), clients))
    const second = podsOf(await connectAll(lab(), clients, { port: 81 }))
    expect(moved(first, second)).toBeGreaterThan(0)
    expect(moved(second, podsOf(await connectAll(lab(), clients, { port: 81 })))).toBe(0)
    await reconfigure(lab(), {})
  })
})
