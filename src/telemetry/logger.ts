import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino'
import { errorFields } from './error-fields.ts'
import { openLogDestination } from './log-destination.ts'
import { redactFields, scrubText } from './redact.ts'

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
}

/**
 * One JSON object per line: `time` (RFC 3339, UTC), `level`, `msg`, the record's
 * fields, and errors as `err`. Secrets are removed here, once, for every module.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const stream = options.stream ?? openLogDestination({ onLoss })
  const log = pino(
    {
      level: levelOf(options.verbosity),
      base: { ...options.fields },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (level) => ({ level }), log: redactFields },
      serializers: { err: errorFields },
      hooks: { streamWrite: (line) => escapeControls(scrubText(line)) },
    },
    options.pretty ? await prettyStream(stream) : stream,
  )
  function onLoss(records: number): void {
    log.warn({ records }, 'log records were lost because standard error could not be written')
  }
  return log
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

async function prettyStream(stream: DestinationStream): Promise<DestinationStream> {
  const { build } = await import('./pretty.ts')
  return build(stream)
}
