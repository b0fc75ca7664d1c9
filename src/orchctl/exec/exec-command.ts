import type { Command } from 'commander'
import { NodeProxyError } from '../../lib/error.ts'
import { COMMAND_V5 } from '../../streams/remote-command/channels.ts'
import { createRemoteCommand } from '../../streams/remote-command/command-client.ts'
import { runs } from '../command/command-module.ts'
import type { CommandContext } from '../command/context.ts'
import { openStream } from '../pods/open-stream.ts'
import { podPath, podsOf } from '../pods/pods-of.ts'
import type { ExitCode } from '../usage/exit-code.ts'
import { usageError } from '../usage/usage-error.ts'
import { converse } from './converse.ts'

const ABOUT = `
Ends with the exit code of the command. What the command prints reaches the terminal as it is.

Examples:
  orchctl exec web -- ls -l /etc
  orchctl exec -i web -- tar -x -C /tmp < files.tar
  orchctl exec -it web -c sidecar -- sh
`

interface ExecFlags {
  readonly container?: string
  readonly stdin?: boolean
  readonly tty?: boolean
}

/** `orchctl exec`. */
export function define(command: Command, context: CommandContext): void {
  command
    .argument(
      '<operands...>',
      'POD, or TYPE/NAME of what selects Pods; then -- COMMAND [ARGUMENT...]',
    )
    .option('-c, --container <name>', 'the container; the first one unless given')
    .option('-i, --stdin', 'pass standard input on')
    .option('-t, --tty', 'give the command a terminal')
    .addHelpText('after', ABOUT)
  runs<ExecFlags>(command, context, exec)
}

async function exec(
  [operand = '', ...words]: readonly string[],
  flags: ExecFlags,
  context: CommandContext,
): Promise<ExitCode> {
  if (words.length === 0) throw usageError('a command is missing', 'write exec POD -- COMMAND')
  const { host } = context
  const hasTerminal = flags.tty === true && host.terminal !== undefined
  if (flags.tty === true && !hasTerminal) {
    context.notice('orchctl: warning: standard input is no terminal, so the command gets none')
  }
  const [pod] = await (await podsOf(operand, context)).list()
  if (pod === undefined) {
    throw new NodeProxyError('NP_ORCHCTL_NO_PODS', `${operand} selects no Pod that exists`)
  }
  const query = queryOf(flags, words, hasTerminal)
  const session = await context.session()
  const { messages } = await openStream(session, {
    ...{ path: `${await podPath(pod, context)}/exec`, query, protocol: COMMAND_V5 },
    ...{ userAgent: `orchctl/${host.version}`, signal: host.signal },
  })
  const remote = createRemoteCommand(messages)
  const result = await converse(remote, host, {
    isInputSent: flags.stdin === true,
    ...(hasTerminal && { terminal: host.terminal }),
  })
  if ('exitCode' in result) return result.exitCode
  throw new NodeProxyError(
    'NP_ORCHCTL_STREAM',
    `the command could not be run to its end: ${result.problem}`,
  )
}

function queryOf(
  { container, stdin = false }: ExecFlags,
  words: readonly string[],
  hasTerminal: boolean,
): URLSearchParams {
  const switches = { stdin, stdout: true, stderr: !hasTerminal, tty: hasTerminal }
  const query = new URLSearchParams(
    Object.entries(switches).map(([name, isOn]) => [name, String(isOn)]),
  )
  if (container !== undefined) query.set('container', container)
  for (const word of words) query.append('command', word)
  return query
}
