import type { CommandFlags, GivenFlags } from '../../settings/command-line.ts'
import type { NodeProxyConfiguration } from './fields/configuration.ts'

/** What the daemon's command line requests. */
export interface CommandLine extends GivenFlags<NodeProxyConfiguration> {
  readonly config: string | undefined
  readonly writeConfigTo: string | undefined
  /** URL of the API server; overrides that of the kubeconfig. */
  readonly master: string | undefined
  readonly cleanup: boolean
  readonly initOnly: boolean
  /** Milliseconds that another node-proxy has to end; undefined: as the task needs it. */
  readonly wait: number | undefined
  readonly version: boolean
  readonly help: boolean
}

/** Flags that are no setting of the file. */
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
