import { formatDuration } from '../../lib/duration.ts'
import type * as rules from '../../settings/rules.ts'
import type { NodeProxyConfiguration } from './configuration.ts'

type Conflict = rules.Conflict<NodeProxyConfiguration>

/** What no field of the daemon can see alone. */
export const RULES: readonly rules.Rule<NodeProxyConfiguration>[] = [
  (config) => minAboveSync(config, 'iptables'),
  (config) => minAboveSync(config, 'ipvs'),
  (config) => minAboveSync(config, 'userspace'),
  ({ userspace }) =>
    userspace.entry === 'bind' && userspace.bindMap.length === 0
      ? {
          paths: ['userspace.entry'],
          message: 'entry bind needs userspace.bindMap; set it',
        }
      : undefined,
  (config) => neededBy(config, 'BridgeInterface', 'bridgeInterface'),
  (config) => neededBy(config, 'InterfaceNamePrefix', 'interfaceNamePrefix'),
  ({ healthzBindAddress: healthz, metricsBindAddress: metrics }) =>
    healthz && metrics && healthz.port === metrics.port && overlap(healthz.ip, metrics.ip)
      ? {
          paths: ['metricsBindAddress', 'healthzBindAddress'],
          message:
            'healthzBindAddress and metricsBindAddress want the same port; give them different ones',
        }
      : undefined,
]

function minAboveSync(
  config: NodeProxyConfiguration,
  section: 'iptables' | 'ipvs' | 'userspace',
): Conflict | undefined {
  const { minSyncPeriod, syncPeriod } = config[section]
  if (minSyncPeriod <= syncPeriod) return undefined
  const [min, sync] = [formatDuration(minSyncPeriod), formatDuration(syncPeriod)]
  return {
    paths: [`${section}.minSyncPeriod`, `${section}.syncPeriod`],
    message: `minSyncPeriod ${min} is longer than syncPeriod ${sync}; lower the one or raise the other`,
  }
}

function neededBy(
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

function overlap(a: string, b: string): boolean {
  return (
    a === b ||
    [a, b].includes('::') ||
    (a === '0.0.0.0' && !b.includes(':')) ||
    (b === '0.0.0.0' && !a.includes(':'))
  )
}
