import { NodeProxyError } from '../lib/error.ts'
import {
  asProblem,
  createAnswers,
  type ExitCode,
  type Output,
  type Terminal,
} from '../settings/answers.ts'
import { parseFlags } from '../settings/flags.ts'
import { helpText } from '../settings/help.ts'
import { loadConfiguration } from '../settings/load.ts'
import { readConfigurationFile } from '../settings/read-file.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { OrchDnsConfiguration } from './config/configuration.ts'
import { SETTINGS_TABLE } from './config/settings-table.ts'

/** Serves until a signal ends it. */
export type RunDns = (config: OrchDnsConfiguration, log: Logger, version: string) => Promise<void>

/** What the program touches of the outside world. */
export interface Host extends Terminal {
  /** Where records go; standard output unless given. */
  readonly logStream?: Output
  readonly version: string
  /** The rest of the program, loaded only when it is to run. */
  loadServer(): Promise<RunDns>
}

/** The program, from its arguments (without node and script) to its exit code. */
export async function runProgram(args: readonly string[], host: Host): Promise<ExitCode> {
  const answers = createAnswers(SETTINGS_TABLE.program, host)
  const parsed = parseFlags(SETTINGS_TABLE, args)
  if (!parsed.ok) return answers.refuse([parsed.problem])
  const { commands } = parsed.line
  if (commands.help) return answers.print(helpText(SETTINGS_TABLE))
  if (commands.version) return answers.print(`orch-dns ${host.version}\n`)
  try {
    const file =
      commands.config === undefined
        ? undefined
        : await readConfigurationFile(commands.config, SETTINGS_TABLE.codes)
    const loaded = await loadConfiguration(SETTINGS_TABLE, file, parsed.line)
    if (!loaded.ok) return answers.refuse(loaded.problems)
    return await serve(loaded.config, host)
  } catch (error) {
    if (!(error instanceof NodeProxyError)) throw error
    return answers.refuse([asProblem(error)])
  }
}

async function serve(config: OrchDnsConfiguration, host: Host): Promise<ExitCode> {
  const { createLogger } = await import('../telemetry/logger.ts')
  const log = await createLogger({
    verbosity: config.logging.verbosity,
    pretty: host.stdout.isTTY === true,
    ...(host.logStream && { stream: host.logStream }),
  })
  const run = await host.loadServer()
  try {
    await run(config, log, host.version)
    return 0
  } catch (error) {
    log.fatal({ err: error }, 'orch-dns ends')
    return 1
  }
}
