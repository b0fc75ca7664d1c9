import type { Duplex, Readable, Writable } from 'node:stream'

/** A Pod, as its object names it. */
export interface PodTarget {
  readonly namespace: string
  readonly name: string
  readonly uid: string
}

export interface ContainerTarget extends PodTarget {
  readonly container: string
}

/** Which part of a log is wanted. */
export interface LogOptions {
  /** Whether to follow the log until the container ends. */
  readonly follow: boolean
  /** The run before the present one. */
  readonly previous: boolean
  readonly timestamps: boolean
  /** How many of the last lines; undefined: all. */
  readonly tailLines: number | undefined
  /** Milliseconds since the epoch: lines from then on; undefined: all. */
  readonly since: number | undefined
}

export interface AttachOptions {
  /** Whether the command gets a terminal. */
  readonly tty: boolean
  /** Whether it gets input; without, its input is at its end. */
  readonly stdin: boolean
}

export interface CommandOptions extends AttachOptions {
  readonly command: readonly string[]
}

/** The size of a terminal in characters. */
export interface TerminalSize {
  readonly width: number
  readonly height: number
}

/** How a command ended, or why it could not be run. */
export type CommandResult = { readonly exitCode: number } | { readonly problem: string }

/** A command that runs in a container. */
export interface RunningCommand {
  readonly stdin: Writable
  readonly stdout: Readable
  /** Undefined with a terminal: everything it writes is output. */
  readonly stderr: Readable | undefined
  resize(size: TerminalSize): void
  /** Resolves when the command has ended; its output may still have to be read. */
  readonly ended: Promise<CommandResult>
  /** Kills the command and the processes that it started. */
  kill(): void
}

/** Connections into a Pod. */
export interface PodDialer {
  /** Opens a connection to a port on the Pod's loopback address, or returns why that failed. */
  connect(port: number): Promise<Duplex | StreamRefusal>
  /** Resolves when no connection can be made any more: the Pod has ended. */
  readonly ended: Promise<void>
  /** Ends all connections. */
  close(): void
}

/** Why a stream cannot be had. */
export class StreamRefusal {
  /**
   * `absent`: the Pod is not on this node; `invalid`: the request cannot succeed; `failed`: an operation of the node
   * failed; `unreachable`: the node cannot be reached.
   */
  readonly kind: 'absent' | 'invalid' | 'failed' | 'unreachable'
  /** One sentence for the client. */
  readonly why: string

  constructor(kind: StreamRefusal['kind'], why: string) {
    this.kind = kind
    this.why = why
  }
}

/** The streams of Pods that a node agent offers to the API server. */
export interface NodeStreams {
  /** The log in chunks. `signal` ends it. */
  logs(
    target: ContainerTarget,
    options: LogOptions,
    signal: AbortSignal,
  ): Promise<AsyncIterable<Buffer> | StreamRefusal>
  run(target: ContainerTarget, options: CommandOptions): Promise<RunningCommand | StreamRefusal>
  /** Connects to the process of a container; absent: its containers have no input. */
  attach?(target: ContainerTarget, options: AttachOptions): Promise<RunningCommand | StreamRefusal>
  dialer(target: PodTarget): Promise<PodDialer | StreamRefusal>
}
