import type { Cidr } from '../../lib/ip.ts'
import { cidrList, type SocketAddress, socketAddress } from '../network-types.ts'
import { boolean, duration, oneOf } from '../scalar-types.ts'
import { type CommandFlags, type Rule, settingsTable } from '../table.ts'
import { accept } from '../value-type.ts'

/** A small server, for tests: a section, one inside it, a list, an address. */
export interface ServerConfiguration {
  readonly role: 'main' | 'spare'
  readonly listen: {
    readonly address: SocketAddress | undefined
    readonly timeout: number
    readonly tls: { readonly required: boolean }
  }
  readonly clients: readonly Cidr[]
}

export const SERVER_FLAGS = {
  config: { value: 'file', doc: 'Configuration file.' },
  version: { doc: 'Print the version and exit.' },
} as const satisfies CommandFlags

const tlsNeedsAddress: Rule<ServerConfiguration> = ({ listen }) =>
  listen.tls.required && listen.address === undefined
    ? {
        paths: ['listen.tls.required', 'listen.address'],
        message: 'TLS needs listen.address; set it',
      }
    : undefined

export const SERVER_TABLE = settingsTable<ServerConfiguration, typeof SERVER_FLAGS>({
  program: 'server',
  about: 'server serves.',
  fields: {
    role: {
      flag: 'role',
      type: oneOf(['main', 'spare']),
      fallback: 'main',
      doc: 'Who answers first.',
      zeroIsUnset: true,
    },
    'listen.address': {
      flag: 'listen-address',
      type: socketAddress(80),
      fallback: undefined,
      doc: 'Where it listens.',
      zeroIsUnset: true,
    },
    'listen.timeout': {
      flag: 'timeout',
      type: duration(1),
      fallback: 30_000,
      fallbackNote: '`"1m"` with TLS',
      doc: 'How long a client may be silent.',
      reload: 'live',
    },
    'listen.tls.required': {
      flag: 'require-tls',
      type: boolean,
      fallback: false,
      doc: 'Refuse clients without TLS.',
      reload: 'live',
    },
    clients: {
      flag: 'clients',
      type: cidrList,
      fallback: [],
      doc: 'Admitted clients. Empty: all.',
      reload: 'live',
    },
  },
  kind: { apiVersion: 'server.example/v1', kind: 'ServerConfiguration' },
  foreignKinds: [
    {
      apiVersion: 'old.example/v1',
      kind: 'OldConfiguration',
      ignoredFields: new Map([
        ['cache', 'there is no cache'],
        ['listen.backlog', 'the kernel decides'],
      ]),
    },
  ],
  commandFlags: SERVER_FLAGS,
  deprecatedFlags: new Map([
    [
      'port',
      {
        path: 'listen.address',
        value: 'port',
        translate: (port, settings) =>
          accept(settings.get('role')?.value === 'spare' ? `127.0.0.2:${port}` : `0.0.0.0:${port}`),
      },
    ],
  ]),
  ignoredFlags: new Map([['color', 'nothing is coloured']]),
  derive: (config, settings) =>
    config.listen.tls.required && !settings.has('listen.timeout')
      ? { ...config, listen: { ...config.listen, timeout: 60_000 } }
      : config,
  rules: [tlsNeedsAddress],
  codes: {
    flag: 'FLAG',
    unreadable: 'UNREADABLE',
    syntax: 'SYNTAX',
    kind: 'KIND',
    field: 'FIELD',
    value: 'VALUE',
    conflict: 'CONFLICT',
    ignored: 'IGNORED',
  },
})
