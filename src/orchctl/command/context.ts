import type { Session } from '../session/session.ts'
import type { CommandEntry } from './command-module.ts'
import type { ExitCode } from './exit-code.ts'
import type { GlobalFlags } from './global-flags.ts'
import type { Host } from './host.ts'

/** What a running command uses. */
export interface CommandContext {
  readonly host: Host
  readonly commands: readonly CommandEntry[]
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
