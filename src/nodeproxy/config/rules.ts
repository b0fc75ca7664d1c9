import { formatDuration } from '../../lib/duration.ts'
import type { ModeConflict, ModeDefinition } from '../../modes/definition/mode-definition.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import type { Rule } from '../../settings/table.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

type Conflict = NonNullable<ReturnType<Rule<NodeProxyConfiguration>>>

/** The rules between settings, which the type of one field cannot check: those of each mode, and the common ones. */
export function rulesOf(modes: readonly ModeDefinition[]): readonly Rule<NodeProxyConfiguration>[] {
  return [...modes.map((mode) => conflictOf(mode)), ...COMMON]
}

const COMMON: readonly Rule<NodeProxyConfiguration>[] = [
  (config) => missingInterface(config, 'BridgeInterface', 'bridgeInterface'),
  (config) => missingInterface(config, 'InterfaceNamePrefix', 'interfaceNamePrefix'),
  samePort,
  uselessDenial,
  unsafeTiming,
  unusablePeers,
  missingCertificate,
]

/** The first conflict between the fields of one mode. It is cast, because the compiler does not know the paths of a mode. */
function conflictOf(mode: ModeDefinition) {
  return (config: NodeProxyConfiguration): Conflict | undefined => {
    const [first] = [...periodConflicts(mode, config), ...mode.conflicts(config)]
    return first as Conflict | undefined
  }
}

function periodConflicts(
  mode: ModeDefinition,
  config: NodeProxyConfiguration,
): readonly ModeConflict[] {
  const { minSyncPeriod, syncPeriod } = mode.periods(config)
  if (minSyncPeriod <= syncPeriod) return []
  const [min, sync] = [formatDuration(minSyncPeriod), formatDuration(syncPeriod)]
  return [
    {
      paths: [`${mode.name}.minSyncPeriod`, `${mode.name}.syncPeriod`],
      message: `minSyncPeriod ${min} is longer than syncPeriod ${sync}; lower the one or raise the other`,
    },
  ]
}

function missingInterface(
  config: NodeProxyConfiguration,
  mode: 'BridgeInterface' | 'InterfaceNamePrefix',
  name: 'bridgeInterface' | 'interfaceNamePrefix',
): Conflict | undefined {
  if (config.detectLocalMode !== mode || config.detectLocal[name] !== '') return undefined
  return {
    paths: [`detectLocal.${name}`, 'detectLocalMode'],
    message: `detectLocalMode ${mode} needs detectLocal.${name}; set it`,
  }
}

function uselessDenial({
  networkPolicy: { enforce, unknownPods },
}: NodeProxyConfiguration): Conflict | undefined {
  if (enforce !== false || unknownPods !== 'deny') return undefined
  return {
    paths: ['networkPolicy.unknownPods', 'networkPolicy.enforce'],
    message:
      'networkPolicy.unknownPods deny has no effect with networkPolicy.enforce false; set networkPolicy.enforce to auto or true, or networkPolicy.unknownPods to allow',
  }
}

function unsafeTiming({
  announcement: { leaseDuration, renewDeadline, renewInterval },
}: NodeProxyConfiguration): Conflict | undefined {
  const [lease, deadline, interval] = [leaseDuration, renewDeadline, renewInterval].map((ms) =>
    formatDuration(ms),
  )
  if (renewDeadline > leaseDuration * 0.8) {
    return {
      paths: ['announcement.renewDeadline', 'announcement.leaseDuration'],
      message: `announcement.renewDeadline ${deadline} is more than 80 % of announcement.leaseDuration ${lease}, so that two nodes could announce one address; lower the one or raise the other`,
    }
  }
  if (renewInterval * 3 <= renewDeadline * 2) return undefined
  return {
    paths: ['announcement.renewInterval', 'announcement.renewDeadline'],
    message: `announcement.renewInterval ${interval} is more than two thirds of announcement.renewDeadline ${deadline}, so that an address would be silent after one failed renewal; lower the one or raise the other`,
  }
}

/** What routers need, and what cannot be two sessions. */
function unusablePeers({
  announcement: {
    bgp: { localASN, peers },
  },
}: NodeProxyConfiguration): Conflict | undefined {
  const paths = ['announcement.bgp.peers', 'announcement.bgp.localASN'] as const
  if (peers.length > 0 && localASN === 0) {
    return { paths, message: 'announcement.bgp.peers need announcement.bgp.localASN; set it' }
  }
  for (const [at, { address, port, sourceAddress }] of peers.entries()) {
    const name = `announcement.bgp.peers[${at}]`
    const first = peers.findIndex((peer) => peer.address === address && peer.port === port)
    if (first < at) {
      const message = `${name} is the router of announcement.bgp.peers[${first}], ${address}; remove one of them`
      return { paths, message }
    }
    if (sourceAddress === '' || sourceAddress.includes(':') === address.includes(':')) continue
    const message = `${name}.sourceAddress ${sourceAddress} is not of the family of ${address}; write one that is`
    return { paths, message }
  }
  return undefined
}

function missingCertificate({
  inspection: { bindAddress, tlsCertFile, tlsPrivateKeyFile },
}: NodeProxyConfiguration): Conflict | undefined {
  if (!bindAddress || (tlsCertFile !== '' && tlsPrivateKeyFile !== '')) return undefined
  return {
    paths: ['inspection.bindAddress', 'inspection.tlsCertFile', 'inspection.tlsPrivateKeyFile'],
    message:
      'inspection.bindAddress needs inspection.tlsCertFile and inspection.tlsPrivateKeyFile; set them',
  }
}

type AddressPath =
  | 'metricsBindAddress'
  | 'healthzBindAddress'
  | 'inspection.pageBindAddress'
  | 'inspection.bindAddress'

/** The conflict of the first two listeners that want the same address and port. */
function samePort(config: NodeProxyConfiguration): Conflict | undefined {
  const listeners: readonly (readonly [AddressPath, SocketAddress | undefined])[] = [
    ['healthzBindAddress', config.healthzBindAddress],
    ['metricsBindAddress', config.metricsBindAddress],
    ['inspection.pageBindAddress', config.inspection.pageBindAddress],
    ['inspection.bindAddress', config.inspection.bindAddress],
  ]
  for (const [index, [path, address]] of listeners.entries()) {
    const rival = listeners
      .slice(0, index)
      .find(([, other]) => address?.port === other?.port && overlap(address?.ip, other?.ip))
    if (rival === undefined) continue
    const message = `${rival[0]} and ${path} want the same port; give them different ones`
    return { paths: [path, rival[0]], message }
  }
  return undefined
}

/** Whether sockets cannot listen at both IP addresses with one port. A socket at `::` takes IPv4 as well. */
function overlap(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false
  return (
    a === b ||
    [a, b].includes('::') ||
    (a === '0.0.0.0' && !b.includes(':')) ||
    (b === '0.0.0.0' && !a.includes(':'))
  )
}
