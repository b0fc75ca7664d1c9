import type { Command } from 'commander'
import type { Output, Terminal } from '../../settings/answers.ts'

/** 0 all is well; 1 something is wrong, or failed; 2 wrong usage; 3 node-proxy or the kernel cannot be reached. */
export type CommandExitCode = 0 | 1 | 2 | 3

/** What a command touches of the outside world. */
export interface CommandHost extends Terminal {
  readonly version: string
  /** The environment, of which commands read NO_COLOR and TERM. */
  readonly env: Readonly<Record<string, string | undefined>>
  /** Ends a command that follows something: SIGINT or SIGTERM. */
  readonly signal: AbortSignal
}

/** What a running command uses. */
export interface CommandContext {
  readonly host: CommandHost
  /** Sets the exit code of the program. */
  finish(code: CommandExitCode): void
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

/** Whether text on this output may have colours: a terminal, and NO_COLOR (no-color.org) is not set. */
export function isColourful(output: Output, { env }: Pick<CommandHost, 'env'>): boolean {
  return output.isTTY === true && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}
