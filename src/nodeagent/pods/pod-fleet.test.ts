import { expect, test } from 'vitest'
import { statusFailure } from '../../client/http/failure.ts'
import type { Cidr } from '../../lib/ip.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { PodAddresses } from '../network/pod-addresses.ts'
import { nodeTools } from '../testing/node-tools.ts'
import { PodFleet } from './pod-fleet.ts'

/** A Pod that cannot be run: its life is all but processes. */
function pod(name: string, spec: JsonObject = {}, metadata: JsonObject = {}): JsonObject {
  return {
    metadata: { name, namespace: 'default', uid: `u-${name}`, resourceVersion: '1', ...metadata },
    spec: { containers: [{ name: 'main', image: 'none' }], ...spec },
  }
}

const HERE = { nodeName: 'node-a' }

function stage(answers: readonly number[] = [], connect = () => Promise.resolve()) {
  const clock = new FakeClock()
  const sent: string[] = []
  const problems: unknown[] = []
  const left: string[] = []
  const statuses = new Map<string, JsonObject>()
  const addresses = new PodAddresses(['10.0.0.0/29' as Cidr])
  const remaining = [...answers]
  const answer = async (verb: string, path: string, body: unknown) => {
    const seen = objectAt(body as JsonObject)
    const object = stringAt(seen, 'spec', 'nodeName') || stringAt(seen, 'preconditions', 'uid')
    if (!path.endsWith('/events')) {
      sent.push(
        [verb, path.replace('/api/v1/namespaces/default/pods/', ''), object].join(' ').trim(),
      )
    }
    const code = path.endsWith('/events') ? 0 : (remaining.shift() ?? 0)
    if (code > 0) return { ok: false, failure: statusFailure(code, {}) } as const
    const status = { ...statuses.get(path), ...objectAt(seen, 'status') }
    statuses.set(path, status)
    return { ok: true, value: { ...seen, status } } as const
  }
  const fleet = new PodFleet({
    client: {
      create: (path, body) => answer('create', path, body),
      patch: (path, body) => answer('patch', path, body),
      remove: (path, body) => answer('remove', path, body),
    },
    tools: nodeTools({
      clock,
      network: {
        connect,
        disconnect: (uid) => Promise.resolve(void left.push(uid)),
        nameOf: () => undefined,
      },
      addresses,
      onError: (error) => problems.push(error),
    }),
    nodeName: 'node-a',
    onError: (error) => problems.push(error),
    onRefused: ({ code }, key) => problems.push(`${key} ${code}`),
  })
  const see = async (key: string, value: JsonObject | undefined): Promise<readonly string[]> => {
    statuses.set(`/api/v1/namespaces/default/pods/${key}/status`, objectAt(value, 'status'))
    fleet.changed([{ key: `default/${key}`, value }])
    await clock.advance(0)
    return sent.splice(0)
  }
  return { clock, fleet, problems, see, sent, left, addresses }
}

test('Pods of the node get a status, others are left alone', async () => {
  const { see } = stage()
  expect(await see('a', pod('a', HERE))).toEqual(['patch a/status'])
  expect(await see('b', pod('b'))).toEqual([])
  expect(await see('c', pod('c', { nodeName: 'node-b' }))).toEqual([])
})

test('a Pod that is deleted ends, and is removed by its uid', async () => {
  const { see } = stage()
  await see('a', pod('a', HERE))
  const metadata = { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 }
  expect(await see('a', pod('a', HERE, metadata))).toContain('remove a u-a')
})

test('a removal that fails is repeated until the Pod is gone', async () => {
  const { see, sent, clock } = stage([0, 0, 500, 409])
  await see('a', pod('a', HERE))
  const metadata = { deletionTimestamp: '2030-01-01T00:00:00Z' }
  expect(await see('a', pod('a', HERE, metadata))).toContain('remove a u-a')
  await clock.advance(1_000)
  expect(sent.splice(0)).toEqual(['remove a u-a'])
  expect(await see('a', undefined)).toEqual([])
  await clock.advance(10_000)
  expect(sent).toEqual([])
})

test('a Pod that only a finalizer keeps is not started again, and needs no address', async () => {
  let connected = 0
  const connect = async (): Promise<void> => void connected++
  const { see, addresses } = stage([], connect)
  const metadata = { deletionTimestamp: '2030-01-01T00:00:00Z', deletionGracePeriodSeconds: 0 }
  const containers = [{ name: 'main', image: 'none', command: ['serve'] }]
  for (const last of [2, 3, 4, 5, 6]) {
    const status = { phase: 'Running', podIPs: [{ ip: `10.0.0.${last}` }] }
    const kept = { ...pod('a', { ...HERE, containers }, metadata), status }
    expect((await see('a', kept)).at(-1)).toBe('remove a u-a')
  }
  expect(addresses.claim('another')).toHaveLength(1)
  expect(connected).toBe(0)
})

test('a status that cannot be written does not keep a Pod from going', async () => {
  const { see, sent, clock } = stage([422, 422, 422, 422])
  await see('a', pod('a', HERE))
  await see('a', pod('a', HERE, { deletionTimestamp: '2030-01-01T00:00:00Z' }))
  await clock.advance(5_000)
  expect(sent).toContain('remove a u-a')
})

test('what a Pod could not be connected to is given back when it goes', async () => {
  const refuse = () => Promise.reject(new Error('no bridge'))
  const { see, addresses, left } = stage([], refuse)
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const main = { name: 'main', image: 'none', command: ['serve'] }
    await see(name, pod(name, { ...HERE, containers: [main] }))
    await see(name, undefined)
  }
  expect(left).toHaveLength(6)
  expect(addresses.claim('another')).toHaveLength(1)
})

test('a Pod that has ended needs no address any more', async () => {
  const { see, addresses } = stage()
  for (const last of [2, 3, 4, 5, 6]) {
    const status = { phase: 'Succeeded', podIPs: [{ ip: `10.0.0.${last}` }] }
    await see(`p${last}`, { ...pod(`p${last}`, HERE), status })
  }
  expect(addresses.claim('another')).toHaveLength(1)
})

test('the address of a Pod that never came back is free when it goes', async () => {
  const { see, addresses } = stage()
  for (const last of [2, 3, 4, 5, 6]) {
    const status = { phase: 'Running', podIPs: [{ ip: `10.0.0.${last}` }] }
    await see(`p${last}`, { ...pod(`p${last}`, HERE), status })
    await see(`p${last}`, undefined)
  }
  expect(addresses.claim('another')).toHaveLength(1)
})

test('a removal that is refused is reported once, and does not keep the node agent from ending', async () => {
  const { see, fleet, problems, clock } = stage([0, 0, 403, 403, 403, 403, 403])
  await see('a', pod('a', HERE))
  await see('a', pod('a', HERE, { deletionTimestamp: '2030-01-01T00:00:00Z' }))
  await clock.advance(3_000)
  expect(problems).toEqual(['default/a 403'])
  const closed = fleet.close(1_000)
  await clock.advance(1_000)
  await closed
})

test('another Pod of the same name is another Pod', async () => {
  const { see } = stage()
  await see('a', pod('a', HERE))
  expect(await see('a', pod('a', HERE, { uid: 'u-2' }))).toEqual(['patch a/status'])
})

test('a heartbeat reaches every Pod', async () => {
  const { see, sent, fleet, clock } = stage()
  const conditions = [{ type: 'Ready', status: 'False', reason: 'NodeStatusUnknown' }]
  await see('a', { ...pod('a', { ...HERE, containers: [] }), status: { conditions } })
  fleet.heard()
  await clock.advance(0)
  expect(sent).toEqual(['patch a/status'])
})

test('closing ends every Pod, leaves the objects and begins none', async () => {
  const { fleet, see, sent } = stage()
  await see('a', pod('a', HERE))
  await fleet.close(1_000)
  expect(await see('b', pod('b', HERE))).toEqual([])
  expect(sent.filter((line) => line.startsWith('remove'))).toEqual([])
})
