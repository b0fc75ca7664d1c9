import { setTimeout as delay } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import {
  connectAll,
  deploySticky,
  ENDPOINTS,
  expectCrowdSticks,
  moved,
} from '../support/affinity/sticky-service.ts'
import { isUserspace } from '../support/lab/daemon-config.ts'
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
}, 60_000)

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
