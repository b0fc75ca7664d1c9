import { setImmediate } from 'node:timers/promises'
import type { EntryId, ForwardingEntry } from '../../../src/forwarding/entry.ts'
import { memberText } from '../../../src/kernel/ipset/sets.ts'
import { FakeSets } from '../../../src/kernel/ipset/testing/fake-sets.ts'
import { FakeIptables } from '../../../src/kernel/iptables/testing/fake-iptables.ts'
import {
  type IpvsCommand,
  type RealServer,
  type VirtualServerId,
  virtualServerKey,
} from '../../../src/kernel/ipvs/ipvs.ts'
import { FakeIpvs } from '../../../src/kernel/ipvs/testing/fake-ipvs.ts'
import { FakeRelays } from '../../../src/kernel/relay/testing/fake-relays.ts'
import { FakeRoutes } from '../../../src/kernel/route/testing/fake-routes.ts'
import { FakeMonitor } from '../../../src/kernel/testing/fake-monitor.ts'
import { FakeClock } from '../../../src/lib/testing/fake-clock.ts'
import { type IpvsDependencies, IpvsMode } from '../../../src/modes/ipvs/mode.ts'
import { specText } from '../../../src/modes/ipvs/servers/server-spec.ts'
import type { IpvsSettings } from '../../../src/modes/ipvs/settings.ts'
import type { ObjectKey } from '../../../src/modes/mode.ts'
import { backend, entry, frontend, ip, settings } from '../../../src/modes/testing/mode-fixtures.ts'
import { driveMode } from './drive-mode.ts'

export function ipvsSettings(overrides: Partial<IpvsSettings> = {}): IpvsSettings {
  return {
    netfilter: settings(),
    scheduler: 'rr',
    nodeAddresses: [ip('192.0.2.10'), ip('fd00:2::10')],
    excludeCIDRs: [],
    timeouts: { tcp: 0, tcpFin: 0, udp: 0 },
    drain: { tcp: 900, udp: 0, sctp: 900 },
    ...overrides,
  }
}

export interface FakeKernel extends IpvsDependencies {
  readonly ipvs: FakeIpvs
  readonly sets: FakeSets
  readonly routes: FakeRoutes
  readonly relays: FakeRelays
  readonly iptables: FakeIptables
  readonly monitor: FakeMonitor
  readonly clock: FakeClock
}

/** A fake kernel whose whole state a test can read and set. */
export function fakeKernel({
  schedulers,
}: {
  readonly schedulers?: readonly string[]
} = {}): FakeKernel {
  const sets = new FakeSets()
  const iptables = new FakeIptables({ sets, backend: 'legacy' })
  sets.isUsed = (name) => iptables.refersTo(name)
  return {
    sets,
    iptables,
    ipvs: new FakeIpvs(schedulers),
    routes: new FakeRoutes(),
    relays: new FakeRelays(),
    monitor: new FakeMonitor(),
    clock: new FakeClock(),
  }
}

/**
 * The ipvs mode over a fake kernel, with everything between an entry and that kernel. `through`: wraps the kernel for
 * the mode.
 */
export function fakeIpvsNode(
  kernel: FakeKernel = fakeKernel(),
  overrides: Partial<IpvsSettings> = {},
  through: IpvsDependencies = kernel,
) {
  const mode = new IpvsMode(ipvsSettings(overrides), through)
  return { kernel, mode, ...driveMode(mode) }
}

/** Advances the clock second by second; the effects of each second are complete before the next one. */
export async function pass({ clock }: Pick<FakeKernel, 'clock'>, seconds: number): Promise<void> {
  await setImmediate()
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1_000)
    await setImmediate()
  }
}

/** Every virtual server of a kernel: `4/tcp/10.96.0.1:80` → `rr|10.0.0.1:80*1`. */
export async function serversOf({
  ipvs,
}: Pick<FakeKernel, 'ipvs'>): Promise<Record<string, string>> {
  const texts: [string, string][] = []
  for (const { id, settings: given } of await ipvs.services()) {
    const servers: readonly RealServer[] = (await ipvs.servers(id)) ?? []
    texts.push([virtualServerKey(id), specText({ settings: given, servers })])
  }
  return Object.fromEntries(texts.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

/** The members of a set as ipset lists them, each with its mark; undefined: there is no such set. */
export async function membersOf(
  { sets }: Pick<FakeKernel, 'sets'>,
  name: string,
): Promise<readonly string[] | undefined> {
  const members = await sets.members(name)
  return members
    ?.map((one) => memberText(one) + (one.mark ? ` ${one.mark.value.toString(16)}` : ''))
    .toSorted()
}

/** The whole state of the kernel, for comparison. */
export async function stateOf(kernel: FakeKernel): Promise<unknown> {
  const names = (await kernel.sets.names('')).toSorted()
  const sets: Record<string, readonly string[] | undefined> = {}
  for (const name of names) sets[name] = await membersOf(kernel, name)
  return {
    sets,
    servers: await serversOf(kernel),
    rules: kernel.iptables.dump(),
    routes: await kernel.routes.list(),
    relays: kernel.relays
      .list()
      .map((relay) => JSON.stringify(relay))
      .toSorted(),
  }
}

export const VIP = { family: 4, protocol: 'TCP', ip: ip('172.30.0.1'), port: 80 } as const
export const SERVER = virtualServerKey(VIP)
export const SERVER_KEY = `vs/${SERVER}` as ObjectKey
/** One of the backends of `service`. */
export const POD = { ip: ip('10.180.0.1'), port: 8080 }

/** A ClusterIP Service with these pods. */
export function service(
  name: string,
  address: string,
  pods: readonly string[] = ['10.180.0.1', '10.180.0.2'],
  overrides: Partial<ForwardingEntry> = {},
): ForwardingEntry {
  return entry({
    id: name as EntryId,
    frontends: [frontend({ ip: ip(address) })],
    pools: { cluster: pods.map((pod) => backend(pod)), local: [] },
    ...overrides,
  })
}

/** A real server of another program. */
export const FOREIGN_SERVER: RealServer = {
  ip: ip('10.7.7.7'),
  port: 80,
  weight: 1,
  forwarding: 'route',
  upperThreshold: 0,
  lowerThreshold: 0,
}

/** The commands of another program that creates a virtual server at an address or mark. */
export function foreignAt(id: VirtualServerId): readonly IpvsCommand[] {
  const server = { ...FOREIGN_SERVER, ip: id.family === 6 ? ip('fd00:7::7') : FOREIGN_SERVER.ip }
  return [
    { do: 'addService', id, settings: { scheduler: 'wlc', flags: [], persistence: undefined } },
    { do: 'addServer', id, server },
  ]
}

export const FOREIGN_TEXT = 'wlc|10.7.7.7:80*1/route'

/** The objects that were refused, with the codes of the refusals. */
export function codesOf(
  failed: ReadonlyMap<ObjectKey, { readonly code: string }>,
): Readonly<Record<string, string>> {
  return Object.fromEntries([...failed].map(([key, { code }]) => [key, code]))
}
