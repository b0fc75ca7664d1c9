import type { Readable, Writable } from 'node:stream'
import type { TerminalSize } from '../node-streams.ts'
import type { CommandResult } from './command-result.ts'

/** Which streams a client wants of a command. */
export interface WantedStreams {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** A client that is connected to run a command: the server's side. */
export interface CommandConnection {
  /** Its input; undefined: it sends none. */
  readonly stdin: Readable | undefined
  /** Undefined: it does not want the output. */
  readonly stdout: Writable | undefined
  readonly stderr: Writable | undefined
  /** Calls the listener with each size of the client's terminal, the latest one so far included. */
  onResize(listener: (size: TerminalSize) => void): void
  /** Ends the output, reports the result, and closes the connection. */
  finish(result: CommandResult): Promise<void>
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
}
