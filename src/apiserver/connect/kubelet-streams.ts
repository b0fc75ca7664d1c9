import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { timestamp } from '../../lib/duration.ts'
import {
  type AttachOptions,
  type CommandResult,
  type ContainerTarget,
  type LogOptions,
  type NodeStreams,
  type PodDialer,
  type PodTarget,
  type RunningCommand,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import { createForwardingClient, PORT_FORWARD } from '../../streams/port-forward.ts'
import { COMMAND_V4 } from '../../streams/remote-command/channels.ts'
import { createSpdyCommand } from '../../streams/remote-command/command-client.ts'
import type { ServerContext } from '../context/server-context.ts'
import { StatusError } from '../status/status.ts'
import { type NodeTarget, requestNode, upgradeNode } from './node-client.ts'

/** Characters of an error that a client is shown. */
const MAX_SHOWN = 1000
const CONTROL = /[\p{C}\p{Zl}\p{Zp}]+/gu
/** How a kubelet begins the message of a failure, which the server begins in the same way. */
const INTERNAL = /^(?:Internal error occurred: )+/u

/**
 * The streams of Pods that a kubelet runs, as it offers them to kube-apiserver. It is talked to over SPDY/3.1, which
 * kubelets of every version know, whatever the client of this server talks.
 */
export function kubeletStreams(context: ServerContext, target: NodeTarget): Required<NodeStreams> {
  const kubelet = { context, target }
  return {
    logs: (container, options, signal) => readLog(kubelet, container, { options, signal }),
    run: (container, { command, ...options }) => {
      const query = streamQuery(options)
      for (const word of command) query.append('command', word)
      return startCommand(kubelet, `/exec/${pathOf(container)}?${query.toString()}`, options)
    },
    attach: (container, options) =>
      startCommand(
        kubelet,
        `/attach/${pathOf(container)}?${streamQuery(options).toString()}`,
        options,
      ),
    dialer: (pod) => openDialer(kubelet, pod),
  }
}

interface Kubelet {
  readonly context: ServerContext
  readonly target: NodeTarget
}

async function readLog(
  { context, target }: Kubelet,
  container: ContainerTarget,
  { options, signal }: { readonly options: LogOptions; readonly signal: AbortSignal },
): Promise<AsyncIterable<Buffer> | StreamRefusal> {
  const path = `/containerLogs/${pathOf(container)}?${logQuery(options).toString()}`
  const request = { method: 'GET', path, headers: { Accept: 'text/plain, */*' } }
  const answered = await requestNode(context, target, request, signal)
  if (answered instanceof StatusError) return unreachable(answered)
  const { answer } = answered
  if (answer.statusCode === 200) return answer
  return refusalOf(answer)
}

function logQuery({ follow, previous, timestamps, tailLines, since }: LogOptions): URLSearchParams {
  return new URLSearchParams({
    ...(follow && { follow: 'true' }),
    ...(previous && { previous: 'true' }),
    ...(timestamps && { timestamps: 'true' }),
    ...(tailLines !== undefined && { tailLines: String(tailLines) }),
    ...(since !== undefined && { sinceTime: timestamp(since) }),
  })
}

async function refusalOf(answer: IncomingMessage): Promise<StreamRefusal> {
  const why = shown((await buffer(answer).catch(() => Buffer.alloc(0))).toString())
  const code = answer.statusCode ?? 0
  return refusal(code, why)
}

async function startCommand(
  kubelet: Kubelet,
  path: string,
  { tty, stdin }: AttachOptions,
): Promise<RunningCommand | StreamRefusal> {
  const opened = await openSpdy(kubelet, path, COMMAND_V4)
  if (opened instanceof StreamRefusal) return opened
  const command = createSpdyCommand(opened, { stdin, stdout: true, stderr: !tty, tty })
  return {
    stdin: command.stdin,
    stdout: command.stdout,
    stderr: tty ? undefined : command.stderr,
    resize: (size) => command.resize(size),
    ended: command.ended.then(endOf),
    kill: () => command.close(),
  }
}

function endOf(result: CommandResult): CommandResult {
  if (!('problem' in result)) return result
  return { problem: shown(result.problem).replace(INTERNAL, '') }
}

async function openDialer(kubelet: Kubelet, pod: PodTarget): Promise<PodDialer | StreamRefusal> {
  const opened = await openSpdy(kubelet, `/portForward/${podPath(pod)}`, PORT_FORWARD)
  if (opened instanceof StreamRefusal) return opened
  const client = createForwardingClient(opened)
  return {
    connect: (port) =>
      client
        .connect(port)
        .catch((error: Error) => new StreamRefusal('failed', shown(error.message))),
    ended: client.closed.then(() => undefined),
    close: () => client.close(),
  }
}

async function openSpdy(
  { context, target }: Kubelet,
  path: string,
  protocol: string,
): Promise<Duplex | StreamRefusal> {
  const headers = {
    Connection: 'Upgrade',
    Upgrade: 'SPDY/3.1',
    'X-Stream-Protocol-Version': protocol,
  }
  const request = { method: 'POST', path, headers }
  const opened = await upgradeNode(context, target, request, new AbortController().signal)
  if (opened instanceof StatusError) return unreachable(opened)
  if ('channel' in opened) return opened.channel
  return refusal(opened.statusCode, shown(opened.message))
}

function streamQuery({ tty, stdin }: AttachOptions): URLSearchParams {
  return new URLSearchParams({
    ...(stdin && { input: '1' }),
    output: '1',
    ...(tty ? { tty: '1' } : { error: '1' }),
  })
}

function pathOf(target: ContainerTarget): string {
  return `${podPath(target)}/${encodeURIComponent(target.container)}`
}

function podPath({ namespace, name }: PodTarget): string {
  return `${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
}

function refusal(code: number, why: string): StreamRefusal {
  const text = why || `the kubelet answers with status ${code}`
  if (code === 404) return new StreamRefusal('absent', text)
  return new StreamRefusal(code >= 400 && code < 500 ? 'invalid' : 'failed', text)
}

function unreachable({ status }: StatusError): StreamRefusal {
  return new StreamRefusal('unreachable', status.message)
}

/** Without characters that could control a terminal. */
function shown(text: string): string {
  return text.replace(CONTROL, ' ').trim().slice(0, MAX_SHOWN)
}
