import { NodeProxyError } from '../../../lib/error.ts'
import { describeProblem, type Problem } from '../../../settings/problem.ts'
import { readConfigurationFile } from '../../../settings/read-file.ts'
import type { CommandLine } from '../../config/command-line.ts'
import { parseFlags } from '../../config/flags.ts'
import { type LoadedConfiguration, loadConfiguration } from '../../config/load.ts'
import { SETTINGS_TABLE } from '../../config/settings-table.ts'

/** What the daemon would be started with. */
export interface DaemonFlags {
  readonly loaded: LoadedConfiguration
  readonly line: CommandLine
}

/** Loads the configuration that the daemon has with these flags. Throws NP_NODEPROXY_USAGE with every problem. */
export async function loadDaemonFlags(args: readonly string[]): Promise<DaemonFlags> {
  const flags = parseFlags(args)
  if (!flags.ok) throw wrongFlag(flags.problem)
  const { line } = flags
  const task = Object.entries({
    '--cleanup': line.cleanup,
    '--init-only': line.initOnly,
    '--version': line.version,
    '--write-config-to': line.writeConfigTo !== undefined,
  }).find(([, isGiven]) => isGiven)
  if (task !== undefined) {
    throw new NodeProxyError('NP_NODEPROXY_USAGE', `${task[0]} is no flag of plan; leave it out`)
  }
  const file =
    line.config === undefined
      ? undefined
      : await readConfigurationFile(line.config, SETTINGS_TABLE.codes)
  const loaded = await loadConfiguration(file, line)
  if (!loaded.ok) throw wrong(loaded.problems)
  return { loaded, line }
}

function wrongFlag(problem: Problem): NodeProxyError {
  if (!problem.message.startsWith('unknown flag')) return wrong([problem])
  const hint = 'see node-proxy plan --help, and node-proxy --help for its other flags'
  return new NodeProxyError('NP_NODEPROXY_USAGE', `unknown option '${problem.field}'`, { hint })
}

function wrong(problems: readonly Problem[]): NodeProxyError {
  const message = problems.map((one) => `${describeProblem(one)} (${one.code})`).join('; ')
  return new NodeProxyError('NP_NODEPROXY_USAGE', message)
}
