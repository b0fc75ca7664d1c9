import { describe, expect, it, test } from 'vitest'
import { type ApiResult, statusFailure } from '../../client/http/failure.ts'
import { eventually } from '../../client/testing/eventually.ts'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import { type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import type { ServiceKey } from '../../resources/types.ts'
import { eventSender, NodeEvents } from './node-events.ts'
import * as warnings from './warnings.ts'

const START = Date.UTC(2026, 0, 1)
const CART = warnings.serviceReference('shop/cart' as ServiceKey, 'u-1')

function recorder(send?: (event: JsonObject) => Promise<void>) {
  let now = START
  const sent: JsonObject[] = []
  const outcomes: string[] = []
  const events = new NodeEvents({
    clock: { now: () => now, after: () => () => {} },
    nodeName: 'node-1',
    send: send ?? (async (event) => void sent.push(event)),
    onOutcome: (_reason, outcome) => outcomes.push(outcome),
  })
  const pass = (ms: number) => {
    now += ms
  }
  return { events, sent, outcomes, pass }
}

const rejected = (why: string) => warnings.objectRejected(CART, why)

describe('NodeEvents', () => {
  it('posts an Event about the object', () => {
    const { events, sent } = recorder()
    events.warn(warnings.nodePortShadowsSocket(CART, { nodePort: 30_080, protocol: 'TCP' }))
    expect(sent).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: {
          name: `cart.${START.toString(16)}0001`,
          namespace: 'shop',
        },
        involvedObject: {
          apiVersion: 'v1',
          kind: 'Service',
          name: 'cart',
          namespace: 'shop',
          uid: 'u-1',
        },
        type: 'Warning',
        reason: 'NodePortInUse',
        message: expect.stringContaining('TCP port 30080'),
        source: { component: 'node-proxy', host: 'node-1' },
        reportingComponent: 'node-proxy',
        reportingInstance: 'node-1',
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-01T00:00:00Z',
        count: 1,
      },
    ])
  })

  it('counts a repeated warning and sends it again after ten minutes, with its count', () => {
    const { events, sent, outcomes, pass } = recorder()
    for (let i = 0; i < 5; i++) events.warn(rejected('x'))
    pass(600_000 - 1)
    events.warn(rejected('x'))
    expect(sent).toHaveLength(1)
    pass(1)
    events.warn(rejected('x'))
    expect(sent[1]).toMatchObject({ count: 7, firstTimestamp: '2026-01-01T00:00:00Z' })
    expect(outcomes.filter((outcome) => outcome === 'suppressed')).toHaveLength(5)
  })

  it('sends 25 warnings at once, and then one in ten seconds', () => {
    const { events, sent, pass } = recorder()
    for (let i = 0; i < 5_000; i++) events.warn(rejected(`reason ${i}`))
    expect(sent).toHaveLength(25)
    pass(30_000)
    for (let i = 0; i < 100; i++) events.warn(rejected(`later ${i}`))
    expect(sent).toHaveLength(28)
    expect(new Set(sent.map((event) => stringAt(event, 'metadata', 'name'))).size).toBe(28)
  })

  it('sends a warning that the rate limit suppressed when it is repeated later', () => {
    const { events, sent, pass } = recorder()
    for (let i = 0; i < 26; i++) events.warn(rejected(`reason ${i}`))
    pass(10_000)
    events.warn(rejected('reason 25'))
    expect(sent.at(-1)).toMatchObject({ message: expect.stringContaining('reason 25'), count: 2 })
  })

  it('reports an Event that could not be sent as failed', async () => {
    const { events, outcomes } = recorder(() => Promise.reject(new Error('403')))
    events.warn(rejected('x'))
    await expect.poll(() => outcomes).toEqual(['failed'])
  })
})

describe('an event', () => {
  it('about the Node is in the namespace default', () => {
    const { events, sent } = recorder()
    events.warn(warnings.objectRejected(warnings.nodeReference('node-1'), 'x'))
    expect(sent[0]).toMatchObject({
      metadata: { namespace: 'default' },
      involvedObject: { kind: 'Node', name: 'node-1', uid: 'node-1' },
    })
    expect(objectAt(sent[0], 'involvedObject')).not.toHaveProperty('namespace')
  })

  it('has a name and a message within the limits of the API, and no control characters', () => {
    const { events, sent } = recorder()
    const name = 'x'.repeat(253)
    const evil = '\u009b\u001b[2J\n'.repeat(1_000)
    events.warn(warnings.objectRejected({ ...CART, name }, evil))
    expect(stringAt(sent[0], 'metadata', 'name')).toHaveLength(253)
    expect(stringAt(sent[0], 'message').length).toBeLessThanOrEqual(1_024)
    expect(stringAt(sent[0], 'message')).not.toMatch(/\p{Cc}/u)
  })
})

it.each([
  warnings.externalIPShadowsSocket(CART, {
    ip: parseIp('192.0.2.1') as IpAddress,
    port: 80,
    protocol: 'TCP',
  }),
  warnings.healthCheckBlocked(CART, 'port 3 is taken'),
  warnings.frontendConflict(CART, { frontend: '192.0.2.1:80/TCP', winner: 'a/b' as ServiceKey }),
  warnings.addressRefused(CART, { ip: '127.0.0.1', why: 'loopback' }),
])('$reason is in UpperCamelCase, and its message is a sentence', ({ reason, message }) => {
  expect(reason).toMatch(/^([A-Z][a-zA-Z]+)+$/)
  expect(message).toMatch(/^[A-Z0-9].*\.$/)
})

const FORBIDDEN = { kind: 'Status', reason: 'Forbidden' }
const OK: ApiResult<unknown> = { ok: true, value: {} }

test.each<[string, ApiResult<unknown>, readonly string[]]>([
  ['that the server stores is reported as a success', OK, ['events succeeded']],
  [
    'that the server refuses is reported as a failure',
    { ok: false, failure: statusFailure(403, { ...FORBIDDEN, message: 'no permission' }) },
    ['create events: no permission'],
  ],
  [
    'refused because its namespace is being deleted is not reported',
    {
      ok: false,
      failure: statusFailure(403, { ...FORBIDDEN, message: 'because it is being terminated' }),
    },
    [],
  ],
])('an Event %s', async (_, answer, expected) => {
  const outcomes: string[] = []
  let isDone = false
  const events = eventSender({
    client: { create: () => Promise.resolve(answer) },
    clock: new FakeClock(),
    nodeName: 'node-1',
    metrics: { events: { inc: () => (isDone = true) } as never },
    apiFailures: {
      failed: ({ verb, resource }, { message }) =>
        void outcomes.push(`${verb} ${resource}: ${message}`),
      succeeded: (resource) => void outcomes.push(`${resource} succeeded`),
    },
  })
  const regarding = { apiVersion: 'v1', kind: 'Service', namespace: 'shop', name: 'web', uid: 'u1' }
  events.warn({ regarding, reason: 'Conflict', message: 'taken' })
  await eventually(() => isDone)
  expect(outcomes).toEqual(expected)
})
