import type { Duplex } from 'node:stream'
import { NodeProxyError } from '../lib/error.ts'
import { arrayAt, type Json, type JsonObject, scalarText, stringAt, valueAt } from '../lib/json.ts'
import { quote } from '../lib/quote.ts'
import {
  createForwardingClient,
  type ForwardingClient,
  TUNNELLED_PORT_FORWARD,
} from '../streams/port-forward.ts'
import { isReady, type NamedPods, podPath } from './discovery/pods-of.ts'
import type { CommandContext } from './session/command-module.ts'
import { openStream } from './session/open-stream.ts'
import type { ExitCode } from './usage/exit-code.ts'

/** A connection to the ports of one Pod. */
interface OpenPod {
  readonly pod: JsonObject
  readonly client: ForwardingClient
  /** The number of connections to its ports that are open or being opened. */
  uses: number
}

/**
 * The connection to the Pod, or to one of the Pods, that an operand names. When this Pod is gone, the next connection
 * goes to another ready one; if the operand names a single Pod, `lost` resolves.
 */
export class PodConnection {
  readonly #pods: NamedPods
  readonly #context: CommandContext
  readonly #lost = Promise.withResolvers<ExitCode>()
  /** Aborted by `close`. */
  readonly #closing = new AbortController()
  /** The clients of all open connections, also of those to earlier Pods. */
  readonly #clients = new Set<ForwardingClient>()
  /** The connection for new ports; undefined: the next port opens one. */
  #current: Promise<OpenPod> | undefined
  /** The Pod that was connected last. */
  #last: JsonObject | undefined

  constructor(pods: NamedPods, context: CommandContext) {
    this.#pods = pods
    this.#context = context
  }

  /** Resolves to the exit code when the only Pod is gone. */
  get lost(): Promise<ExitCode> {
    return this.#lost.promise
  }

  /** Opens the connection unless there is one. @throws NodeProxyError with the server's reason */
  async open(): Promise<void> {
    await this.#use()
  }

  /** The port of the Pod that was connected last; see `remotePort`. */
  portOf(remote: string): number {
    if (this.#last === undefined) throw new Error('no Pod was connected yet')
    return remotePort(remote, this.#pods.owner, this.#last)
  }

  /**
   * A connection to a port. When a Pod refuses one, before or after this resolves, the next connection goes to another Pod.
   * @throws NodeProxyError with the reason of the server or the Pod
   */
  async connect(remote: string): Promise<Duplex> {
    const opening = this.#use()
    const open = await opening
    open.uses++
    try {
      const stream = await open.client.connect(remotePort(remote, this.#pods.owner, open.pod))
      stream.once('error', (error) => this.#leaveIfRefused(opening, error))
      stream.once('close', () => this.#release(opening, open))
      return stream
    } catch (error) {
      this.#leaveIfRefused(opening, error)
      this.#release(opening, open)
      throw error
    }
  }

  /** Leaves the Pod that refused a connection, unless it was left before. Open connections stay. */
  #leaveIfRefused(opening: Promise<OpenPod>, error: unknown): void {
    const isRefusal = error instanceof NodeProxyError && error.code === 'NP_STREAMS_FORWARD'
    if (isRefusal && this.#hasAlternatives && this.#current === opening) this.#current = undefined
  }

  /** Ends one use of the connection to a Pod, and closes it after the last one if the Pod was left. */
  #release(opening: Promise<OpenPod>, open: OpenPod): void {
    open.uses--
    if (this.#current !== opening && open.uses === 0) open.client.close()
  }

  close(): void {
    this.#closing.abort()
    for (const client of this.#clients) client.close()
  }

  /** Whether the operand names an object with several Pods, such as a Service, and not a Pod. */
  get #hasAlternatives(): boolean {
    return stringAt(this.#pods.owner, 'kind') !== 'Pod'
  }

  #use(): Promise<OpenPod> {
    if (this.#current !== undefined) return this.#current
    const opening = this.#openNext()
    this.#current = opening
    opening.then(
      ({ client }) => void client.closed.then(() => this.#gone(opening)),
      () => this.#gone(opening),
    )
    return opening
  }

  async #openNext(): Promise<OpenPod> {
    const pod = await this.#choose()
    const { host } = this.#context
    const { messages } = await openStream(await this.#context.session(), {
      path: `${await podPath(pod, this.#context)}/portforward`,
      protocol: TUNNELLED_PORT_FORWARD,
      userAgent: `orchctl/${host.version}`,
      signal: AbortSignal.any([host.signal, this.#closing.signal]),
    })
    if (this.#last !== undefined && nameOf(this.#last) !== nameOf(pod)) {
      this.#context.notice(
        `pod/${nameOf(this.#last)} does not answer; new connections go to pod/${nameOf(pod)}`,
      )
    }
    this.#last = pod
    const client = createForwardingClient(messages)
    this.#clients.add(client)
    void client.closed.then(() => this.#clients.delete(client))
    return { pod, client, uses: 0 }
  }

  /** A ready Pod, if possible not the previous one. @throws NP_ORCHCTL_NO_PODS */
  async #choose(): Promise<JsonObject> {
    const all = await this.#pods.list()
    const usable = this.#hasAlternatives ? all.filter(isReady) : all
    const last = this.#last === undefined ? '' : nameOf(this.#last)
    const chosen = usable.find((pod) => nameOf(pod) !== last) ?? usable[0]
    if (chosen !== undefined) return chosen
    throw new NodeProxyError('NP_ORCHCTL_NO_PODS', `${this.#pods.name} has no Pod that is ready`, {
      hint: `orchctl get pods shows their state; orchctl describe ${this.#pods.name} the selector`,
    })
  }

  /** Handles a connection that ended or could not be opened. If the operand names a single Pod, `lost` resolves. */
  #gone(opening: Promise<OpenPod>): void {
    if (this.#current !== opening) return
    this.#current = undefined
    const neverOpened = this.#last === undefined
    if (neverOpened || this.#hasAlternatives || this.#closing.signal.aborted) return
    this.#context.report(
      new NodeProxyError('NP_ORCHCTL_STREAM', `the connection to ${this.#pods.name} is lost`),
    )
    this.#lost.resolve(1)
  }
}

/**
 * The port of a Pod that a text means. For a Service: one of its ports by number or name; if it has the number for several
 * protocols, that of TCP, which alone is forwarded. Otherwise: a port of the Pod's containers by name, or any number.
 * @throws NP_ORCHCTL_NO_PORT
 */
export function remotePort(text: string, owner: JsonObject, pod: JsonObject): number {
  if (stringAt(owner, 'kind') !== 'Service') return podPort(text, pod)
  const ports = arrayAt(owner, 'spec', 'ports')
  const named = ports.filter(
    (one) => scalarText(valueAt(one, 'port')) === text || stringAt(one, 'name') === text,
  )
  const port = named.find(isTcp) ?? named[0]
  if (port === undefined) {
    throw noPort(
      `service/${nameOf(owner)}`,
      text,
      ports.map((one) => portText(one, 'port')),
    )
  }
  const target = scalarText(valueAt(port, 'targetPort'))
  return podPort(target === '' ? scalarText(valueAt(port, 'port')) : target, pod)
}

/** Whether a port of a Service is one of TCP, the default. */
function isTcp(port: Json): boolean {
  const protocol = stringAt(port, 'protocol')
  return protocol === '' || protocol === 'TCP'
}

function podPort(text: string, pod: JsonObject): number {
  if (/^\d+$/.test(text)) return Number(text)
  const ports = arrayAt(pod, 'spec', 'containers').flatMap((one) => arrayAt(one, 'ports'))
  const port = ports.find((one) => stringAt(one, 'name') === text)
  if (port === undefined) {
    throw noPort(
      `pod/${nameOf(pod)}`,
      text,
      ports.map((one) => portText(one, 'containerPort')),
    )
  }
  return Number(valueAt(port, 'containerPort'))
}

function noPort(what: string, text: string, known: readonly string[]): NodeProxyError {
  return new NodeProxyError('NP_ORCHCTL_NO_PORT', `${what} has no port ${quote(text)}`, {
    hint: known.length === 0 ? 'it names no ports; write a number' : `it has: ${known.join(', ')}`,
  })
}

function portText(port: Json, field: string): string {
  const name = stringAt(port, 'name')
  return `${name === '' ? '' : `${name}=`}${scalarText(valueAt(port, field))}`
}

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}
