import type { FieldsOf } from '../../../settings/field.ts'
import { cidrList } from '../../../settings/network-types.ts'
import { boolean, duration, oneOf } from '../../../settings/scalar-types.ts'
import { type IpvsConfiguration, SCHEDULERS } from './configuration.ts'

const MINUTES_15 = 900_000

/** The ipvs mode's flags and configuration fields; durations are milliseconds. */
export const ipvsFields: FieldsOf<IpvsConfiguration> = {
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
