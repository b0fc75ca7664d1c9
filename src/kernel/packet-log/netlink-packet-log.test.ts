import { constants } from 'node:os'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { systemClock } from '../../lib/clock.ts'
import { decodeMessages } from '../netlink/message.ts'
import { errorMessage, FakeTransport } from '../netlink/testing/fake-transport.ts'
import { netlinkPacketLog } from './netlink-packet-log.ts'
import { decodeHeaders } from './packet-headers.ts'

/** Captured: a SYN from ::1 to [::1]:80 with the prefix `egress`, and a datagram of 300 bytes to 127.0.0.1:53. */
const CAPTURED =
  '940000000004000000000000000000000a006e700800010086dd03000b000a00656772657373000008000500000000010800' +
  '0b000000000008000e000000000054000900600f042900280640000000000000000000000000000000010000000000000000' +
  '0000000000000001bff600506bfbef6400000000a002ffc4003000000204ffc40402080aeb596f0d000000000103030a' +
  'cc00000000040000000000000000000002006e70080001000800030013000a00696e67726573732d706f64732d7800000800' +
  '05000000000108000b000000000008000e00000000008400090045000148ed2e400040114e747f0000017f000001e5c70035' +
  `0134ff47${'00'.repeat(100)}` +
  '1400000003000000000000000000000000006e70'
const captured = Buffer.from(CAPTURED, 'hex')
const GROUP = 0x6e70

/** A kernel that answers the configuration with an errno. */
function kernel(errno = 0) {
  const transport = new FakeTransport()
  transport.onSend = (bytes) => {
    const seq = [...decodeMessages(bytes)].at(-1)?.seq ?? 0
    queueMicrotask(() => transport.receive(errorMessage(seq, errno)))
  }
  const seen: unknown[] = []
  const opening = netlinkPacketLog(
    transport.open,
    systemClock,
    GROUP,
  )({
    onPacket: ({ prefix, family, payload }) => {
      seen.push([prefix, decodeHeaders(payload, family), payload.length])
    },
    onLost: () => seen.push('lost'),
  })
  return { transport, seen, opening }
}

test('the group is bound, and 128 bytes of each packet are requested', async () => {
  const { transport, opening } = kernel()
  const close = await opening
  const [bind, mode] = [...decodeMessages(transport.sent[0]!)]
  expect([bind?.type, mode?.type]).toEqual([0x0401, 0x0401])
  expect(bind?.payload.toString('hex')).toBe('00006e700500010001000000')
  expect(mode?.payload.toString('hex')).toBe('00006e700a0002000000008002000000')
  close()
  expect(transport.closed).toBe(true)
})

test('packets of a datagram that a kernel sent are read, and lost ones reported', async () => {
  const { transport, seen, opening } = kernel()
  await opening
  transport.receive(captured)
  transport.overrun()
  expect(seen).toEqual([
    [
      'egress',
      {
        source: '::1',
        destination: '::1',
        protocol: 'TCP',
        ports: { source: 49_142, destination: 80 },
      },
      80,
    ],
    [
      'ingress-pods-x',
      {
        source: '127.0.0.1',
        destination: '127.0.0.1',
        protocol: 'UDP',
        ports: { source: 58_823, destination: 53 },
      },
      128,
    ],
    'lost',
  ])
})

test.each([
  [constants.errno.EPERM, 'another program reads this group'],
  [constants.errno.EINVAL, 'modprobe nfnetlink_log'],
])('a refusal (%s) closes the socket and says what helps', async (errno, hint) => {
  const { transport, opening } = kernel(errno)
  await expect(opening).rejects.toMatchObject({
    code: 'NP_KERNEL_NETLINK',
    hint: expect.stringContaining(hint),
  })
  expect(transport.closed).toBe(true)
})

test('whatever a datagram holds, reading it throws nothing', async () => {
  const { transport, seen, opening } = kernel()
  await opening
  const changes = fc.array(fc.tuple(fc.nat(captured.length - 1), fc.nat(255)), { maxLength: 8 })
  fc.assert(
    fc.property(changes, fc.nat(captured.length), (changed, length) => {
      const bytes = Buffer.from(captured.subarray(0, length))
      for (const [at, value] of changed) if (at < length) bytes[at] = value
      transport.receive(bytes)
    }),
  )
  expect(seen.length).toBeGreaterThan(20)
})
