import type { Command } from 'commander'
import type { Terminal } from '../../settings/answers.ts'

/** 0: all is well; 1: something is wrong, or failed; 2: wrong usage; 3: node-proxy or the kernel cannot be reached. */
export type CommandExitCode = 0 | 1 | 2 | 3

/** What a command uses outside of this program. */
export interface CommandHost extends Terminal {
  readonly version: string
  /** Aborted by SIGINT or SIGTERM, which end a command that runs until then. */
  readonly signal: AbortSignal
}

/** What a running command uses. */
export interface CommandContext {
  readonly host: CommandHost
  /** Sets the exit code of the program. */
  readonly finish: (code: CommandExitCode) => void
}

/** One command, in a folder of its own, loaded when it runs. */
export interface CommandModule {
  /** Adds arguments, flags and the action to the command, which has its name already. */
  define(command: Command, context: CommandContext): void
}

/** A row of the table of commands. */
export interface CommandEntry {
  readonly name: string
  /** One line for the help. */
  readonly summary: string
  load(): Promise<CommandModule>
}
