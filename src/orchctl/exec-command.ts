import type { Readable } from 'node:stream'
import type { Command } from 'commander'
import { NodeProxyError } from '../lib/error.ts'
import type { CommandResult } from '../streams/node-streams.ts'
import { COMMAND_V5 } from '../streams/remote-command/channels.ts'
import {
  createRemoteCommand,
  type RemoteCommand,
} from '../streams/remote-command/command-client.ts'
import { defaultContainer, podPath, podsOf } from './discovery/pods-of.ts'
import { type CommandContext, type Run, runs } from './session/command-module.ts'
import { openStream } from './session/open-stream.ts'
import { usageError } from './usage/exit-code.ts'
import { type Host, type OutputStream, type Terminal, writeBytes } from './usage/host.ts'

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
    .option('-c, --container <name>', 'the container; the default one unless given')
    .option('-i, --stdin', 'pass standard input on')
    .option('-t, --tty', 'give the command a terminal')
    .addHelpText('after', ABOUT)
  runs(command, context, exec)
}

const exec: Run<ExecFlags> = async ([operand = '', ...words], flags, context) => {
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
  const { container = defaultContainer(pod), stdin = false } = flags
  const query = queryOf({ container, stdin, hasTerminal }, words)
  const session = await context.session()
  const { messages } = await openStream(session, {
    path: `${await podPath(pod, context)}/exec`,
    query,
    protocol: COMMAND_V5,
    userAgent: `orchctl/${host.version}`,
    signal: host.signal,
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

interface ExecOptions {
  readonly container: string
  readonly stdin: boolean
  readonly hasTerminal: boolean
}

function queryOf(
  { container, stdin, hasTerminal }: ExecOptions,
  words: readonly string[],
): URLSearchParams {
  const switches = { stdin, stdout: true, stderr: !hasTerminal, tty: hasTerminal }
  const query = new URLSearchParams(
    Object.entries(switches).map(([name, isOn]) => [name, String(isOn)]),
  )
  query.set('container', container)
  for (const word of words) query.append('command', word)
  return query
}

interface ConversationOptions {
  readonly isInputSent: boolean
  /** The terminal whose keys and size are passed to the command. */
  readonly terminal?: Terminal
}

/** Connects a remote command with the program's input and outputs until the command ends; an interrupt ends it, too. */
async function converse(
  remote: RemoteCommand,
  host: Host,
  { isInputSent, terminal }: ConversationOptions,
): Promise<CommandResult> {
  using held = new DisposableStack()
  const close = (): void => remote.close()
  host.signal.addEventListener('abort', close, { once: true })
  held.defer(() => host.signal.removeEventListener('abort', close))
  if (terminal !== undefined) {
    terminal.setRaw(true)
    held.defer(() => terminal.setRaw(false))
    const resize = (): void => remote.resize(terminal.size())
    held.defer(terminal.onResize(resize))
    resize()
  }
  if (isInputSent) {
    void sendInput(host, remote)
    held.defer(() => void host.stdin.destroy?.())
  } else remote.stdin.end()
  const outputs = [copy(remote.stdout, host.stdout), copy(remote.stderr, host.stderr)]
  const result = await remote.ended
  await Promise.all(outputs)
  return result
}

/** Passes the input on until it ends, or until the command accepts no more. */
async function sendInput({ stdin }: Host, remote: RemoteCommand): Promise<void> {
  try {
    for await (const chunk of stdin) {
      const isTaken = await new Promise<boolean>((resolve) => {
        remote.stdin.write(chunk, (error) => resolve(error === null || error === undefined))
      })
      if (!isTaken) return
    }
  } catch {
    // Reading the input was cut off, for example because the command has ended.
  }
  remote.stdin.end()
}

async function copy(from: Readable, to: OutputStream): Promise<void> {
  for await (const chunk of from) await writeBytes(to, chunk as Uint8Array)
}
