import { formatDuration } from '../../lib/duration.ts'
import type { FieldPath, NodeProxyConfiguration } from './configuration.ts'
import { FIELD_BY_PATH } from './fields/index.ts'
import { type Problem, quote } from './problem.ts'
import { originOf, type Settings, valueAt } from './settings.ts'

interface Conflict {
  /** Whose values quarrel; the first that somebody set is shown. */
  readonly paths: readonly [FieldPath, ...FieldPath[]]
  readonly message: string
}

type Rule = (config: NodeProxyConfiguration) => Conflict | undefined

const RULES: readonly Rule[] = [
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

/** What no field can see alone. Values are valid each by itself. */
export function checkRules(config: NodeProxyConfiguration, settings: Settings): Problem[] {
  return RULES.map((rule) => rule(config))
    .filter((conflict) => conflict !== undefined)
    .map(({ paths, message }) => {
      const path = paths.find((candidate) => settings.has(candidate)) ?? paths[0]
      const origin = originOf(settings, path)
      const type = FIELD_BY_PATH.get(path)?.type
      return {
        code: 'NP_NODEPROXY_CONFIG_CONFLICT',
        at: origin.from === 'file' ? origin.at : undefined,
        field: origin.from === 'flag' ? `--${origin.flag}` : path,
        value: quote(type?.encode(valueAt(config, path))),
        message,
      }
    })
}

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
