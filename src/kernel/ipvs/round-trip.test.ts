import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Family, familyOf, formatIp } from '../../lib/ip.ts'
import type { GenericRequest } from '../netlink/generic.ts'
import { encodeAddServer, encodeAddService } from './commands.ts'
import {
  type Forwarding,
  type IpvsProtocol,
  type RealServer,
  type SchedulerFlag,
  type VirtualServerId,
  type VirtualServerSettings,
  virtualServerKey,
} from './ipvs.ts'
import {
  decodeGetConfig,
  decodeGetInfo,
  decodeGetServers,
  decodeGetService,
  encodeSetConfig,
} from './netlink-ipvs.ts'
import { SENT_BY_KERNEL } from './testing/fixtures.ts'

const FLAGS: readonly SchedulerFlag[] = ['onePacket', 'fallback', 'sourcePort', 'schedulerFlag3']
const FORWARDINGS: readonly Forwarding[] = ['masquerade', 'local', 'tunnel', 'route', 'bypass']

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const family = fc.constantFrom<Family>(4, 6)
const address = (of: Family) => bytes(of === 4 ? 4 : 16).map(formatIp)
const port = fc.nat(0xffff)
const u32 = fc.nat(0xffff_ffff)

const id = family.chain((of): fc.Arbitrary<VirtualServerId> => {
  const protocol = fc.constantFrom<IpvsProtocol>('TCP', 'UDP', 'SCTP')
  return fc.oneof(
    fc.record({ family: fc.constant(of), protocol, ip: address(of), port }),
    fc.record({ family: fc.constant(of), mark: fc.integer({ min: 1, max: 0xffff_ffff }) }),
  )
})

const settingsOf = (of: Family): fc.Arbitrary<VirtualServerSettings> =>
  fc.record({
    scheduler: fc.stringMatching(/^[a-z]{1,15}$/),
    flags: fc.subarray([...FLAGS]),
    persistence: fc.option(
      fc.record({ seconds: u32, prefix: fc.integer({ min: 1, max: of === 4 ? 32 : 128 }) }),
      { nil: undefined },
    ),
  })

const server: fc.Arbitrary<RealServer> = fc.record({
  ip: family.chain(address),
  port,
  weight: u32,
  forwarding: fc.constantFrom(...FORWARDINGS),
  upperThreshold: u32,
  lowerThreshold: u32,
})

/** What is added has the form of what is listed. */
const listed = ({ payload }: GenericRequest) => ({ type: 28, flags: 2, seq: 1, port: 0, payload })

test('a decoded virtual server equals the encoded one', () => {
  const service = id.chain((of) => fc.tuple(fc.constant(of), settingsOf(of.family)))
  fc.assert(
    fc.property(service, ([of, settings]) => {
      const decoded = decodeGetService(listed(encodeAddService(of, settings)))
      expect(decoded).toMatchObject({ id: of, settings })
      expect(decoded && virtualServerKey(decoded.id)).toBe(virtualServerKey(of))
    }),
  )
})

test('a decoded real server equals the encoded one, of either family', () => {
  fc.assert(
    fc.property(id, server, (of, real) => {
      const decoded = decodeGetServers(listed(encodeAddServer(of, real)), of.family)
      expect(decoded).toMatchObject(real)
      expect(decoded && familyOf(decoded.ip)).toBe(familyOf(real.ip))
    }),
  )
})

test('decoded timeouts equal the encoded ones; absent ones are 0', () => {
  fc.assert(
    fc.property(fc.record({ tcp: u32, tcpFin: u32, udp: u32 }, { requiredKeys: [] }), (given) => {
      const decoded = decodeGetConfig(listed(encodeSetConfig(given)))
      expect(decoded).toEqual({ tcp: 0, tcpFin: 0, udp: 0, ...given })
    }),
  )
})

const decoders = [
  decodeGetService,
  decodeGetInfo,
  decodeGetConfig,
  (message: ReturnType<typeof listed>) => decodeGetServers(message, 4),
  (message: ReturnType<typeof listed>) => decodeGetServers(message, 6),
]

/** Nothing that was decoded may stem from behind the end of the message. */
function expectHarmless(payload: Buffer): void {
  for (const decode of decoders) {
    const decoded = decode(listed({ payload }))
    expect(decoded === undefined || typeof decoded === 'object').toBe(true)
    if (decoded !== undefined && 'id' in decoded) virtualServerKey(decoded.id)
  }
}

test('messages that end at any byte are read without an exception', () => {
  for (const body of Object.values(SENT_BY_KERNEL)) {
    const whole = Buffer.from(body, 'hex')
    for (let length = 0; length < whole.length; length++) expectHarmless(whole.subarray(0, length))
  }
})

test('messages with any damaged byte, and random bytes, are read without an exception', () => {
  const damaged = fc
    .tuple(
      fc.constantFrom(...Object.values(SENT_BY_KERNEL)),
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 }),
    )
    .map(([body, changes]) => {
      const payload = Buffer.from(body, 'hex')
      for (const [at, value] of changes) payload[at % payload.length] = value
      return payload
    })
  const noise = fc
    .tuple(fc.constantFrom(1, 5, 12, 14), fc.uint8Array({ maxLength: 120 }))
    .map(([command, rest]) => Buffer.from([command, 1, 0, 0, ...rest]))
  fc.assert(fc.property(fc.oneof(damaged, noise), expectHarmless), { numRuns: 3000 })
})
