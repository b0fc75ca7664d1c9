import type { Command } from 'commander'
import type { ExitCode } from '../usage/exit-code.ts'
import type { GlobalFlags } from '../usage/global-flags.ts'
import type { Host } from '../usage/host.ts'
import type { Session } from './open-session.ts'

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
  /** Sets the exit code of the program, unless a reported error has set a higher one. */
  finish(code: ExitCode): void
}

/** One command, in a folder of its own, loaded when it is needed. */
export interface CommandModule {
  /** Adds arguments, flags and, by `runs`, the action to the command, which has its name already. */
  define(command: Command, context: CommandContext): void
}

/** A line of the table of commands. */
export interface CommandEntry {
  readonly name: string
  readonly aliases?: readonly string[]
  /** One line for the help. */
  readonly summary: string
  /** Whether the help leaves it out. */
  readonly isHidden?: boolean
  load(): Promise<CommandModule>
}

/** What a command does, with its operands and flags. @returns the exit code of the program */
export type Run<Flags> = (
  args: readonly string[],
  flags: Flags,
  context: CommandContext,
) => Promise<ExitCode>

/** Sets the action of a command. A flag that its parent command also has is parsed there, and counts for both. */
export function runs<Flags extends object>(
  command: Command,
  context: CommandContext,
  run: Run<Flags>,
): Command {
  return command.action(async () => {
    context.finish(await run(command.args, command.optsWithGlobals<Flags>(), context))
  })
}

/** A command of the program, for completion. */
interface KnownCommand {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly isHidden?: boolean
  /** Adds its arguments, flags and commands. */
  define(command: Command): Promise<void>
}
