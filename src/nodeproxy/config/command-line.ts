import type { FieldPath } from './configuration.ts'

/** What the command line asks for, apart from settings. */
export interface CommandLine {
  readonly config: string | undefined
  readonly writeConfigTo: string | undefined
  /** URL of the API server; overrides that of the kubeconfig. */
  readonly master: string | undefined
  readonly cleanup: boolean
  readonly initOnly: boolean
  readonly version: boolean
  readonly help: boolean
  /** Settings in the order given; the last of a kind counts, lists add up. */
  readonly settings: readonly GivenFlag[]
  /** Flags that mean nothing here, each once. */
  readonly ignored: readonly string[]
}

export interface GivenFlag {
  readonly path: FieldPath
  readonly flag: string
  readonly text: string
}

/** Flags that are no setting of the file. `value`: what stands for it in the help; absent: a switch. */
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
  version: { doc: 'Print the version and exit.' },
  help: { doc: 'Print this and exit.' },
} as const satisfies Readonly<Record<string, { readonly value?: string; readonly doc: string }>>

/** Deprecated: a port that replaces the one of an address; 0 is no address at all. */
export const PORT_FLAGS = {
  'healthz-port': { path: 'healthzBindAddress', instead: 'healthz-bind-address' },
  'metrics-port': { path: 'metricsBindAddress', instead: 'metrics-bind-address' },
} as const satisfies Readonly<
  Record<string, { readonly path: FieldPath; readonly instead: string }>
>

export type PortFlag = keyof typeof PORT_FLAGS
