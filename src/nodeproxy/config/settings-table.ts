import type { IpAddress } from '../../lib/ip.ts'
import type { ModeDefinition } from '../../modes/definition/mode-definition.ts'
import type { Settings } from '../../settings/field.ts'
import type { SocketAddress } from '../../settings/network-types.ts'
import { type SettingsTable, settingsTable } from '../../settings/table.ts'
import { COMMAND_FLAGS } from './command-line.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'
import { fieldsOf } from './fields/index.ts'
import { MODES } from './fields/mode-registry.ts'
import { IGNORED_FIELDS, IGNORED_FLAGS, PORT_FLAGS } from './kube-proxy-settings.ts'
import { rulesOf } from './rules.ts'

/** See `settingsTableOf`. */
export type NodeProxyTable = SettingsTable<NodeProxyConfiguration, typeof COMMAND_FLAGS>

/** The daemon's table of settings with these modes. `src/settings` derives parsing, help and documents from it. */
export function settingsTableOf(modes: readonly ModeDefinition[]): NodeProxyTable {
  return settingsTable<NodeProxyConfiguration, typeof COMMAND_FLAGS>({
    program: 'node-proxy',
    about:
      "node-proxy watches Services and their endpoints and makes this node's kernel forward packets accordingly.",
    fields: fieldsOf(modes),
    kind: { apiVersion: 'proxy.config.orch.io/v1alpha1', kind: 'NodeProxyConfiguration' },
    foreignKinds: [
      {
        apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
        kind: 'KubeProxyConfiguration',
        ignoredFields: IGNORED_FIELDS,
        impliedValues: modes.flatMap(({ name, kubeProxyDefaults = {} }) =>
          Object.entries(kubeProxyDefaults).map(([field, value]) => {
            return { field, value, where: { field: 'mode', is: name } }
          }),
        ),
      },
    ],
    commandFlags: COMMAND_FLAGS,
    deprecatedFlags: PORT_FLAGS,
    ignoredFlags: IGNORED_FLAGS,
    derive: deriveAddresses,
    rules: rulesOf(modes),
    codes: {
      flag: 'NP_NODEPROXY_FLAG',
      unreadable: 'NP_NODEPROXY_CONFIG_UNREADABLE',
      syntax: 'NP_NODEPROXY_CONFIG_SYNTAX',
      kind: 'NP_NODEPROXY_CONFIG_KIND',
      field: 'NP_NODEPROXY_CONFIG_FIELD',
      value: 'NP_NODEPROXY_CONFIG_VALUE',
      conflict: 'NP_NODEPROXY_CONFIG_CONFLICT',
      ignored: 'NP_NODEPROXY_CONFIG_IGNORED',
    },
  })
}

/** The table with the modes of this build. */
export const SETTINGS_TABLE = settingsTableOf(MODES)

/**
 * The configuration with IPv6 defaults where `bindAddress` is IPv6: `healthzBindAddress` on `::`,
 * `metricsBindAddress` and `inspection.pageBindAddress` on `::1`, unless they are set.
 */
function deriveAddresses(
  config: NodeProxyConfiguration,
  settings: Settings<NodeProxyConfiguration>,
): NodeProxyConfiguration {
  if (!config.bindAddress.includes(':')) return config
  const { healthzBindAddress, metricsBindAddress, inspection } = config
  const { pageBindAddress } = inspection
  return {
    ...config,
    healthzBindAddress: settings.has('healthzBindAddress')
      ? healthzBindAddress
      : withIp(healthzBindAddress, '::'),
    metricsBindAddress: settings.has('metricsBindAddress')
      ? metricsBindAddress
      : withIp(metricsBindAddress, '::1'),
    inspection: {
      ...inspection,
      pageBindAddress: settings.has('inspection.pageBindAddress')
        ? pageBindAddress
        : withIp(pageBindAddress, '::1'),
    },
  }
}

function withIp(address: SocketAddress | undefined, ip: '::' | '::1'): SocketAddress | undefined {
  return address && { ip: ip as IpAddress, port: address.port }
}
