import type { CommandFlags } from '../../settings/command-line.ts'

/** Flags that are no setting of the file. */
export const COMMAND_FLAGS = {
  config: { value: 'file', doc: 'Configuration file (YAML or JSON). Flags win over it.' },
  replace: {
    doc: 'With the command restore: replace the store that the data directory holds.',
  },
  version: { doc: 'Print the version and exit.' },
  help: { doc: 'Print this and exit.' },
} as const satisfies CommandFlags
