import type { Command } from 'commander'
import type { Session } from '../session/session.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import type { GlobalFlags } from '../usage/global-flags.ts'
import type { Host } from '../usage/host.ts'

/** A command of the program, for completion. */
export interface KnownCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly isHidden?: boolean
  /** Adds its arguments, flags and commands. */
  define(command: Command): Promise<void>
}

/** What a running command uses. */
export interface CommandContext {
  readonly host: Host
  readonly commands: readonly KnownCommand[]
  /** The global flags of the command line. */
  globals(): GlobalFlags
  /** Opens the connection at the first call; the program closes it. */
  session(): Promise<Session>
  /** Writes text to standard output as it is. */
  print(text: string): void
  /** Writes one line to standard error, without control characters. */
  notice(line: string): void
  /** Reports an error on standard error, for commands that continue after it. */
  report(error: unknown): void
  /** Sets the exit code of the program. */
  finish(code: ExitCode): void
}
