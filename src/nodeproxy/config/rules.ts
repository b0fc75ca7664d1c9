import { formatDuration } from '../../lib/duration.ts'
import type { ModeConflict, ModeDefinition } from '../../modes/definition/mode-definition.ts'
import type * as rules from '../../settings/rules.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

type Conflict = rules.Conflict<NodeProxyConfiguration>

/** What no field of the daemon can see alone, with these modes. */
export function rulesOf(
  modes: readonly ModeDefinition[],
): readonly rules.Rule<NodeProxyConfiguration>[] {
  return [...modes.map((mode) => conflictOf(mode)), ...COMMON]
}

const COMMON: readonly rules.Rule<NodeProxyConfiguration>[] = [
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

/** The first conflict between the fields of one mode; the table knows their paths at run time. */
function conflictOf(mode: ModeDefinition) {
  return (config: NodeProxyConfiguration): Conflict | undefined => {
    const [first] = [...minAboveSync(mode, config), ...mode.conflicts(config)]
    return first as Conflict | undefined
  }
}

function minAboveSync(
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
