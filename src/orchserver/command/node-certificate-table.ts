import type { CommandFlags } from '../../settings/command-line.ts'
import { type SettingsTable, settingsTable } from '../../settings/table.ts'
import { COMMAND_FLAGS } from '../config/command-flags.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/fields/settings-table.ts'

const NODE_CERTIFICATE_FLAGS = {
  node: { value: 'name', doc: 'The name of the Node object.' },
  address: {
    value: 'ip',
    isRepeated: true,
    doc: 'An address at which other machines reach the node: its InternalIP. Give it again for more.',
  },
  'valid-for': {
    value: 'duration',
    doc: 'How long the certificate is good, from 10m on, and no longer than its authority. Default: 8760h, which is 365 days.',
  },
  output: {
    value: 'folder',
    doc: 'Where to write tls.crt and tls.key, for this user only. Files that are there are replaced.',
  },
  config: COMMAND_FLAGS.config,
  help: COMMAND_FLAGS.help,
} as const satisfies CommandFlags

const TABLE = settingsTable<OrchServerConfiguration, typeof NODE_CERTIFICATE_FLAGS>({
  ...SETTINGS_TABLE,
  program: 'orch-server node-certificate',
  about:
    'orch-server node-certificate writes a certificate with which node-proxy serves inspection to other machines (inspection.tlsCertFile, inspection.tlsPrivateKeyFile). The authority of the data directory signs it, which kubeconfigs of this server trust. Works also while no server runs.',
  commandFlags: NODE_CERTIFICATE_FLAGS,
})

/** The flags of the command: its own, and the setting that says where the authority is. */
export const NODE_CERTIFICATE_TABLE: SettingsTable<
  OrchServerConfiguration,
  typeof NODE_CERTIFICATE_FLAGS
> = { ...TABLE, entries: TABLE.entries.filter(([path]) => path === 'dataDir') }

export type NodeCertificateFlags = typeof NODE_CERTIFICATE_FLAGS
