import { expect, test } from 'vitest'
import type { Clock } from '../../lib/clock.ts'
import { NLM_F_DUMP_INTR, NLMSG_DONE } from './message.ts'
import { NetlinkSession } from './session.ts'
import { errorMessage, FakeTransport, incoming } from './testing/fake-transport.ts'

const message = { type: 0x101, flags: 0, payload: Buffer.alloc(4) }
const seqOf = (bytes: Buffer) => bytes.readUInt32LE(8)
const object = (seq: number, value: number, flags = 2) =>
  incoming({ type: 0x100, flags, payload: Buffer.from([value, 0, 0, 0]) }, seq)
const done = (seq: number, flags = 2) =>
  incoming({ type: NLMSG_DONE, flags, payload: Buffer.alloc(4) }, seq)

function setUp() {
  const waiting: { ms: number; task: () => void }[] = []
  const clock: Clock = {
    now: () => 0,
    after(ms, task) {
      const timer = { ms, task }
      waiting.push(timer)
      return () => void waiting.splice(waiting.indexOf(timer), waiting.includes(timer) ? 1 : 0)
    },
  }
  const transport = new FakeTransport()
  const session = new NetlinkSession(transport.open, clock)
  const elapse = () => waiting.splice(0).forEach(({ task }) => task())
  return { transport, session, elapse, waiting }
}

test('a batch requests one acknowledgement and reports the errno of each refused message', async () => {
  const { transport, session } = setUp()
  transport.onSend = (bytes) => {
    const first = seqOf(bytes)
    transport.receive(Buffer.concat([errorMessage(first + 1, 2), errorMessage(first + 2, 0)]))
  }
  expect(await session.batch([message, message, message])).toEqual(new Map([[1, 2]]))
  const sent = transport.sent[0] ?? Buffer.alloc(0)
  expect([0, 20, 40].map((at) => sent.readUInt16LE(at + 6))).toEqual([1, 1, 5])
  expect(await session.batch([])).toEqual(new Map())
})

test('a dump visits every object and ignores answers to others', async () => {
  const { transport, session } = setUp()
  transport.onSend = (bytes) => {
    const seq = seqOf(bytes)
    transport.receive(Buffer.concat([object(seq, 1), object(seq + 9, 66), object(seq, 2)]))
    transport.receive(Buffer.concat([object(seq, 3), done(seq)]))
  }
  const seen: number[] = []
  const visit = ({ payload }: { payload: Buffer }) => void seen.push(payload[0] ?? -1)
  expect(await session.dump(message, () => visit)).toBe(0)
  expect(seen).toEqual([1, 2, 3])
})

test('a refused dump is an errno', async () => {
  const { transport, session } = setUp()
  transport.onSend = (bytes) => transport.receive(errorMessage(seqOf(bytes), 95))
  expect(await session.dump(message, () => () => undefined)).toBe(95)
})

test('a dump that changed while it ran is repeated, and finds what there is then', async () => {
  const { transport, session } = setUp()
  transport.onSend = (bytes) => {
    const [value, flags] = transport.sent.length === 1 ? [1, NLM_F_DUMP_INTR] : [2, 0]
    transport.receive(Buffer.concat([object(seqOf(bytes), value, flags), done(seqOf(bytes))]))
  }
  let seen: number[] = []
  const errno = await session.dump(message, () => {
    seen = []
    return ({ payload }) => seen.push(payload[0] ?? -1)
  })
  expect([errno, seen, transport.sent.length]).toEqual([0, [2], 2])
})

test('after an overrun the queue drains before the request is repeated', async () => {
  const { transport, session, elapse, waiting } = setUp()
  transport.onSend = (bytes) => {
    if (transport.sent.length === 1) transport.overrun()
    else transport.receive(errorMessage(seqOf(bytes), 0))
  }
  const answer = session.transact([message])
  await expect.poll(() => waiting.map(({ ms }) => ms)).toEqual([20])
  expect(transport.sent).toHaveLength(1)
  elapse()
  expect(await answer).toEqual({ refusals: new Map(), repeated: true })
  expect(transport.sent).toHaveLength(2)
})

test('a dump that is interrupted at every attempt ends with an error', async () => {
  const { transport, session } = setUp()
  transport.onSend = (bytes) => transport.receive(done(seqOf(bytes), NLM_F_DUMP_INTR))
  const dump = session.dump(message, () => () => undefined)
  await expect(dump).rejects.toMatchObject({ code: 'NP_KERNEL_NETLINK' })
})

test('a request without an answer ends with an error, and the next one works', async () => {
  const { transport, session, elapse, waiting } = setUp()
  const answer = session.batch([message]).catch((error: unknown) => error)
  await expect.poll(() => waiting.length).toBe(1)
  elapse()
  elapse()
  expect(await answer).toMatchObject({ code: 'NP_KERNEL_NETLINK' })
  transport.onSend = (bytes) => transport.receive(errorMessage(seqOf(bytes), 0))
  expect(await session.batch([message])).toEqual(new Map())
})

test('requests wait for each other', async () => {
  const { transport, session } = setUp()
  const answers = [session.batch([message]), session.batch([message])]
  await expect.poll(() => transport.sent.length).toBe(1)
  transport.receive(errorMessage(1, 0))
  await expect.poll(() => transport.sent.length).toBe(2)
  transport.receive(errorMessage(2, 17))
  expect(await Promise.all(answers)).toEqual([new Map(), new Map([[0, 17]])])
})

test('closing fails the request under way', async () => {
  const { transport, session } = setUp()
  const answer = session.batch([message]).catch((error: unknown) => error)
  await expect.poll(() => transport.sent.length).toBe(1)
  session.close()
  expect(await answer).toMatchObject({ code: 'NP_KERNEL_NETLINK' })
  expect(transport.closed).toBe(true)
})

test('refusals that overrun the socket are requested again in halves, in order', async () => {
  const { transport, session, elapse, waiting } = setUp()
  transport.onSend = (bytes) => {
    const first = seqOf(bytes)
    const count = bytes.length / 20
    if (count > 2) return transport.overrun()
    const errors = Array.from({ length: count }, (_, i) => errorMessage(first + i, 17))
    transport.receive(Buffer.concat(errors))
  }
  const answer = session.transact(Array.from({ length: 5 }, () => message))
  for (const ms of [20, 40]) {
    await expect.poll(() => waiting.map((timer) => timer.ms)).toEqual([ms])
    elapse()
  }
  const { refusals, repeated } = await answer
  expect(repeated).toBe(true)
  expect([...refusals.keys()]).toEqual([0, 1, 2, 3, 4])
  expect([...refusals.values()].every(({ errno }) => errno === 17)).toBe(true)
  expect(transport.sent.map((bytes) => bytes.length / 20)).toEqual([5, 2, 3, 1, 2])
})

test('a batch whose answers all arrived is not reported as repeated', async () => {
  const { transport, session } = setUp()
  transport.onSend = (bytes) => transport.receive(errorMessage(seqOf(bytes), 17))
  const refusal = { errno: 17, text: undefined }
  const answer = { refusals: new Map([[0, refusal]]), repeated: false }
  expect(await session.transact([message])).toEqual(answer)
  expect(await session.transact([])).toEqual({ refusals: new Map(), repeated: false })
})

test('a single request visits its answer and returns its error', async () => {
  const { transport, session } = setUp()
  const seen: number[] = []
  transport.onSend = (bytes) => {
    const seq = seqOf(bytes)
    transport.receive(Buffer.concat([object(seq, 7, 0), errorMessage(seq, 0)]))
  }
  const visit = ({ payload }: { payload: Buffer }) => seen.push(payload[0] ?? -1)
  expect(await session.request(message, visit)).toBeUndefined()
  expect(transport.sent[0]?.readUInt16LE(6)).toBe(5)
  transport.onSend = (bytes) => transport.receive(errorMessage(seqOf(bytes), 3))
  expect(await session.request(message, visit)).toEqual({ errno: 3, text: undefined })
  expect(seen).toEqual([7])
})

test('an answer that arrived while the process was suspended is read before the timeout', async () => {
  const { transport, session, elapse, waiting } = setUp()
  const answer = session.batch([message])
  await expect.poll(() => waiting.map(({ ms }) => ms)).toEqual([5000])
  elapse()
  expect(waiting.map(({ ms }) => ms)).toEqual([100])
  transport.receive(errorMessage(1, 0))
  elapse()
  expect(await answer).toEqual(new Map())
})
