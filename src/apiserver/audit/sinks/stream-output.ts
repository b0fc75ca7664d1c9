import type { Writable } from 'node:stream'
import type { Deliver } from './buffered-sink.ts'

/** Lines to a stream such as standard output, each batch once the one before it is written. */
export function streamOutput(stream: Writable): Deliver {
  // A reader that is gone is an error of the next write, too.
  stream.on('error', () => undefined)
  return (lines) =>
    new Promise((resolve) => {
      stream.write(lines.map((line) => `${line}\n`).join(''), (error) => {
        if (error) resolve({ lines: 0, failure: { error, canRetry: !stream.destroyed } })
        else resolve({ lines: lines.length })
      })
    })
}
