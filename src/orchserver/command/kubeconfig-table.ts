import type { CommandFlags } from '../../settings/command-line.ts'
import { type SettingsTable, settingsTable } from '../../settings/table.ts'
import { COMMAND_FLAGS } from '../config/command-flags.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/fields/settings-table.ts'

const KUBECONFIG_FLAGS = {
  user: {
    value: 'name',
    doc: 'Write a kubeconfig with a client certificate of this user. Works also while no server runs.',
  },
  group: {
    value: 'name',
    isRepeated: true,
    doc: 'With --user: a group of the user. Give it again for more groups.',
  },
  'service-account': {
    value: 'namespace/name',
    doc: 'Write a kubeconfig with a token of this service account, which the running server issues.',
  },
  audience: {
    value: 'name',
    isRepeated: true,
    doc: 'With --service-account: who is to accept the token. Give it again for more. None: this server.',
  },
  'no-renewal': {
    doc: 'With --service-account: the account does not get the right to renew this token, which then ends after --valid-for. Without it, node-proxy and orch-dns renew the token in their kubeconfig in time.',
  },
  'valid-for': {
    value: 'duration',
    doc: 'How long the certificate or the token is good, from 10m on. A certificate ends no later than the authority; the server may shorten the life of a token. Default: 720h, which is 30 days.',
  },
  server: {
    value: 'url',
    doc: 'The address of the server in the new kubeconfig, https. Default: that of the kubeconfig which the server writes at its start.',
  },
  output: {
    value: 'file',
    doc: 'Where to write it, for this user only. A file that this command did not write is never replaced. Default: -, the standard output.',
  },
  config: COMMAND_FLAGS.config,
  help: COMMAND_FLAGS.help,
} as const satisfies CommandFlags

/** The settings that say where the authority and the kubeconfig of the server are. */
const SHARED: readonly string[] = ['dataDir', 'kubeconfig']

const TABLE = settingsTable<OrchServerConfiguration, typeof KUBECONFIG_FLAGS>({
  ...SETTINGS_TABLE,
  program: 'orch-server kubeconfig',
  about:
    'orch-server kubeconfig gives access to another user: it writes a kubeconfig with a client certificate of a user (--user) or a token of a service account (--service-account). What they may do is up to the bindings of their names and groups.',
  commandFlags: KUBECONFIG_FLAGS,
})

/** The flags of the command: its own, and the few settings that it reads. */
export const KUBECONFIG_TABLE: SettingsTable<OrchServerConfiguration, typeof KUBECONFIG_FLAGS> = {
  ...TABLE,
  entries: TABLE.entries.filter(([path]) => SHARED.includes(path)),
}

export type KubeconfigFlags = typeof KUBECONFIG_FLAGS
