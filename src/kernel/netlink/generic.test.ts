import { constants } from 'node:os'
import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { commandOf, GenericFamily, genericRequest } from './generic.ts'
import { decodeMessages, type NetlinkMessage, NLM_F_DUMP, NLMSG_DONE } from './message.ts'
import { NetlinkSession, type Visit } from './session.ts'
import { errorMessage, FakeTransport, incoming } from './testing/fake-transport.ts'

const { ENOENT, EPERM } = constants.errno
const CONTROLLER = 0x10
/** Recorded from Linux 6.1: CTRL_CMD_NEWFAMILY of IPVS (here without what follows), number 0x1c. */
const NEW_FAMILY = '01020000090002004950565300000000060001001c000000'
const request = genericRequest({ command: 15, version: 1 }, () => undefined)

/** A kernel whose family has a number, or is not there. */
function setUp() {
  const transport = new FakeTransport()
  const kernel = { number: 0x1c as number | undefined, errno: 0, resolutions: 0 }
  const answer = ({ type, flags, seq }: NetlinkMessage) => {
    if (type !== kernel.number) return errorMessage(seq, ENOENT)
    const object = incoming({ type, flags: 0, payload: Buffer.from([14, 1, 0, 0]) }, seq)
    const done = incoming({ type: NLMSG_DONE, flags: 2, payload: Buffer.alloc(4) }, seq)
    return Buffer.concat([
      object,
      (flags & NLM_F_DUMP) > 0 ? done : errorMessage(seq, kernel.errno),
    ])
  }
  const resolve = (seq: number) => {
    kernel.resolutions++
    if (kernel.number === undefined) return errorMessage(seq, ENOENT)
    const payload = Buffer.from(NEW_FAMILY, 'hex')
    payload.writeUInt16LE(kernel.number, 20)
    const family = incoming({ type: CONTROLLER, flags: 0, payload }, seq)
    return Buffer.concat([family, errorMessage(seq, 0)])
  }
  transport.onSend = (bytes) => {
    const messages = [...decodeMessages(bytes)]
    const answers = messages.map((message) =>
      message.type === CONTROLLER ? resolve(message.seq) : answer(message),
    )
    transport.receive(Buffer.concat(answers))
  }
  const session = new NetlinkSession(transport.open, systemClock)
  const missing = () => new NodeProxyError('NP_TEST_MISSING', 'no such family')
  return { transport, kernel, family: new GenericFamily(session, { name: 'IPVS', missing }) }
}

test('requests the number of its family with the bytes that ipvsadm sends, once', async () => {
  const { transport, kernel, family } = setUp()
  const seen: number[] = []
  const visit: Visit = (message) => seen.push(commandOf(message))
  expect(await family.request(request, visit)).toBeUndefined()
  expect(await family.dump(request, () => visit)).toBe(0)
  expect((await family.transact([request])).refusals.size).toBe(0)
  expect(seen).toEqual([14, 14])
  expect(kernel.resolutions).toBe(1)
  expect(transport.sent.slice(0, 2).map((bytes) => bytes.toString('hex'))).toEqual([
    '2000000010000500010000000000000003010000090002004950565300000000',
    '140000001c00050002000000000000000f010000',
  ])
})

test('a family number that the kernel no longer knows is requested again', async () => {
  const { kernel, family } = setUp()
  await family.transact([request])
  for (const [number, send] of [
    [0x1d, () => family.transact([request, request])],
    [0x1e, () => family.request(request, () => undefined)],
    [0x1f, () => family.dump(request, () => () => undefined)],
  ] as const) {
    kernel.number = number
    const answer = await send()
    expect(answer ?? 0).toEqual(number === 0x1d ? { refusals: new Map(), repeated: false } : 0)
  }
  expect(kernel.resolutions).toBe(4)
})

test('a batch of which only some are refused is not sent again', async () => {
  const { transport, kernel, family } = setUp()
  await family.transact([request])
  kernel.errno = ENOENT
  const answers = [errorMessage(3, ENOENT), errorMessage(4, 0)]
  transport.onSend = () => answers.forEach((answer) => transport.receive(answer))
  expect([...(await family.transact([request, request])).refusals.keys()]).toEqual([0])
  expect(kernel.resolutions).toBe(1)
  expect(transport.sent).toHaveLength(3)
})

test('ENOENT of an object is no reason to send again', async () => {
  const { transport, kernel, family } = setUp()
  await family.request(request, () => undefined)
  kernel.errno = ENOENT
  const sent = transport.sent.length
  expect(await family.request(request, () => undefined)).toMatchObject({ errno: ENOENT })
  expect(transport.sent.length - sent).toBe(2)
  expect(kernel.resolutions).toBe(2)
})

test('a kernel without the family is an error of the caller, until it has it', async () => {
  const { kernel, family } = setUp()
  kernel.number = undefined
  const missing = { code: 'NP_TEST_MISSING' }
  await expect(family.dump(request, () => () => undefined)).rejects.toMatchObject(missing)
  kernel.number = 0x1c
  expect(await family.dump(request, () => () => undefined)).toBe(0)
  kernel.number = undefined
  await expect(family.transact([request])).rejects.toMatchObject(missing)
})

test('a refused request for the number is NP_KERNEL_NETLINK', async () => {
  const { transport, family } = setUp()
  transport.onSend = (bytes) => transport.receive(errorMessage(bytes.readUInt32LE(8), EPERM))
  await expect(family.transact([request])).rejects.toMatchObject({
    code: 'NP_KERNEL_NETLINK',
    message: 'netlink family IPVS not found: EPERM',
  })
})
