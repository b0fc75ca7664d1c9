import { type IpAddress, parseIp } from '../../../lib/ip.ts'
import {
  type Ipvs,
  type IpvsCommand,
  type RealServer,
  type VirtualServerId,
  type VirtualServerSettings,
  virtualServerKey,
} from '../ipvs.ts'

interface ConformanceCase {
  readonly name: string
  /** Run one after the other on a kernel without virtual servers. */
  readonly commands: readonly IpvsCommand[]
  /** The errno of each refused command, by its index. */
  readonly refused: Readonly<Record<number, string>>
}

const ip = (text: string) => parseIp(text) as IpAddress
const TCP = { family: 4, protocol: 'TCP', ip: ip('10.96.0.1'), port: 80 } as const
const UDP6 = { family: 6, protocol: 'UDP', ip: ip('fd00::1'), port: 53 } as const
const MARK = { family: 4, mark: 1234 } as const
const RR: VirtualServerSettings = { scheduler: 'rr', flags: [], persistence: undefined }
const WRR = { ...RR, scheduler: 'wrr' }
const TOO_MUCH = 0x8000_0000

const sticky = (prefix: number, seconds = 300) => ({ ...RR, persistence: { seconds, prefix } })
const real = (address = '10.1.0.4', more: Partial<RealServer> = {}): RealServer => {
  const thresholds = { upperThreshold: 0, lowerThreshold: 0 }
  const rest = { port: 8080, weight: 1, forwarding: 'masquerade', ...thresholds } as const
  return { ip: ip(address), ...rest, ...more }
}
const addService = (id: VirtualServerId, settings = RR): IpvsCommand => {
  return { do: 'addService', id, settings }
}
const setService = (id: VirtualServerId, settings: VirtualServerSettings): IpvsCommand => {
  return { do: 'setService', id, settings }
}
const deleteService = (id: VirtualServerId): IpvsCommand => ({ do: 'deleteService', id })
const addServer = (id: VirtualServerId, server: RealServer): IpvsCommand => {
  return { do: 'addServer', id, server }
}
const setServer = (id: VirtualServerId, server: RealServer): IpvsCommand => {
  return { do: 'setServer', id, server }
}
const deleteServer = (id: VirtualServerId, server: RealServer): IpvsCommand => {
  return { do: 'deleteServer', id, server }
}

/** What ip_vs accepts and what it refuses: the fake and the kernel are both checked against it. */
export const CONFORMANCE: readonly ConformanceCase[] = [
  {
    name: 'virtual servers are added, changed and deleted',
    commands: [
      addService(TCP),
      addService(UDP6, sticky(64)),
      addService(MARK, WRR),
      setService(TCP, sticky(24, 60)),
      setService(UDP6, { ...RR, flags: ['onePacket'] }),
      deleteService(MARK),
    ],
    refused: {},
  },
  {
    name: 'a virtual server exists once, whatever its settings; both families have their own marks',
    commands: [
      addService(TCP),
      addService(TCP, WRR),
      addService({ ...TCP, protocol: 'UDP' }),
      addService({ ...TCP, protocol: 'SCTP' }),
      addService({ ...TCP, port: 81 }),
      addService(MARK),
      addService({ ...MARK, family: 6 }),
      addService(MARK),
    ],
    refused: { 1: 'EEXIST', 7: 'EEXIST' },
  },
  {
    name: 'what is not there is neither changed nor deleted',
    commands: [
      setService(TCP, RR),
      deleteService(TCP),
      addServer(TCP, real()),
      setServer(TCP, real()),
      deleteServer(TCP, real()),
      addService(TCP),
      setServer(TCP, real()),
      deleteServer(TCP, real()),
    ],
    refused: {
      0: 'ESRCH',
      1: 'ESRCH',
      2: 'ESRCH',
      3: 'ESRCH',
      4: 'ESRCH',
      6: 'ENOENT',
      7: 'ENOENT',
    },
  },
  {
    name: 'schedulers: unknown ones are refused, existence comes first, names have 15 characters',
    commands: [
      addService(TCP, { ...RR, scheduler: 'np-unknown' }),
      addService(TCP, { ...RR, scheduler: 'none' }),
      addService(TCP, { ...RR, scheduler: 'np-unknown' }),
      setService(TCP, { ...RR, scheduler: 'np-unknown' }),
      addService(TCP, { ...RR, scheduler: 'np-name-too-long' }),
      addService(MARK, { ...RR, scheduler: 'np-name-too-long' }),
    ],
    refused: { 0: 'ENOENT', 2: 'EEXIST', 3: 'ENOENT', 4: 'EINVAL', 5: 'EINVAL' },
  },
  {
    name: 'scheduler flags are kept, whatever the scheduler and the protocol',
    commands: [
      addService(TCP, { ...RR, flags: ['onePacket', 'fallback', 'sourcePort', 'schedulerFlag3'] }),
      addService(UDP6, { ...RR, scheduler: 'sh', flags: ['fallback', 'sourcePort'] }),
      addService(MARK, { ...RR, scheduler: 'mh', flags: ['sourcePort'] }),
    ],
    refused: {},
  },
  {
    name: 'persistence: any IPv4 mask, an IPv6 prefix of 1 to 128',
    commands: [
      addService(TCP, sticky(1)),
      addService({ ...TCP, port: 81 }, sticky(0)),
      addService({ ...TCP, port: 82 }, sticky(32, 0)),
      addService({ ...UDP6, port: 1 }, sticky(1)),
      addService({ ...UDP6, port: 128 }, sticky(128)),
      addService({ ...UDP6, port: 2 }, sticky(0)),
      addService({ ...UDP6, port: 3 }, sticky(129)),
      setService({ ...UDP6, port: 1 }, sticky(0)),
    ],
    refused: { 5: 'EINVAL', 6: 'EINVAL', 7: 'EINVAL' },
  },
  {
    name: 'port 0, with persistence all ports, is a port like others',
    commands: [addService({ ...TCP, port: 0 }, sticky(32)), addService({ ...TCP, port: 0 })],
    refused: { 1: 'EEXIST' },
  },
  {
    name: 'real servers are added, changed and deleted',
    commands: [
      addService(TCP),
      addServer(TCP, real('10.1.0.4')),
      addServer(TCP, real('10.1.0.4', { port: 8081 })),
      addServer(TCP, real('10.1.0.4', { weight: 5 })),
      setServer(TCP, real('10.1.0.4', { weight: 0, upperThreshold: 9, lowerThreshold: 5 })),
      deleteServer(TCP, real('10.1.0.4', { port: 8081 })),
      addService(UDP6),
      addServer(UDP6, real('fd00::4')),
      addService(MARK),
      addServer(MARK, real('10.1.0.4', { port: 0, forwarding: 'route' })),
      addServer(MARK, real('10.1.0.5', { port: 0, forwarding: 'bypass' })),
      addServer(MARK, real('10.1.0.6', { port: 0, forwarding: 'local' })),
    ],
    refused: { 3: 'EEXIST' },
  },
  {
    name: 'deleting a virtual server deletes its real servers',
    commands: [addService(TCP), addServer(TCP, real()), deleteService(TCP), addService(TCP, WRR)],
    refused: {},
  },
  {
    name: 'weights are positive numbers of 32 bits, thresholds in order; that is checked first',
    commands: [
      addService(TCP),
      addServer(TCP, real('10.1.0.1', { weight: 0x7fff_ffff })),
      addServer(TCP, real('10.1.0.1', { weight: TOO_MUCH })),
      addServer(TCP, real('10.1.0.2', { weight: TOO_MUCH })),
      setServer(TCP, real('10.1.0.1', { weight: TOO_MUCH })),
      setServer(TCP, real('10.1.0.9', { weight: TOO_MUCH })),
      addServer(TCP, real('10.1.0.3', { upperThreshold: 5, lowerThreshold: 6 })),
      addServer(TCP, real('10.1.0.3', { upperThreshold: 5, lowerThreshold: 5 })),
      setServer(TCP, real('10.1.0.3', { lowerThreshold: 1 })),
      addServer(TCP, real('224.0.0.1', { weight: TOO_MUCH })),
    ],
    refused: {
      2: 'ERANGE',
      3: 'ERANGE',
      4: 'ERANGE',
      5: 'ERANGE',
      6: 'ERANGE',
      8: 'ERANGE',
      9: 'ERANGE',
    },
  },
  {
    name: 'a real server has the address of one host',
    commands: [
      addService(TCP),
      ...['0.0.0.0', '224.0.0.1', '239.1.2.3', '255.255.255.255'].map((address) =>
        addServer(TCP, real(address)),
      ),
      ...['127.0.0.1', '169.254.1.1', '240.0.0.1', '10.7.0.255'].map((address) =>
        addServer(TCP, real(address)),
      ),
      addService(UDP6),
      ...['::', 'fe80::1', 'ff02::1', '::ffff:10.1.0.4'].map((address) =>
        addServer(UDP6, real(address)),
      ),
      ...['::1', 'fd00::4', '2001:db8::1'].map((address) => addServer(UDP6, real(address))),
    ],
    refused: {
      1: 'EINVAL',
      2: 'EINVAL',
      3: 'EINVAL',
      4: 'EINVAL',
      10: 'EINVAL',
      11: 'EINVAL',
      12: 'EINVAL',
      13: 'EINVAL',
    },
  },
  {
    name: 'only a tunnel leads to the other family',
    commands: [
      addService(TCP),
      addServer(TCP, real('fd00::4')),
      addServer(TCP, real('fd00::4', { forwarding: 'tunnel' })),
      addServer(TCP, real('fd00::5', { weight: TOO_MUCH })),
      setServer(TCP, real('fd00::5')),
      deleteServer(TCP, real('fd00::5')),
      deleteServer(TCP, real('fd00::4')),
    ],
    refused: { 1: 'EINVAL', 3: 'EINVAL', 4: 'EINVAL', 5: 'ENOENT' },
  },
]

export interface ConformanceResult {
  readonly name: string
  readonly refused: Readonly<Record<number, string>>
  /** Every virtual server with its real servers, as text, in order. */
  readonly left: readonly string[]
}

/** Runs a case on a kernel that is emptied before. */
export async function runCase(
  ipvs: Ipvs,
  { name, commands }: ConformanceCase,
): Promise<ConformanceResult> {
  await ipvs.flush()
  const refusals = await ipvs.run(commands)
  return {
    name,
    refused: Object.fromEntries(refusals.map(({ index, errno }) => [index, errno])),
    left: await listing(ipvs),
  }
}

async function listing(ipvs: Ipvs): Promise<readonly string[]> {
  const lines: string[] = []
  for (const { id, settings } of await ipvs.services()) {
    const key = virtualServerKey(id)
    lines.push(`${key} ${JSON.stringify(settings)}`)
    const servers = (await ipvs.servers(id)) ?? []
    lines.push(...servers.map((server) => `${key} ${JSON.stringify(server)}`))
  }
  return lines.sort()
}
