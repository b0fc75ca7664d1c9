import type { Readable, Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import {
  type AttachOptions,
  type ContainerTarget,
  type NodeStreams,
  type RunningCommand,
  StreamRefusal,
} from '../../streams/node-streams.ts'
import { COMMAND_V4, COMMAND_V5 } from '../../streams/remote-command/channels.ts'
import type {
  CommandConnection,
  WantedStreams,
} from '../../streams/remote-command/command-client.ts'
import {
  serveCommandOverSpdy,
  serveCommandOverWebSocket,
} from '../../streams/remote-command/serve-command.ts'
import type { ServerContext } from '../context/server-context.ts'
import { type HandlerResult, STREAMING, type StreamRequest } from '../request/api-request.ts'
import { parseFlag } from '../request/list-options.ts'
import { badRequest, StatusError } from '../status/status.ts'
import { containerOf, findPod } from './find-pod.ts'
import { offerStream } from './open-stream.ts'

const PROTOCOLS = { webSocket: [COMMAND_V5, COMMAND_V4], spdy: COMMAND_V4 }

const NO_ATTACH =
  'attach is not supported: containers of this node agent have no input; read their output by the subresource log, and run commands by exec'

/** `pods/exec`: runs a command in a container. */
export function exec(context: ServerContext, request: StreamRequest): Promise<HandlerResult> {
  const query = readCommandQuery(request.query)
  if (query instanceof StatusError) return serveStreams(context, request, query)
  const { command, streams } = query
  const startOn = (node: NodeStreams): Start => {
    return (container, options) => node.run(container, { ...options, command })
  }
  return serveStreams(context, request, { streams, startOn })
}

/** `pods/attach`: the input and output of the process of a container. */
export function attach(context: ServerContext, request: StreamRequest): Promise<HandlerResult> {
  const streams = readStreams(request.query)
  if (streams instanceof StatusError) return serveStreams(context, request, streams)
  const startOn = (node: NodeStreams): Start | StatusError =>
    node.attach?.bind(node) ?? badRequest(NO_ATTACH)
  return serveStreams(context, request, { streams, startOn })
}

/** Starts a command, or connects to one. */
type Start = (
  container: ContainerTarget,
  options: AttachOptions,
) => Promise<RunningCommand | StreamRefusal>

/** What a client requests. */
interface Wanted {
  readonly streams: WantedStreams
  readonly startOn: (node: NodeStreams) => Start | StatusError
}

/** Serves the streams of a command to a client. If the protocol is refused, that is answered, even if `wanted` is a refusal. */
async function serveStreams(
  context: ServerContext,
  request: StreamRequest,
  wanted: Wanted | StatusError,
): Promise<HandlerResult> {
  const offer = offerStream(context, request, PROTOCOLS)
  if (offer instanceof StatusError) return offer
  if (wanted instanceof StatusError) return wanted
  const found = await findPod(context, request)
  if (found instanceof StatusError) return found
  const container = containerOf(found, request.query)
  if (container instanceof StatusError) return container
  const over = isOver(found.pod)
  if (over !== undefined) return over
  const start = wanted.startOn(found.node)
  if (start instanceof StatusError) return start
  const channel = offer.open()
  const serve = async (): Promise<void> => {
    const client =
      offer.kind === 'websocket'
        ? serveCommandOverWebSocket(channel, wanted.streams)
        : await serveCommandOverSpdy(channel, wanted.streams, context.clock)
    if (client === undefined) return
    await runFor(client, wanted.streams, (options) => start(container, options))
  }
  void serve().catch(() => channel.destroy())
  return STREAMING
}

/** Runs the command, and kills it when the client has disconnected. */
async function runFor(
  client: CommandConnection,
  { tty, stdin }: WantedStreams,
  run: (options: AttachOptions) => Promise<RunningCommand | StreamRefusal>,
): Promise<void> {
  const command = await run({ tty, stdin })
  if (command instanceof StreamRefusal) {
    return client.finish({ problem: `error executing command in container: ${command.why}` })
  }
  void client.closed.then(() => command.kill())
  client.onResize((size) => command.resize(size))
  command.stdin.on('error', () => client.stdin?.resume())
  if (client.stdin === undefined) command.stdin.end()
  else client.stdin.pipe(command.stdin)
  const outputs = Promise.all([
    copied(command.stdout, client.stdout),
    copied(command.stderr, client.stderr),
  ])
  const result = await command.ended
  await outputs
  await client.finish(result)
}

/** Copies until the end or until copying fails. Output that the client does not want is read and dropped. */
async function copied(from: Readable | undefined, to: Writable | undefined): Promise<void> {
  if (from === undefined) return
  if (to === undefined || to.destroyed) from.resume()
  else {
    to.once('close', () => from.resume())
    from.pipe(to)
  }
  // A pipe does not pass on that its source broke off.
  await finished(from).catch(() => to?.end())
  if (to !== undefined && !to.destroyed)
    await finished(to, { readable: false }).catch(() => undefined)
}

/** 400 for a Pod that has ended for good; undefined for any other. */
function isOver(pod: JsonObject): StatusError | undefined {
  const phase = stringAt(pod, 'status', 'phase')
  if (phase !== 'Succeeded' && phase !== 'Failed') return undefined
  return badRequest(`the pod has ended: its phase is ${phase}`)
}

/** A command and the streams that its client wants. */
interface CommandQuery {
  readonly command: readonly string[]
  readonly streams: WantedStreams
}

/** Reads `PodExecOptions`. */
function readCommandQuery(query: URLSearchParams): CommandQuery | StatusError {
  const command = query.getAll('command')
  if ((command[0] ?? '') === '') return badRequest('you must specify a command for the container')
  if (command.some((word) => word.includes('\0'))) {
    return badRequest('a command must not contain the character NUL')
  }
  const streams = readStreams(query)
  return streams instanceof StatusError ? streams : { command, streams }
}

/** Reads what `PodExecOptions` and `PodAttachOptions` have in common. */
function readStreams(query: URLSearchParams): WantedStreams | StatusError {
  const tty = parseFlag(query, 'tty')
  const streams = {
    tty,
    stdin: parseFlag(query, 'stdin'),
    stdout: parseFlag(query, 'stdout'),
    stderr: parseFlag(query, 'stderr') && !tty,
  }
  const isAny = streams.stdin || streams.stdout || streams.stderr
  if (!isAny) return badRequest('you must specify at least 1 of stdin, stdout, stderr')
  return streams
}
