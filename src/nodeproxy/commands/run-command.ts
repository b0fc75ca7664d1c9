import { Command, CommanderError } from 'commander'
import { NodeProxyError } from '../../lib/error.ts'
import { asProblem, createAnswers } from '../../settings/answers.ts'
import type { CommandEntry, CommandExitCode, CommandHost } from './command-module.ts'

const EXIT_CODES = `
Exit codes:
  0  all is well
  1  something is wrong, or failed
  2  wrong usage
  3  node-proxy or the kernel cannot be reached
`

/** Runs one command with the arguments that follow its name. */
export async function runCommand(
  entry: CommandEntry,
  args: readonly string[],
  host: CommandHost,
): Promise<CommandExitCode> {
  let code: CommandExitCode = 0
  const command = new Command(`node-proxy ${entry.name}`)
    .description(`${entry.summary[0]?.toUpperCase()}${entry.summary.slice(1)}.`)
    .exitOverride()
    .configureOutput({ writeOut: (text) => host.stdout.write(text), writeErr: () => undefined })
    .helpOption('-h, --help', 'show this help')
    .addHelpText('after', EXIT_CODES)
  try {
    const module = await entry.load()
    module.define(command, { host, finish: (given) => (code = given) })
    await command.parseAsync([...args], { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return refusal(error, entry, host)
    if (!(error instanceof NodeProxyError)) throw error
    createAnswers('node-proxy', host).refuse([asProblem(error)])
    return exitCodeOf(error)
  }
}

function refusal(
  error: CommanderError,
  { name }: CommandEntry,
  host: CommandHost,
): CommandExitCode {
  if (error.exitCode === 0) return 0
  const message = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  const usage = new NodeProxyError('NP_NODEPROXY_USAGE', message, {
    hint: `see node-proxy ${name} --help`,
  })
  createAnswers('node-proxy', host).refuse([asProblem(usage)])
  return 2
}

function exitCodeOf({ code }: NodeProxyError): CommandExitCode {
  if (code.endsWith('_USAGE') || code === 'NP_MANIFESTS_INVALID') return 2
  return code.endsWith('_UNREACHABLE') ? 3 : 1
}
