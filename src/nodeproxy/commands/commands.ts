import type { CommandEntry } from './command-module.ts'

/** The commands beside the daemon itself: one folder and one entry each. None of them changes anything. */
export const COMMANDS: readonly CommandEntry[] = []

/** The command that the arguments name; undefined: they are the daemon's. */
export function commandOf(args: readonly string[]): CommandEntry | undefined {
  return COMMANDS.find(({ name }) => name === args[0])
}
