import { NodeProxyError } from '../../lib/error.ts'
import { FailureLog, type FailureLogOptions } from '../../telemetry/failure-log.ts'

/** The log record of a kind of failure. */
export interface FailureText {
  readonly level: 'warn' | 'error'
  readonly message: string
}

/**
 * Logs repeated failures of this process. For each kind, the first failure of a minute is logged at once, with
 * the error as `err`, and at the end of that minute how many followed.
 */
export function createFailureLog(
  options: FailureLogOptions,
  textOf: (kind: string) => FailureText,
): (error: unknown) => void {
  const failures = new FailureLog(options)
  return (err) => {
    const kind = failureKind(err)
    failures.report(kind, {
      ...textOf(kind),
      fields: { err },
      summary: () => ({ failure: kind }),
    })
  }
}

/** Failures of the API server while it serves. */
export function apiServerFailure(kind: string): FailureText {
  return { level: 'error', message: apiServerMessage(kind) }
}

function apiServerMessage(kind: string): string {
  if (kind === 'NP_APISERVER_STORED_OBJECT')
    return 'a stored object cannot be decoded and is not served'
  return kind.startsWith('NP_STORAGE_')
    ? 'a request of the API server to the store failed'
    : 'the API server failed because of a bug'
}

/**
 * Groups failures: expected ones by their code, others by class, system error code and the line of the program
 * that threw. Messages are not used, because they quote objects: there would be as many kinds as objects.
 */
function failureKind(error: unknown): string {
  if (error instanceof NodeProxyError) return error.code
  if (!(error instanceof Error)) return `thrown ${typeof error}`
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return [error.constructor.name, code, throwingLine(error)].filter(Boolean).join(' ')
}

/** `at name (file:line:column)`; empty for errors that the system made without a stack. */
function throwingLine({ stack = '', message }: Error): string {
  const frames = stack.slice(stack.indexOf(message) + message.length)
  return /^\s+(at .*)$/m.exec(frames)?.[1] ?? ''
}
