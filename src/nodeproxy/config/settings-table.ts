import { settingsTable } from '../../settings/table.ts'
import { COMMAND_FLAGS } from './command-line.ts'
import type { NodeProxyConfiguration } from './configuration.ts'
import { deriveAddresses } from './derived-addresses.ts'
import { FIELDS } from './fields/index.ts'
import { IGNORED_FIELDS, IGNORED_FLAGS } from './ignored-fields.ts'
import { PORT_FLAGS } from './port-flags.ts'
import { RULES } from './rules.ts'

/** The daemon's table of settings, from which everything about them is derived. */
export const SETTINGS_TABLE = settingsTable<NodeProxyConfiguration, typeof COMMAND_FLAGS>({
  program: 'node-proxy',
  about:
    "node-proxy watches Services and their endpoints and makes this node's kernel forward packets accordingly.",
  fields: FIELDS,
  kind: { apiVersion: 'proxy.config.orch.io/v1alpha1', kind: 'NodeProxyConfiguration' },
  foreignKinds: [
    {
      apiVersion: 'kubeproxy.config.k8s.io/v1alpha1',
      kind: 'KubeProxyConfiguration',
      ignoredFields: IGNORED_FIELDS,
    },
  ],
  commandFlags: COMMAND_FLAGS,
  deprecatedFlags: PORT_FLAGS,
  ignoredFlags: IGNORED_FLAGS,
  derive: deriveAddresses,
  rules: RULES,
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
