import { fstatSync, writeSync } from 'node:fs'
import { Writable } from 'node:stream'
import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino'
import { NodeProxyError } from '../lib/error.ts'
import { redactFields, scrubText } from './redact.ts'

/** Bytes of records that are kept while they cannot be written. */
const MAX_BUFFERED_BYTES = 1 << 20
/** Milliseconds between two attempts to write to a full pipe. */
const RETRY_MS = 50

/** How many causes of an error are logged. */
const MAX_CAUSES = 5

/** The logger of pino. */
export type Logger = PinoLogger

export interface LoggerOptions {
  /** The number of -v, 0 to 10. */
  readonly verbosity: number
  /** Text for people instead of JSON lines. */
  readonly pretty: boolean
  /** Fields of every record, for example the node's name. */
  readonly fields?: Readonly<Record<string, string>>
  /** Default: standard output. */
  readonly stream?: DestinationStream
  /** Whether each line begins with its priority, for journald. Default: whether journald reads the standard output. */
  readonly isJournal?: boolean
}

/**
 * One JSON object per line: `time` (RFC 3339, UTC), `level`, `msg`, the record's fields, and errors as `err`. Secrets are
 * removed here, once, for every module.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const stream = options.stream ?? openLogDestination({ onLoss })
  const isToJournal = options.isJournal ?? (options.stream === undefined && isJournal(1))
  const plain = isToJournal ? withPriorities(stream) : stream
  const destination = options.pretty ? await prettyStream(stream) : plain
  const log = pino(
    {
      level: levelOf(options.verbosity),
      base: { ...options.fields },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }), log: redactFields },
      serializers: { err: errorFields },
      hooks: { streamWrite: (line) => escapeControls(scrubText(line)) },
    },
    destination,
  )
  function onLoss(records: number): void {
    log.warn({ records }, 'log records were lost because standard output could not be written')
  }
  return log
}

/** The priorities of syslog, by the levels of pino. */
const PRIORITIES: ReadonlyMap<number, number> = new Map([
  [60, 2],
  [50, 3],
  [40, 4],
  [30, 6],
  [20, 7],
  [10, 7],
])

/** Each line begins with its priority (sd-daemon(3)), which journald takes off: `journalctl -p err` finds errors. */
function withPriorities(stream: DestinationStream): DestinationStream {
  const tagged = {
    [Symbol.for('pino.metadata')]: true,
    lastLevel: 30,
    write(line: string) {
      stream.write(`<${PRIORITIES.get(tagged.lastLevel) ?? 6}>${line}`)
    },
  }
  return tagged
}

/** Whether a file descriptor is the stream that journald announced: `JOURNAL_STREAM` has its device and inode. */
export function isJournal(
  fd: number,
  announced: string | undefined = process.env['JOURNAL_STREAM'],
): boolean {
  if (announced === undefined) return false
  const { dev, ino } = fstatSync(fd)
  return announced === `${dev}:${ino}`
}

/** 0–2 info, 3–5 debug, 6–10 trace. */
export function levelOf(verbosity: number): 'info' | 'debug' | 'trace' {
  if (verbosity >= 6) return 'trace'
  return verbosity >= 3 ? 'debug' : 'info'
}

/** Escapes DEL and C1 controls, which JSON does not, and which some terminals interpret. */
function escapeControls(line: string): string {
  return line.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is to be found
    /[\u007f-\u009f]/g,
    (char) => `\\u00${char.charCodeAt(0).toString(16)}`,
  )
}

/** Turns JSON lines into coloured text. Control characters of messages are shown, not obeyed. */
async function prettyStream(target: DestinationStream): Promise<DestinationStream> {
  const { default: pretty } = await import('pino-pretty')
  const destination = new Writable({
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
    destination,
    messageFormat: (record, key) => visible(record[key]),
  })
}

/** A message with its control characters escaped; empty if it is no text. */
function visible(message: unknown): string {
  if (typeof message !== 'string') return ''
  return JSON.stringify(message).slice(1, -1).replaceAll('\\"', '"').replaceAll('\\\\', '\\')
}

/** An error as log fields: message and chain of causes; the stack only of bugs. */
export function errorFields(error: unknown, depth = 0): Record<string, unknown> | string {
  if (!(error instanceof Error)) return String(error)
  const known = error instanceof NodeProxyError
  const cause =
    error.cause === undefined || depth >= MAX_CAUSES
      ? {}
      : { cause: errorFields(error.cause, depth + 1) }
  if (known) {
    const { code, message, object, hint } = error
    return { code, message, ...(object && { object }), ...(hint && { hint }), ...cause }
  }
  const code = (error as { code?: unknown }).code
  const expected = typeof code === 'string'
  return {
    ...(expected ? { code } : { type: error.name }),
    message: error.message,
    ...(expected ? {} : { stack: error.stack }),
    ...cause,
  }
}

interface LogDestinationOptions {
  /** Called when writing succeeds again, with the number of dropped records. */
  readonly onLoss: (records: number) => void
  /** The file descriptor. Default: standard output. */
  readonly fd?: number
}

/**
 * Writes each record at once, so that none is pending when the process ends. When a write fails (a full disk, a
 * closed terminal or reader), records are buffered, up to a megabyte, and each new record repeats the attempt.
 */
export function openLogDestination({ onLoss, fd = 1 }: LogDestinationOptions): DestinationStream {
  const waiting: Buffer[] = []
  let bytes = 0
  let lost = 0
  const writeAll = (): void => {
    for (let first = waiting[0]; first !== undefined; first = waiting[0]) {
      const written = tryWrite(fd, first)
      if (written === undefined) return
      bytes -= written
      if (written === first.length) waiting.shift()
      else waiting[0] = first.subarray(written)
    }
  }
  const hasSpace = (record: Buffer): boolean =>
    bytes === 0 || bytes + record.length <= MAX_BUFFERED_BYTES
  return {
    write(line) {
      const record = Buffer.from(line)
      if (!hasSpace(record)) writeAll()
      if (!hasSpace(record)) {
        lost += 1
        return
      }
      waiting.push(record)
      bytes += record.length
      writeAll()
      if (bytes > 0 || lost === 0) return
      const records = lost
      lost = 0
      onLoss(records)
    },
  }
}

/** How many bytes were written. A pipe that is full for now (EAGAIN) is waited for. */
function tryWrite(fd: number, bytes: Buffer): number | undefined {
  for (;;) {
    try {
      return writeSync(fd, bytes)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return undefined
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
    }
  }
}
