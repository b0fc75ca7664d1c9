import type { GivenFlags } from '../../settings/flags.ts'
import type { CommandFlags } from '../../settings/table.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

/** The daemon's command line, parsed. */
export interface CommandLine extends GivenFlags<NodeProxyConfiguration> {
  /** Path of the configuration file. */
  readonly config: string | undefined
  /** Path of a file to which the effective configuration is to be written. */
  readonly writeConfigTo: string | undefined
  /** URL of the API server; overrides that of the kubeconfig. */
  readonly master: string | undefined
  readonly cleanup: boolean
  readonly initOnly: boolean
  /** Milliseconds to wait for another node-proxy to end; undefined: 30 s, or 0 with `cleanup`. */
  readonly wait: number | undefined
  readonly version: boolean
  readonly help: boolean
}

/** The flags that are not settings: the configuration file cannot contain them. */
export const COMMAND_FLAGS = {
  config: {
    value: 'file',
    doc: 'Configuration file (YAML or JSON). Flags win over it; a changed file is applied while running.',
  },
  'write-config-to': {
    value: 'file',
    doc: 'Write the effective configuration to this file and exit.',
  },
  master: {
    value: 'url',
    doc: 'Address of the API server; wins over the one in the kubeconfig.',
  },
  cleanup: { doc: 'Remove every trace that any mode has left in the kernel, and exit.' },
  'init-only': {
    doc: 'Do what needs full privileges (kernel modules, kernel settings), and exit.',
  },
  wait: {
    value: 'duration',
    doc: 'How long to wait for another node-proxy of this network namespace to end, such as 2m. 30s unless given; with --cleanup 0.',
  },
  version: { doc: 'Print the version and exit.' },
  help: { doc: 'Print this and exit.' },
} as const satisfies CommandFlags
