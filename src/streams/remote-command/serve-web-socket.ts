import { type Duplex, Readable, Writable } from 'node:stream'
import { CHANNEL, channelMessage, statusOf } from './channels.ts'
import type { CommandConnection, WantedStreams } from './command-client.ts'
import { SizeRelay } from './size-relay.ts'

/**
 * A client of `v4.channel.k8s.io` or `v5.channel.k8s.io`; `messages` are those of its WebSocket. Notifies the
 * client with an empty message that its streams are there, as kube-apiserver does.
 */
export function serveCommandOverWebSocket(
  messages: Duplex,
  wanted: WantedStreams,
): CommandConnection {
  const sizes = new SizeRelay()
  const stdin = wanted.stdin ? inputOf(messages) : undefined
  const stdout = wanted.stdout ? outputTo(messages, CHANNEL.stdout) : undefined
  const stderr = wanted.stderr ? outputTo(messages, CHANNEL.stderr) : undefined
  messages.on('data', (message: Buffer) => {
    const data = message.subarray(1)
    if (message[0] === CHANNEL.stdin && data.length > 0) {
      if (stdin?.push(data) === false) messages.pause()
    } else if (message[0] === CHANNEL.resize) sizes.message(data)
    else if (message[0] === CHANNEL.close && data[0] === CHANNEL.stdin) endInput(stdin)
  })
  const closed = new Promise<void>((resolve) => {
    for (const event of ['end', 'close']) {
      messages.once(event, () => {
        endInput(stdin)
        resolve()
      })
    }
  })
  const [first] = [stdout && CHANNEL.stdout, stderr && CHANNEL.stderr, CHANNEL.error].filter(
    (channel) => channel !== undefined,
  )
  messages.write(Buffer.from([first ?? CHANNEL.error]))
  return {
    stdin,
    stdout,
    stderr,
    closed,
    onResize: (listener) => sizes.listen(listener),
    finish: async (result) => {
      const status = Buffer.from(JSON.stringify(statusOf(result)))
      messages.resume()
      messages.end(channelMessage(CHANNEL.error, status))
      await closed
    },
  }
}

function inputOf(messages: Duplex): Readable {
  const input = new Readable({ read: () => messages.resume() })
  input.on('error', () => undefined)
  return input
}

function endInput(stdin: Readable | undefined): void {
  if (stdin !== undefined && !stdin.readableEnded && !stdin.destroyed) stdin.push(null)
}

function outputTo(messages: Duplex, channel: number): Writable {
  const output = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (messages.writable) messages.write(channelMessage(channel, chunk), done)
      else done(new Error('the client is gone'))
    },
  })
  output.on('error', () => undefined)
  return output
}
