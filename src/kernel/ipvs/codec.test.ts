import { describe, expect, test } from 'vitest'
import { type IpAddress, parseIp } from '../../lib/ip.ts'
import type { GenericRequest } from '../netlink/generic.ts'
import {
  encodeAddServer,
  encodeAddService,
  encodeDeleteServer,
  encodeDeleteService,
  encodeFlush,
  encodeSetServer,
  encodeSetService,
  encodeZero,
} from './commands.ts'
import type { RealServer, VirtualServerSettings } from './ipvs.ts'
import {
  decodeGetConfig,
  decodeGetInfo,
  decodeGetServers,
  decodeGetService,
  encodeGetConfig,
  encodeGetInfo,
  encodeGetServers,
  encodeGetService,
  encodeSetConfig,
} from './netlink-ipvs.ts'
import { DUMPS_OF_IPVSADM, SENT_BY_IPVSADM, SENT_BY_KERNEL } from './testing/fixtures.ts'

const ip = (text: string) => parseIp(text) as IpAddress
const TCP = { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port: 80 } as const
const UDP = { family: 6, protocol: 'UDP', ip: ip('fd00::1'), port: 53 } as const
const SCTP = { family: 4, protocol: 'SCTP', ip: ip('10.96.0.9'), port: 9 } as const
const MARK4 = { family: 4, mark: 1234 } as const
const MARK6 = { family: 6, mark: 1234 } as const
const plain = (scheduler: string): VirtualServerSettings => {
  return { scheduler, flags: [], persistence: undefined }
}
const WRR = { ...plain('wrr'), persistence: { seconds: 300, prefix: 24 } }
const SH: VirtualServerSettings = {
  scheduler: 'sh',
  flags: ['onePacket', 'fallback', 'sourcePort'],
  persistence: { seconds: 60, prefix: 64 },
}
const MH: VirtualServerSettings = { ...plain('mh'), flags: ['sourcePort'] }
const server = (address: string, port: number, more: Partial<RealServer> = {}): RealServer => {
  const thresholds = { upperThreshold: 0, lowerThreshold: 0 }
  return { ip: ip(address), port, weight: 1, forwarding: 'masquerade', ...thresholds, ...more }
}
const THRESHOLDS = { weight: 3, upperThreshold: 100, lowerThreshold: 50 }
const hex = ({ payload }: GenericRequest) => payload.toString('hex')
const message = (body: string) => {
  return { type: 0x1c, flags: 2, seq: 1, port: 0, payload: Buffer.from(body, 'hex') }
}

describe('golden bytes out: what ipvsadm sends', () => {
  test.each<[keyof typeof SENT_BY_IPVSADM, GenericRequest]>([
    ['-A -t 10.96.0.1:80 -s wrr -p 300 -M 255.255.255.0', encodeAddService(TCP, WRR)],
    ['-E -t 10.96.0.1:80 -s rr', encodeSetService(TCP, plain('rr'))],
    ['-A -u [fd00::1]:53 -s sh -b sh-port,sh-fallback -o -p 60 -M 64', encodeAddService(UDP, SH)],
    ['-A -f 1234 -s rr', encodeAddService(MARK4, plain('rr'))],
    ['-A -f 1234 -6 -s mh -b mh-port', encodeAddService(MARK6, MH)],
    ['-A --sctp-service 10.96.0.9:9 -s lc', encodeAddService(SCTP, plain('lc'))],
    ['-L --timeout', encodeGetConfig()],
    ['--set 100 0 30', encodeSetConfig({ tcp: 100, tcpFin: 0, udp: 30 })],
    ['-Z', encodeZero()],
    ['-C', encodeFlush()],
  ])('ipvsadm %s', (command, request) => {
    expect(hex(request)).toBe(SENT_BY_IPVSADM[command])
  })

  test('the requests of ipvsadm -Ln', () => {
    expect(hex(encodeGetInfo())).toBe(DUMPS_OF_IPVSADM.info)
    expect(hex(encodeGetService())).toBe(DUMPS_OF_IPVSADM.services)
    expect(hex(encodeGetServers(TCP))).toBe(DUMPS_OF_IPVSADM.serversOfTcp)
    expect(hex(encodeGetServers(MARK6))).toBe(DUMPS_OF_IPVSADM.serversOfMark6)
  })
})

describe('golden bytes out: no more than ipvsadm sends, which adds settings that do not count', () => {
  test.each<[keyof typeof SENT_BY_IPVSADM, GenericRequest]>([
    [
      '-a -t 10.96.0.1:80 -r 10.1.0.4:8080 -m -w 3 -x 100 -y 50',
      encodeAddServer(TCP, server('10.1.0.4', 8080, THRESHOLDS)),
    ],
    [
      '-e -t 10.96.0.1:80 -r 10.1.0.4:8080 -m -w 0',
      encodeSetServer(TCP, server('10.1.0.4', 8080, { weight: 0 })),
    ],
    [
      '-a -t 10.96.0.1:80 -r [fd00::5]:8080 -i',
      encodeAddServer(TCP, server('fd00::5', 80, { forwarding: 'tunnel' })),
    ],
    ['-a -u [fd00::1]:53 -r [fd00::4]:5353 -m', encodeAddServer(UDP, server('fd00::4', 5353))],
    [
      '-a -f 1234 -r 10.1.0.4:0 -g',
      encodeAddServer(MARK4, server('10.1.0.4', 0, { forwarding: 'route' })),
    ],
    [
      '-d -t 10.96.0.1:80 -r 10.1.0.4:8080',
      encodeDeleteServer(TCP, { ip: ip('10.1.0.4'), port: 8080 }),
    ],
    ['-D -t 10.96.0.1:80', encodeDeleteService(TCP)],
    ['-Z -f 1234', encodeZero(MARK4)],
  ])('ipvsadm %s', (command, request) => {
    const theirs = Buffer.from(SENT_BY_IPVSADM[command], 'hex')
    expect(request.payload.subarray(0, 4)).toEqual(theirs.subarray(0, 4))
    expect(leaves(theirs)).toEqual(expect.arrayContaining(leaves(request.payload)))
  })

  test('a real server, byte for byte', () => {
    expect(hex(encodeAddServer(TCP, server('10.1.0.4', 8080, THRESHOLDS)))).toBe(
      '05010000' +
        '30000180' +
        '0600010002000000' +
        '0600020006000000' +
        '140003000a600001000000000000000000000000' +
        '0600040000500000' +
        '48000280' +
        '06000b0002000000' +
        '140001000a010004000000000000000000000000' +
        '060002001f900000' +
        '0800030000000000' +
        '0800040003000000' +
        '0800050064000000' +
        '0800060032000000',
    )
  })
})

/** Every attribute of the two nested ones: `2.4=03000000`. */
function leaves(payload: Buffer): string[] {
  return attributes(payload.subarray(4)).flatMap(([outer, nested]) => {
    return attributes(nested).map(([type, value]) => `${outer}.${type}=${value.toString('hex')}`)
  })
}

function attributes(bytes: Buffer): [number, Buffer][] {
  const found: [number, Buffer][] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt16LE(at)
    found.push([bytes.readUInt16LE(at + 2) & 0x3fff, bytes.subarray(at + 4, at + length)])
    at += (length + 3) & ~3
  }
  return found
}

describe('golden bytes in: decoding kernel messages', () => {
  const none = {
    connections: 0,
    incomingPackets: 0,
    outgoingPackets: 0,
    incomingBytes: 0,
    outgoingBytes: 0,
  }

  test.each([
    ['tcpService', TCP, WRR, { ...none, connections: 2, incomingPackets: 2, incomingBytes: 120 }],
    ['udpService', UDP, SH, { ...none, connections: 2, incomingPackets: 2, incomingBytes: 106 }],
    ['sctpService', SCTP, plain('lc'), none],
    ['markService6', MARK6, MH, none],
    ['markService4', MARK4, plain('rr'), none],
  ] as const)('%s', (name, id, settings, counters) => {
    const decoded = decodeGetService(message(SENT_BY_KERNEL[name]))
    expect(decoded).toEqual({ id, settings, counters })
  })

  test.each([
    [
      'tunnelServer6',
      4,
      server('fd00::5', 80, { forwarding: 'tunnel' }),
      [3, 0, 1],
      { connections: 2, incomingPackets: 2, incomingBytes: 120 },
    ],
    ['masqueradeServer4', 4, server('10.1.0.4', 8080, THRESHOLDS), [0, 0, 0], {}],
    [
      'masqueradeServer6',
      6,
      server('fd00::4', 5353),
      [0, 0, 1],
      { connections: 2, incomingPackets: 2, incomingBytes: 106 },
    ],
    ['routeServer4', 4, server('10.1.0.4', 0, { forwarding: 'route' }), [0, 0, 0], {}],
  ] as const)('%s', (name, family, configured, [active, inactive, persistent], counters) => {
    expect(decodeGetServers(message(SENT_BY_KERNEL[name]), family)).toEqual({
      ...configured,
      activeConnections: active,
      inactiveConnections: inactive,
      persistentConnections: persistent,
      counters: { ...none, ...counters },
    })
  })

  test('version and timeouts', () => {
    expect(decodeGetInfo(message(SENT_BY_KERNEL.info))).toEqual({
      version: '1.2.1',
      connectionTableSize: 4096,
    })
    expect(decodeGetConfig(message(SENT_BY_KERNEL.config))).toEqual({
      tcp: 900,
      tcpFin: 120,
      udp: 300,
    })
  })

  test('an answer to another command is not decoded', () => {
    const { config, info, tcpService, tunnelServer6 } = SENT_BY_KERNEL
    expect(decodeGetService(message(tunnelServer6))).toBeUndefined()
    expect(decodeGetServers(message(tcpService), 4)).toBeUndefined()
    expect(decodeGetInfo(message(config))).toBeUndefined()
    expect(decodeGetConfig(message(info))).toBeUndefined()
  })

  test('older kernels: no family of a real server, no 64-bit statistics, no scheduler', () => {
    const without = (body: string, type: number) => {
      const payload = Buffer.from(body, 'hex')
      const at = locate(payload, type)
      payload.writeUInt16LE(0x3fff, at - 2)
      return { ...message(''), payload }
    }
    const old = decodeGetServers(without(SENT_BY_KERNEL.masqueradeServer4, 11), 4)
    expect(old).toMatchObject({ ip: '10.1.0.4', port: 8080 })
    const old64 = decodeGetService(without(SENT_BY_KERNEL.tcpService, 12))
    expect(old64?.counters).toEqual({
      ...none,
      connections: 2,
      incomingPackets: 2,
      incomingBytes: 120,
    })
    const idle = decodeGetService(without(SENT_BY_KERNEL.markService4, 6))
    expect(idle?.settings.scheduler).toBe('none')
  })
})

/** Where the value of an attribute of the nested one begins. */
function locate(payload: Buffer, wanted: number): number {
  const HEADERS = 4 + 4
  for (let at = HEADERS; at < payload.length; at += (payload.readUInt16LE(at) + 3) & ~3) {
    if (payload.readUInt16LE(at + 2) === wanted) return at + 4
  }
  throw new Error(`no attribute ${wanted}`)
}
