import type { NodeProxyError } from '../../lib/error.ts'
import {
  type Answers,
  asProblem,
  createAnswers,
  type ExitCode,
  type Output,
  type Problem,
  type Terminal,
} from '../../settings/answers.ts'
import { flagProblem, parseFlags } from '../../settings/flags.ts'
import { helpText } from '../../settings/help.ts'
import { loadSettings } from '../../settings/load.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { OrchServerConfiguration } from '../config/configuration.ts'
import { SETTINGS_TABLE } from '../config/settings-table.ts'

/** The part of the program that is loaded only to serve. */
export interface Server {
  /** Why it cannot start, found before anything is made. */
  checkStart(config: OrchServerConfiguration): Promise<NodeProxyError | undefined>
  /** Serves until a signal ends it. */
  runServer(config: OrchServerConfiguration, log: Logger, version: string): Promise<void>
}

/** The program's access to its environment. */
export interface Host extends Terminal {
  /** Where records go; standard output unless given. */
  readonly logStream?: Output
  readonly version: string
  loadServer(): Promise<Server>
}

/** The program, from its arguments (without node and script) to its exit code. */
export async function runProgram(args: readonly string[], host: Host): Promise<ExitCode> {
  const split = splitSubCommand(args)
  if ('code' in split) return answers(host).refuse([split])
  if (split.command.verb === 'kubeconfig') {
    const { runKubeconfig } = await import('./run-kubeconfig.ts')
    return runKubeconfig(split.flags, host)
  }
  if (split.command.verb === 'node-certificate') {
    const { runNodeCertificate } = await import('./run-node-certificate.ts')
    return runNodeCertificate(split.flags, host)
  }
  const parsed = parseFlags(SETTINGS_TABLE, split.flags)
  if (!parsed.ok) return answers(host).refuse([parsed.problem])
  const { commands } = parsed.line
  if (commands.help) return answers(host).print(helpText(SETTINGS_TABLE))
  if (commands.version) return answers(host).print(`orch-server ${host.version}\n`)
  if (commands.replace && split.command.verb !== 'restore') {
    return answers(host).refuse([
      flagProblem(SETTINGS_TABLE, '--replace', 'is only for restore FILE'),
    ])
  }
  try {
    const loaded = await loadSettings(SETTINGS_TABLE, parsed.line)
    if (!loaded.ok) return answers(host).refuse(loaded.problems)
    if (split.command.verb === 'serve') return await serve(loaded.config, host)
    if (split.command.verb === 'check') return await checkStore(split.command, loaded.config, host)
    return await keepStore(split.command, { ...loaded, replace: commands.replace }, host)
  } catch (error) {
    return answers(host).refuse([asProblem(error)])
  }
}

async function serve(config: OrchServerConfiguration, host: Host): Promise<ExitCode> {
  const { createLogger } = await import('../../telemetry/logger.ts')
  const log = await createLogger({
    verbosity: config.logging.verbosity,
    pretty: host.stdout.isTTY === true,
    ...(host.logStream && { stream: host.logStream }),
  })
  try {
    const server = await host.loadServer()
    const wrong = await server.checkStart(config)
    if (wrong !== undefined) return answers(host).refuse([asProblem(wrong)])
    await server.runServer(config, log, host.version)
    return 0
  } catch (error) {
    log.fatal({ err: error }, 'orch-server ends')
    return 1
  }
}

interface Keeping {
  readonly config: OrchServerConfiguration
  readonly replace: boolean
}

/** Exit code 0: intact; 1: damaged or unreadable; 2: there is no store or backup. */
async function checkStore(
  { file }: Extract<SubCommand, { verb: 'check' }>,
  config: OrchServerConfiguration,
  host: Host,
): Promise<ExitCode> {
  const { check } = await import('../storage/check.ts')
  try {
    const { lines, isClean } = await check(config, file)
    answers(host).print(`${lines.join('\n')}\n`)
    return isClean ? 0 : 1
  } catch (error) {
    const problem = asProblem(error)
    return problem.code === 'NP_ORCHSERVER_CHECK'
      ? answers(host).refuse([problem])
      : answers(host).fail(error)
  }
}

/** Writes or restores a backup. */
async function keepStore(
  { verb, file }: Extract<SubCommand, { verb: 'backup' | 'restore' }>,
  { config, replace }: Keeping,
  host: Host,
): Promise<ExitCode> {
  const { backUp, restore } = await import('../storage/backup.ts')
  try {
    const warn = (text: string): void => void host.stderr.write(`orch-server: ${text}\n`)
    const text = await (verb === 'backup'
      ? backUp(config, file)
      : restore(config, file, { replace, warn }))
    return answers(host).print(`${text}\n`)
  } catch (error) {
    return answers(host).fail(error)
  }
}

function answers(host: Host): Answers {
  return createAnswers(SETTINGS_TABLE.program, host)
}

/** What the program is to do. */
type SubCommand =
  | { readonly verb: 'serve' }
  | { readonly verb: 'kubeconfig' }
  | { readonly verb: 'node-certificate' }
  | { readonly verb: 'backup' | 'restore'; readonly file: string }
  /** `file` undefined: the configured store. */
  | { readonly verb: 'check'; readonly file: string | undefined }

interface SubCommandLine {
  readonly command: SubCommand
  /** The arguments after the command. */
  readonly flags: readonly string[]
}

/**
 * Splits `backup FILE --flags`, `restore FILE --flags`, `check [FILE] --flags`, `kubeconfig --flags`,
 * `node-certificate --flags`; flags alone: serve.
 */
function splitSubCommand(args: readonly string[]): SubCommandLine | Problem {
  const [verb = '--', file = '--', ...flags] = args
  if (verb.startsWith('-')) return { command: { verb: 'serve' }, flags: args }
  if (verb === 'kubeconfig' || verb === 'node-certificate') {
    return { command: { verb }, flags: args.slice(1) }
  }
  if (verb === 'check') return splitCheck(args.slice(1))
  if (verb !== 'backup' && verb !== 'restore') {
    return flagProblem(
      SETTINGS_TABLE,
      verb,
      'no such command; write backup FILE, restore FILE, check [FILE], kubeconfig, node-certificate, or only flags to serve',
    )
  }
  if (['-h', '--help'].includes(file)) return { command: { verb: 'serve' }, flags: ['--help'] }
  return file === '' || file.startsWith('-')
    ? flagProblem(SETTINGS_TABLE, verb, `name the file right behind it: ${verb} FILE`)
    : { command: { verb, file }, flags }
}

function splitCheck(args: readonly string[]): SubCommandLine {
  const [file = '--', ...flags] = args
  if (args.some((arg) => ['-h', '--help'].includes(arg))) {
    return { command: { verb: 'serve' }, flags: ['--help'] }
  }
  return file === '' || file.startsWith('-')
    ? { command: { verb: 'check', file: undefined }, flags: args }
    : { command: { verb: 'check', file }, flags }
}
