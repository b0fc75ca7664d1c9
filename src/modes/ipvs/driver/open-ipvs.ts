import { readOnlySets, type Sets } from '../../../kernel/ipset/sets.ts'
import { type Iptables, readOnlyIptables } from '../../../kernel/iptables/iptables.ts'
import { type Ipvs, noIpvs, readOnlyIpvs } from '../../../kernel/ipvs/ipvs.ts'
import { NetlinkIpvs } from '../../../kernel/ipvs/netlink-ipvs.ts'
import { rawTransport } from '../../../kernel/netlink/raw-transport.ts'
import { requestTransport } from '../../../kernel/netlink/request-transport.ts'
import {
  NETLINK_GENERIC,
  NETLINK_ROUTE,
  type OpenTransport,
} from '../../../kernel/netlink/transport.ts'
import { noopMonitor } from '../../../kernel/nftables/nftables-monitor.ts'
import type { RuleMonitor } from '../../../kernel/nftables/rule-monitor.ts'
import { noRelays } from '../../../kernel/relay/relays.ts'
import { SocketRelays } from '../../../kernel/relay/socket-relays.ts'
import { NetlinkRoutes } from '../../../kernel/route/netlink-routes.ts'
import { type Routes, readOnlyRoutes } from '../../../kernel/route/routes.ts'
import type { Clock } from '../../../lib/clock.ts'
import { NodeProxyError } from '../../../lib/error.ts'
import type { Family } from '../../../lib/ip.ts'
import type { ModeView } from '../../definition/mode-view.ts'
import type { MissingRequirement, Mode, ObjectKey } from '../../mode.ts'
import { openMonitor } from '../../netfilter/chains/foreign-change.ts'
import { kindOf } from '../../netfilter/object-key.ts'
import { RuleLines } from '../../netfilter/rule-lines.ts'
import { createManagedState } from '../managed-state.ts'
import { IpvsMode } from '../mode.ts'
import { OWNED_CHAINS } from '../objects/names.ts'
import { observeAll } from '../observe.ts'
import { specText, splitText } from '../servers/server-spec.ts'
import type { IpvsSettings } from '../settings.ts'
import { hasIpvs } from './missing-modules.ts'

const NOT_LOADED: MissingRequirement = {
  code: 'NP_IPVS_MODULE_MISSING',
  what: 'kernel module ip_vs is not loaded',
  remedy: 'modprobe ip_vs',
}

/** The code of the ipvs mode, with the sockets that are opened for it alone. */
export interface IpvsRuntime {
  /** Whether a monitor reports changes of our chains by other processes. */
  readonly hasRuleMonitor: boolean
  build(settings: IpvsSettings): Mode
  /** Closes relays and sockets; modes that were built do not work afterwards. */
  close(): Promise<void>
}

/** What the ipvs mode shares with the other modes of this process. */
export interface IpvsRuntimeOptions {
  readonly iptables: Iptables
  readonly sets: Sets
  readonly clock: Clock
  readonly families: readonly Family[]
}

/** Opens the mode for forwarding; each socket opens with the first request to it. */
export async function openIpvs({ families, ...base }: IpvsRuntimeOptions): Promise<IpvsRuntime> {
  const { iptables, clock } = base
  const monitor = await openMonitor(iptables, { clock, families, owned: OWNED_CHAINS })
  return runtime(base, monitor)
}

/** Opens the mode for removing it: without a monitor, and without loading kernel modules. */
export function openIpvsForCleanup(base: Omit<IpvsRuntimeOptions, 'families'>): IpvsRuntime {
  return runtime(base, noopMonitor, hasIpvs() ? undefined : absentIpvs)
}

/** Opens the mode for reading; no kernel module is loaded. */
export function openIpvsToRead(
  base: Omit<IpvsRuntimeOptions, 'families'>,
  settings: IpvsSettings,
): ModeView {
  const { clock } = base
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const ipvs = hasIpvs() ? new NetlinkIpvs(requestTransport(NETLINK_GENERIC), clock) : undefined
  return viewIpvs(settings, { ...base, ipvs, routes })
}

function runtime(
  { iptables, sets, clock }: Omit<IpvsRuntimeOptions, 'families'>,
  monitor: RuleMonitor,
  transport = requestTransport(NETLINK_GENERIC),
): IpvsRuntime {
  const ipvs = new NetlinkIpvs(transport, clock)
  const routes = new NetlinkRoutes(rawTransport(NETLINK_ROUTE), clock)
  const relays = new SocketRelays(clock)
  const kernel = { iptables, monitor, ipvs, sets, routes, relays, clock }
  return {
    hasRuleMonitor: monitor !== noopMonitor,
    build: (settings) => new IpvsMode(settings, kernel),
    async close() {
      await relays.closeAll()
      for (const part of [ipvs, routes]) part.close()
    },
  }
}

/** Stands for a kernel without ip_vs: every request throws this error. */
export const absentIpvs: OpenTransport = () => {
  throw new NodeProxyError('NP_KERNEL_IPVS_MISSING', 'ip_vs is not loaded in this kernel')
}

/** What the view reads; `ipvs` is undefined where this kernel has no ip_vs. */
interface IpvsViewKernel {
  readonly ipvs: Ipvs | undefined
  readonly sets: Sets
  readonly routes: Routes
  readonly iptables: Iptables
  readonly clock: Clock
}

/** A read-only view of the ipvs mode. */
export function viewIpvs(settings: IpvsSettings, kernel: IpvsViewKernel): ModeView {
  const { routes, clock } = kernel
  const iptables = readOnlyIptables(kernel.iptables)
  const state = createManagedState(settings, {
    iptables,
    clock,
    monitor: noopMonitor,
    relays: noRelays,
    ipvs: kernel.ipvs === undefined ? noIpvs : readOnlyIpvs(kernel.ipvs),
    sets: readOnlySets(kernel.sets),
    routes: readOnlyRoutes(routes),
  })
  const { program, servers } = state
  const rules = new RuleLines(program, iptables)
  return {
    program,
    ownPorts: new Set(),
    drains: true,
    caveats: kernel.ipvs === undefined ? [NOT_LOADED] : [],
    isInProcess: (key) => kindOf(key) === 'relay',
    observe: () => observeAll(state),
    wantedLines(key) {
      const spec = kindOf(key) === 'vs' ? program.specOf(key) : undefined
      return spec === undefined ? rules.wanted(key) : serverLines(specText(spec))
    },
    async heldLines(key: ObjectKey) {
      const text = servers.texts.get(key)
      return text === undefined ? rules.held(key) : serverLines(text)
    },
    close: async () => {
      kernel.ipvs?.close()
      routes.close()
    },
  }
}

/** The settings of a virtual server, then each of its real servers: `10.0.0.1:80*1`. */
function serverLines(text: string): readonly string[] {
  const [settings, real] = splitText(text)
  return [settings, ...real.split(' ').filter((one) => one !== '')]
}
