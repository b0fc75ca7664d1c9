import { release } from 'node:os'
import type { FieldsOf } from '../../../settings/field.ts'
import { cidrList } from '../../../settings/network-types.ts'
import { boolean, duration, oneOf } from '../../../settings/scalar-types.ts'
import { deniedDriver } from '../../definition/denied-driver.ts'
import type { CleanupHost, ModeDefinition, ModeHost } from '../../definition/mode-definition.ts'
import type { ModeDriver } from '../../definition/mode-driver.ts'
import { missingRules } from '../../netfilter/access.ts'
import { cleanupSettings } from '../../netfilter/settings/netfilter-settings.ts'
import { GAPS } from '../gaps.ts'
import { CHAIN } from '../objects/names.ts'
import type { IpvsSettings } from '../settings.ts'
import { type IpvsConfiguration, SCHEDULERS } from './configuration.ts'
import { IpvsDriver } from './ipvs-driver.ts'
import { hasIpvs } from './missing-modules.ts'

const MINUTES_15 = 900_000

/** The ipvs mode's flags and configuration fields; durations are milliseconds. */
const ipvsFields: FieldsOf<IpvsConfiguration> = {
  'ipvs.syncPeriod': {
    flag: 'ipvs-sync-period',
    type: duration(1),
    fallback: 30_000,
    doc: 'As iptables.syncPeriod, in ipvs mode.',
    reload: 'live',
    zeroIsUnset: true,
  },
  'ipvs.minSyncPeriod': {
    flag: 'ipvs-min-sync-period',
    type: duration(),
    fallback: 0,
    doc: 'As iptables.minSyncPeriod, in ipvs mode.',
    reload: 'live',
  },
  'ipvs.scheduler': {
    flag: 'ipvs-scheduler',
    type: oneOf(SCHEDULERS),
    fallback: '',
    doc: 'How a backend is chosen. Empty: rr. The annotation service.orch.io/ipvs-scheduler of a Service wins.',
    reload: 'live',
  },
  'ipvs.excludeCIDRs': {
    flag: 'ipvs-exclude-cidrs',
    type: cidrList,
    fallback: [],
    doc: 'Virtual servers with an address in these networks belong to other software: they are never changed or removed, and no Service gets one there.',
    reload: 'live',
  },
  'ipvs.strictARP': {
    flag: 'ipvs-strict-arp',
    type: boolean,
    fallback: false,
    doc: 'Answer ARP only for addresses of the interface that received the request (arp_ignore=1, arp_announce=2). Switched off again, the kernel keeps these two until other software sets them.',
    reload: 'live',
  },
  'ipvs.tcpTimeout': timeout('ipvs-tcp-timeout', 'established TCP connections'),
  'ipvs.tcpFinTimeout': timeout(
    'ipvs-tcpfin-timeout',
    'TCP connections that the backend has ended and the client has not',
  ),
  'ipvs.udpTimeout': timeout('ipvs-udp-timeout', 'UDP flows'),
  'ipvs.gracefulTermination.tcp': drain('tcp', 'TCP', MINUTES_15),
  'ipvs.gracefulTermination.udp': drain('udp', 'UDP', 0),
  'ipvs.gracefulTermination.sctp': drain('sctp', 'SCTP', MINUTES_15),
}

/** The ipvs mode, as the daemon's registry of modes has it. */
export const ipvs: ModeDefinition<IpvsConfiguration> = {
  name: 'ipvs',
  gaps: GAPS,
  fields: ipvsFields,
  loopbackGuard: CHAIN.martians,
  periods: (config) => config.ipvs,
  conflicts: () => [],
  requirements: (_config, access) => missingRules(access),
  createDriver,
  cleanup: (host) => [() => cleanUp(host)],
}

/** The code that forwards is loaded when it is first needed. */
function createDriver(host: ModeHost): ModeDriver<IpvsConfiguration> {
  const { netfilter, sysctl, families, clock, log } = host
  if (!netfilter.ok) return deniedDriver(ipvs, netfilter.missing)
  const { iptables, sets, modules } = netfilter.parts
  const code = () => import('./open-ipvs.ts')
  return new IpvsDriver({
    iptables,
    modules,
    sysctl,
    clock,
    log,
    hasIpvs,
    release: release(),
    open: async () => (await code()).openIpvs({ iptables, sets, clock, families }),
    view: async (settings) => (await code()).openIpvsToRead({ iptables, sets, clock }, settings),
    openForCleanup: async () => (await code()).openIpvsForCleanup({ iptables, sets, clock }),
  })
}

async function cleanUp({ iptables, sets, clock, families, config }: CleanupHost): Promise<void> {
  const { openIpvsForCleanup } = await import('./open-ipvs.ts')
  const runtime = openIpvsForCleanup({ iptables, sets, clock })
  const settings: IpvsSettings = {
    netfilter: cleanupSettings(config, families),
    scheduler: 'rr',
    nodeAddresses: [],
    excludeCIDRs: [],
    timeouts: { tcp: 0, tcpFin: 0, udp: 0 },
    drain: { tcp: 0, udp: 0, sctp: 0 },
  }
  try {
    await runtime.build(settings).cleanup()
  } finally {
    await runtime.close()
  }
}

function drain(name: string, protocol: string, fallback: number) {
  return {
    flag: `ipvs-graceful-termination-${name}`,
    type: duration(),
    fallback,
    doc: `How long a backend that left keeps its ${protocol} connections in IPVS, if they do not end before. It gets no new ones. 0: it loses them at once.`,
    reload: 'live',
  } as const
}

function timeout(flag: string, what: string) {
  return {
    flag,
    type: duration(),
    fallback: 0,
    doc: `Idle time of ${what} in IPVS. 0: as the kernel has it.`,
    reload: 'live',
  } as const
}
