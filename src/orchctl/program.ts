import { Command, CommanderError } from 'commander'
import { NodeProxyError } from '../lib/error.ts'
import { commandNames, explainRefusal, normalised, unknownCommand } from './arguments.ts'
import { COMMANDS } from './commands.ts'
import { reportError } from './output/report-error.ts'
import { oneLine } from './output/terminal-text.ts'
import type { CommandContext } from './session/command-module.ts'
import type { Session } from './session/open-session.ts'
import { type ExitCode, exitCodeOf } from './usage/exit-code.ts'
import { addGlobalFlags, type GlobalFlags } from './usage/global-flags.ts'
import type { Host } from './usage/host.ts'

const ABOUT =
  'The command line of an API server: orch-server, or any that is compatible with Kubernetes.'

const EXIT_CODES = `
Exit codes:
  0  done
  1  refused by the server, not found, or failed
  2  wrong usage, or a kubeconfig that cannot be used
  3  the server cannot be reached, or is no API server

Environment:
  KUBECONFIG   kubeconfigs, separated by colons; the first file that has an entry counts
  NO_COLOR     no colours on a terminal
`

/** The program, from its arguments (without node and script) to its exit code. */
export async function runOrchctl(args: readonly string[], host: Host): Promise<ExitCode> {
  const state: State = { code: 0, session: undefined }
  const close = (): Promise<void> | undefined =>
    state.session?.then((session) => session.close()).catch(() => undefined)
  // Requests that are under way end when the user interrupts the program.
  host.signal.addEventListener('abort', () => void close(), { once: true })
  try {
    const program = await assemble(args, host, state)
    await program.parseAsync([...normalised(args, program)], { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return 0
    const shown = error instanceof CommanderError ? explainRefusal(error, args) : error
    if (host.signal.aborted) return 1
    reportError(shown, host)
    return exitCodeOf(shown)
  } finally {
    await close()
  }
  return state.code
}

interface State {
  code: ExitCode
  session: Promise<Session> | undefined
}

/** The program with all commands by name; only those that the arguments name are loaded. */
async function assemble(args: readonly string[], host: Host, state: State): Promise<Command> {
  const program = new Command('orchctl')
    .description(ABOUT)
    .usage('[flags] COMMAND [arguments]')
    .exitOverride()
    .configureOutput({ writeOut: (text) => host.stdout.write(text), writeErr: () => undefined })
    .version(`orchctl ${host.version}`, '-V, --version', 'show the version of orchctl')
    .helpOption('-h, --help', 'show this help, or that of a command')
    .addHelpText('after', EXIT_CODES)
  addGlobalFlags(program)
  const context = contextOf(program, host, state)
  const named = commandNames(args)
  if (named.length === 0) program.action(() => program.help())
  for (const entry of COMMANDS) {
    const { name, aliases = [], summary, isHidden = false } = entry
    const command = program.command(name, { hidden: isHidden }).aliases([...aliases])
    command.summary(summary).description(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`)
    command.addHelpText('after', '\nThe flags that every command has: orchctl --help')
    if (!named.some((word) => word === name || aliases.includes(word))) continue
    const module = await entry.load()
    module.define(command, context)
  }
  const wrong = unknownCommand(named, COMMANDS)
  if (wrong !== undefined) throw wrong
  return program
}

function contextOf(program: Command, host: Host, state: State): CommandContext {
  const globals = (): GlobalFlags => program.opts<GlobalFlags>()
  const notice = (line: string): void => void host.stderr.write(`${oneLine(line)}\n`)
  const commands = COMMANDS.map((entry) => ({
    ...entry,
    define: async (command: Command) => (await entry.load()).define(command, context),
  }))
  const context: CommandContext = {
    host,
    globals,
    notice,
    commands,
    session: () => {
      state.session ??= import('./session/open-session.ts').then(({ openSession }) =>
        openSession({ flags: globals(), env: host.env, version: host.version, notice }),
      )
      return state.session
    },
    print: (text) => void host.stdout.write(text),
    report: (error) => {
      reportError(error, host)
      if (error instanceof NodeProxyError) state.code = Math.max(state.code, exitCodeOf(error))
    },
    finish: (code) => {
      state.code = Math.max(state.code, code)
    },
  }
  return context
}
