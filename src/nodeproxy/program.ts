import { writeFile } from 'node:fs/promises'
import { NodeProxyError, systemCode } from '../lib/error.ts'
import { describeFault } from '../lib/yaml.ts'
import {
  type Answers,
  asProblem,
  createAnswers,
  type ExitCode,
  type Output,
  type Terminal,
} from '../settings/answers.ts'
import type { ConfigurationFile } from '../settings/configuration-file.ts'
import type { CommandLine } from './config/command-line.ts'
import { chooseModes } from './config/fields/mode-registry.ts'
import { parseFlags } from './config/flags.ts'
import type { Launch } from './config/load.ts'
import { type LoadedConfiguration, loadConfiguration } from './config/load.ts'
import { type NodeProxyTable, SETTINGS_TABLE } from './config/settings-table.ts'

/** The part of the program that is loaded only when it runs. */
export interface Daemon {
  /** Runs until a signal ends it; with line.initOnly only what needs full privileges. */
  runDaemon(config: Launch['config'], launch: Launch): Promise<ExitCode>
  /** Removes every trace of every mode, and nothing else. */
  cleanUp(config: Launch['config'], launch: Launch): Promise<ExitCode>
}

/** What the program uses outside of itself. */
export interface Host extends Terminal {
  /** Where records go; standard output unless given. */
  readonly logStream?: Output
  readonly version: string
  /** Names of the modes of this build, best first. */
  readonly modes: readonly string[]
  /** The settings of those modes and of the daemon; those of this build unless given. */
  readonly table?: NodeProxyTable
  /** The commands beside the daemon, for the help; none unless given. */
  readonly subcommands?: NonNullable<NodeProxyTable['subcommands']>
  loadDaemon(): Promise<Daemon>
}

/** The program, from its arguments (without node and script) to its exit code. */
export async function runProgram(args: readonly string[], host: Host): Promise<ExitCode> {
  const flags = parseFlags(args, tableOf(host))
  if (!flags.ok) return answers(host).refuse([flags.problem])
  const { line } = flags
  if (line.help) return help(host)
  if (line.version) return answers(host).print(`node-proxy ${host.version}\n`)
  try {
    const file = await readFileOf(line, tableOf(host))
    const loaded = await loadConfiguration(file, line, tableOf(host))
    if (!loaded.ok) return answers(host).refuse(loaded.problems)
    if (line.writeConfigTo !== undefined) return await writeConfig(host, line.writeConfigTo, loaded)
    if (!line.cleanup) chooseModes(loaded.config.mode, host.modes)
    return await start(host, { loaded, line, file })
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return answers(host).refuse([asProblem(error)])
  }
}

interface Prepared {
  readonly loaded: LoadedConfiguration
  readonly line: CommandLine
  readonly file: ConfigurationFile | undefined
}

async function start(host: Host, { loaded, line, file }: Prepared): Promise<ExitCode> {
  const { createLogger } = await import('../telemetry/logger.ts')
  const { config, settings, warnings } = loaded
  const log = await createLogger({
    verbosity: config.logging.verbosity,
    pretty: host.stdout.isTTY === true,
    ...(host.logStream && { stream: host.logStream }),
  })
  for (const warning of warnings) log.warn({ code: warning.code }, describeFault(warning))
  const reload = (changed: ConfigurationFile) => loadConfiguration(changed, line, tableOf(host))
  const launch: Launch = {
    config,
    settings,
    warnings,
    line,
    file,
    log,
    reload,
    version: host.version,
  }
  try {
    const daemon = await host.loadDaemon()
    return await (line.cleanup ? daemon.cleanUp(config, launch) : daemon.runDaemon(config, launch))
  } catch (error) {
    log.fatal({ err: error }, 'node-proxy ends')
    return 1
  }
}

async function readFileOf(
  line: CommandLine,
  table: NodeProxyTable,
): Promise<ConfigurationFile | undefined> {
  if (line.config === undefined) return undefined
  const { readConfigurationFile } = await import('../settings/configuration-file.ts')
  return readConfigurationFile(line.config, table.codes)
}

async function writeConfig(host: Host, path: string, { config }: LoadedConfiguration) {
  const { configurationYaml } = await import('../settings/settings.ts')
  try {
    await writeFile(path, await configurationYaml(tableOf(host), config))
  } catch (cause) {
    const code = systemCode(cause)
    const error = new NodeProxyError('NP_NODEPROXY_CONFIG_WRITE', `cannot write ${path}: ${code}`, {
      hint: 'choose a file in a folder that exists and can be written',
    })
    return answers(host).fail(error)
  }
  host.stderr.write(`wrote ${path}\n`)
  return 0
}

async function help(host: Host): Promise<ExitCode> {
  const { helpText } = await import('../settings/help.ts')
  const { subcommands = [] } = host
  return answers(host).print(helpText({ ...tableOf(host), subcommands }))
}

function answers(host: Host): Answers {
  return createAnswers(tableOf(host).program, host)
}

function tableOf({ table = SETTINGS_TABLE }: Host): NodeProxyTable {
  return table
}
