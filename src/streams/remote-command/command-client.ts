import { type Duplex, Readable, Writable } from 'node:stream'
import type { CommandResult, TerminalSize } from '../node-streams.ts'
import { createSpdySession } from '../spdy/spdy-session.ts'
import { CHANNEL, channelMessage, resultOf, terminalSizeMessage } from './channels.ts'

/** Which streams a client wants of a command. */
export interface WantedStreams {
  readonly stdin: boolean
  readonly stdout: boolean
  readonly stderr: boolean
  readonly tty: boolean
}

/** A client that is connected to run a command: the server's side. */
export interface CommandConnection {
  /** The input of the command; undefined: the client sends none. */
  readonly stdin: Readable | undefined
  /** Undefined: it does not want the output. */
  readonly stdout: Writable | undefined
  readonly stderr: Writable | undefined
  /** Calls the listener with the latest size of the client's terminal so far, and with each later one. */
  onResize(listener: (size: TerminalSize) => void): void
  /** Ends the output, reports the result, and closes the connection. */
  finish(result: CommandResult): Promise<void>
  /** Resolves when the connection is over. */
  readonly closed: Promise<void>
}

/** A command that runs on the other side: the client's side. */
export interface RemoteCommand {
  /** Its input, which `end` ends. */
  readonly stdin: Writable
  readonly stdout: Readable
  /** Empty if the command has a terminal. */
  readonly stderr: Readable
  resize(size: TerminalSize): void
  /** Resolves when the command has ended or the connection is over. */
  readonly ended: Promise<CommandResult>
  /** Ends the connection; the server then kills the command. */
  close(): void
}

const MAX_STATUS_BYTES = 64 << 10

/** Speaks `v5.channel.k8s.io`; `messages` are those of the WebSocket that was opened with it. */
export function createRemoteCommand(messages: Duplex): RemoteCommand {
  const outputs = [1, 2].map(() => outputOf(messages))
  const [stdout, stderr] = [outputs[0]!, outputs[1]!]
  let status = Buffer.alloc(0)
  let failure = 'the connection ended before the command'
  messages.on('data', (message: Buffer) => {
    const data = message.subarray(1)
    if (message[0] === CHANNEL.error) {
      status = Buffer.concat([status, data]).subarray(0, MAX_STATUS_BYTES)
      return
    }
    const output = outputs[(message[0] ?? 0) - 1]
    if (output === undefined || output.destroyed || data.length === 0) return
    if (!output.push(data)) messages.pause()
  })
  messages.on('error', ({ message }) => {
    failure = message
  })
  const ended = new Promise<CommandResult>((resolve) => {
    const over = (): void => {
      for (const output of outputs) if (!output.readableEnded) output.push(null)
      resolve(status.length > 0 ? resultOf(status.toString()) : { problem: failure })
    }
    messages.once('end', over)
    messages.once('close', over)
  })
  return {
    stdout,
    stderr,
    ended,
    stdin: inputTo(messages),
    resize: (size) => messages.write(channelMessage(CHANNEL.resize, terminalSizeMessage(size))),
    close: () => messages.destroy(),
  }
}

/**
 * Speaks `v4.channel.k8s.io` over a connection that was upgraded to SPDY/3.1: opens the wanted streams, in the
 * order of client-go.
 */
export function createSpdyCommand(channel: Duplex, wanted: WantedStreams): RemoteCommand {
  const session = createSpdySession(channel, { role: 'client' })
  const open = (type: string): Duplex => session.open(new Map([[STREAM_TYPE, type]])).bytes
  // A stream that is only read is ended in the other direction at once: then its data outlives the session.
  const read = (isWanted: boolean, type: string): Readable =>
    isWanted ? open(type).end() : Readable.from([])
  const error = open('error').end()
  const stdin = wanted.stdin ? open('stdin') : new Writable({ write: (_, __, done) => done() })
  const stdout = read(wanted.stdout, 'stdout')
  const stderr = read(wanted.stderr && !wanted.tty, 'stderr')
  const resize = wanted.tty ? open('resize') : undefined
  return {
    stdin,
    stdout,
    stderr,
    ended: statusFrom(error),
    resize: (size) => void resize?.write(terminalSizeMessage(size)),
    close: () => session.close(),
  }
}

/** The header of a stream that says which one it is. */
export const STREAM_TYPE = 'streamtype'

async function statusFrom(error: Readable): Promise<CommandResult> {
  let status = Buffer.alloc(0)
  try {
    for await (const chunk of error as AsyncIterable<Buffer>) {
      status = Buffer.concat([status, chunk]).subarray(0, MAX_STATUS_BYTES)
    }
  } catch (failure) {
    if (status.length === 0) return { problem: (failure as Error).message }
  }
  if (status.length > 0) return resultOf(status.toString())
  return { problem: 'the connection ended before the command' }
}

/** An output that holds back the messages while it is not read, and no longer once it is destroyed. */
function outputOf(messages: Duplex): Readable {
  return new Readable({
    read: () => messages.resume(),
    destroy: (error, done) => {
      messages.resume()
      done(error)
    },
  })
}

function inputTo(messages: Duplex): Writable {
  const input = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (messages.writable) messages.write(channelMessage(CHANNEL.stdin, chunk), done)
      else done()
    },
    final: (done) => {
      if (messages.writable) messages.write(Buffer.from([CHANNEL.close, CHANNEL.stdin]))
      done()
    },
  })
  input.on('error', () => undefined)
  return input
}
