import { Writable } from 'node:stream'
import type { DestinationStream } from 'pino'
import pretty from 'pino-pretty'

/** Turns JSON lines into coloured text. Control characters of messages are shown, not obeyed. */
export function build(target: DestinationStream): DestinationStream {
  const sink = new Writable({
    write(chunk, _encoding, done) {
      target.write(String(chunk))
      done()
    },
  })
  return pretty({
    colorize: process.env['NO_COLOR'] === undefined,
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
    sync: true,
    destination: sink,
    messageFormat: (record, key) => visible(textOf(record[key])),
  })
}

function textOf(message: unknown): string {
  return typeof message === 'string' ? message : ''
}

function visible(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll('\\\\', '\\')
}
