import { expect, test } from 'vitest'
import type { Clock } from '../../lib/clock.ts'
import {
  decodeMessages,
  type NetlinkMessage,
  NLM_F_DUMP_INTR,
  NLMSG_DONE,
  type OutgoingMessage,
} from '../netlink/message.ts'
import { errorMessage, FakeTransport, incoming } from '../netlink/testing/fake-transport.ts'
import { encodeRouteAdd, encodeRouteDelete, NetlinkRoutes } from './netlink-routes.ts'
import type { PolicyRoute } from './routes.ts'
import { encodeRuleAdd, encodeRuleDelete } from './rule-message.ts'

const route: PolicyRoute = { family: 4, mark: 1, mask: 3, table: 100, priority: 7 }
const RULE = 'ip -4 rule add fwmark 0x1/0x3 lookup 100 priority 7'
const ROUTE = 'ip -4 route add local default dev lo table 100'
const [NEWROUTE, DELROUTE, GETROUTE, NEWRULE, DELRULE, GETRULE] = [24, 25, 26, 32, 33, 34]
const EEXIST = 17

/** Refuses a message with the errno that `answer` gives, and lists `held` on request. */
function setUp(
  answer: (message: NetlinkMessage) => number = () => 0,
  held: readonly OutgoingMessage[] = [],
) {
  const timers: (() => void)[] = []
  const clock: Clock = {
    now: () => 0,
    after: (ms, task) => (ms === 100 && timers.push(task), () => undefined),
  }
  const transport = new FakeTransport()
  const requests: number[] = []
  let flags = 2
  transport.onSend = (bytes) => {
    const messages = [...decodeMessages(bytes)]
    for (const message of messages) {
      const { type, seq } = message
      requests.push(type)
      const errno = answer(message)
      if (errno !== 0) transport.receive(errorMessage(seq, errno))
      else if (type === GETROUTE || type === GETRULE) {
        const kind = type === GETRULE ? NEWRULE : NEWROUTE
        for (const each of held.filter((one) => one.type === kind)) {
          transport.receive(incoming({ ...each, flags }, seq))
        }
        transport.receive(incoming({ type: NLMSG_DONE, flags, payload: Buffer.alloc(4) }, seq))
        flags = 2
      } else if (message === messages.at(-1)) transport.receive(errorMessage(seq, 0))
    }
  }
  return {
    transport,
    timers,
    requests,
    interrupt: () => (flags = NLM_F_DUMP_INTR),
    routes: new NetlinkRoutes(transport.open, clock),
  }
}

test('ensure adds rule and route in one datagram, and returns those that were missing', async () => {
  const { routes, transport } = setUp()
  expect(await routes.ensure(route)).toEqual([RULE, ROUTE])
  expect(transport.sent).toHaveLength(1)
  const held = [encodeRuleAdd(route), encodeRouteAdd(route)]
  const missing = (type: number) =>
    setUp((message) => (message.type === type ? EEXIST : 0), held).routes.ensure(route)
  expect(await missing(NEWRULE)).toEqual([ROUTE])
  expect(await missing(NEWROUTE)).toEqual([RULE])
})

test('another rule or route that is in the way is an error', async () => {
  const { routes } = setUp(({ type }) => (type === NEWROUTE ? EEXIST : 0))
  await expect(routes.ensure(route)).rejects.toMatchObject({
    code: 'NP_KERNEL_ROUTE',
    message: `${ROUTE}: EEXIST`,
    hint: expect.stringContaining('another rule or default route') as string,
  })
})

test('a refusal is an error also if the rule existed before', async () => {
  const held = [encodeRuleAdd(route), encodeRouteAdd(route)]
  const { routes } = setUp(({ type }) => (type === NEWRULE ? 1 : 0), held)
  await expect(routes.ensure(route)).rejects.toThrow(`${RULE}: EPERM`)
})

test.each([
  [1, 'run with CAP_NET_ADMIN'],
  [95, 'the kernel needs CONFIG_IP_MULTIPLE_TABLES for each family'],
  [12, undefined],
])('errno %i is an error with a hint', async (errno, hint) => {
  const { routes } = setUp(() => errno)
  const error = { code: 'NP_KERNEL_ROUTE', hint }
  await expect(routes.ensure(route)).rejects.toMatchObject(error)
  await expect(routes.remove(route)).rejects.toMatchObject(error)
  await expect(routes.holds(route)).rejects.toMatchObject(error)
})

test('removing an absent rule is no error, and a table that another own rule needs keeps its route', async () => {
  const gone = setUp(({ type }) => (type === DELRULE ? 2 : type === DELROUTE ? 3 : 0))
  await gone.routes.remove(route)
  expect(gone.requests).toEqual([DELRULE, GETRULE, DELROUTE])
  const shared = setUp(() => 0, [encodeRuleAdd({ ...route, mark: 2 })])
  await shared.routes.remove(route)
  expect(shared.requests).toEqual([DELRULE, GETRULE])
})

test('a family that the kernel does not have has no routes, and adding one is an error', async () => {
  const held = [encodeRuleAdd(route)]
  const { routes } = setUp(({ payload }) => (payload[0] === 10 ? 97 : 0), held)
  const six = { ...route, family: 6 } as const
  expect(await routes.list()).toEqual([route])
  expect(await routes.holds(six)).toBe(false)
  await routes.remove(six)
  await expect(routes.ensure(six)).rejects.toMatchObject({
    hint: 'the kernel has no such address family',
  })
})

test('a route of the other family in the same table is another route', async () => {
  const six = { ...route, family: 6 } as const
  const { routes } = setUp(() => 0, [encodeRuleAdd(route), encodeRouteAdd(six)])
  expect(await routes.holds(route)).toBe(false)
})

test('own rules are listed once, also when the dump was repeated', async () => {
  const foreign = encodeRuleAdd({ ...route, priority: 8 })
  foreign.payload[foreign.payload.length - 4] = 3
  const { routes, requests, interrupt } = setUp(() => 0, [encodeRuleAdd(route), foreign])
  interrupt()
  expect(await routes.list()).toEqual([route])
  expect(requests).toEqual([GETRULE, GETRULE, GETRULE])
  expect(await routes.holds({ ...route, priority: 8 })).toBe(false)
})

test('removals by other processes are reported, several at once as one', () => {
  const { routes, transport, timers } = setUp()
  let calls = 0
  const stop = routes.watch(() => calls++)
  expect([...transport.groups]).toEqual([7, 8, 11, 19])
  const ours = encodeRuleDelete(route)
  const other = { ...ours, payload: Buffer.from(ours.payload) }
  other.payload[other.payload.length - 4] = 3
  for (const message of [encodeRuleAdd(route), encodeRouteAdd(route), other]) {
    transport.receive(incoming(message, 0))
  }
  expect(timers).toEqual([])
  for (const message of [ours, encodeRouteDelete(route)]) transport.receive(incoming(message, 0))
  transport.overrun()
  expect(timers).toHaveLength(1)
  timers.pop()?.()
  expect(calls).toBe(1)
  transport.receive(incoming(encodeRouteDelete(route), 0))
  expect(timers).toHaveLength(1)
  stop()
  expect(transport.closed).toBe(true)
})

test('own removals are not reported', async () => {
  const { routes, transport, timers } = setUp()
  await routes.ensure(route)
  routes.watch(() => undefined)
  transport.receive(incoming(encodeRouteDelete(route), 0, transport.port))
  expect(timers).toEqual([])
  transport.receive(incoming(encodeRouteDelete(route), 0, transport.port + 1))
  expect(timers).toHaveLength(1)
})

test('the socket is opened with the first request and after a close', async () => {
  const { routes, transport } = setUp()
  routes.close()
  expect(transport.closed).toBe(false)
  await routes.ensure(route)
  routes.close()
  expect(transport.closed).toBe(true)
  expect(await routes.ensure(route)).toHaveLength(2)
})
