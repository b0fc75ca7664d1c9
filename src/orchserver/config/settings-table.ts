import { DNS_FIELDS } from '../../dns/dns-fields.ts'
import { settingsTable } from '../../settings/table.ts'
import { CONTROLLER_FIELDS, SANDBOX_NODE_FIELDS } from './background-fields.ts'
import { COMMAND_FLAGS, type OrchServerConfiguration } from './configuration.ts'
import { AUTHENTICATION_FIELDS, SERVICE_ACCOUNT_FIELDS } from './identity-fields.ts'
import { AUDIT_FIELDS, LIMIT_FIELDS } from './limit-fields.ts'
import { RULES } from './rules.ts'
import {
  ENCRYPTION_FIELDS,
  KUBELET_FIELDS,
  SERVING_FIELDS,
  STORAGE_FIELDS,
} from './serving-fields.ts'

/** The table of orch-server's settings, from which everything about them is derived. */
export const SETTINGS_TABLE = settingsTable<OrchServerConfiguration, typeof COMMAND_FLAGS>({
  program: 'orch-server',
  about:
    'orch-server is the control plane of a small cluster: an API server for kubectl, client libraries and node-proxy, with a store of its own or on etcd. `orch-server backup FILE` writes its store to a file while it runs, `orch-server restore FILE` takes it back, `orch-server check` names what is damaged in a store, or `orch-server check FILE` in a backup. `orch-server kubeconfig` gives other users access, `orch-server node-certificate` certifies a node; the --help of each has its flags.',
  fields: {
    ...SERVING_FIELDS,
    ...AUTHENTICATION_FIELDS,
    ...SERVICE_ACCOUNT_FIELDS,
    ...KUBELET_FIELDS,
    ...STORAGE_FIELDS,
    ...ENCRYPTION_FIELDS,
    ...CONTROLLER_FIELDS,
    ...DNS_FIELDS,
    ...SANDBOX_NODE_FIELDS,
    ...AUDIT_FIELDS,
    ...LIMIT_FIELDS,
  },
  kind: { apiVersion: 'server.config.orch.io/v1alpha1', kind: 'OrchServerConfiguration' },
  foreignKinds: [],
  commandFlags: COMMAND_FLAGS,
  deprecatedFlags: new Map(),
  ignoredFlags: new Map(),
  rules: RULES,
  codes: {
    flag: 'NP_ORCHSERVER_FLAG',
    unreadable: 'NP_ORCHSERVER_CONFIG_UNREADABLE',
    syntax: 'NP_ORCHSERVER_CONFIG_SYNTAX',
    kind: 'NP_ORCHSERVER_CONFIG_KIND',
    field: 'NP_ORCHSERVER_CONFIG_FIELD',
    value: 'NP_ORCHSERVER_CONFIG_VALUE',
    conflict: 'NP_ORCHSERVER_CONFIG_CONFLICT',
    ignored: 'NP_ORCHSERVER_CONFIG_IGNORED',
  },
})
