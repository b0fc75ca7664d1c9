import { NodeProxyError } from '../../lib/error.ts'
import { FailureLog, type FailureLogOptions } from '../../telemetry/failure-log.ts'

/** Logs failures of the API server while it serves: each kind once a minute, then how many followed. */
export function createFailureLog(options: FailureLogOptions): (error: unknown) => void {
  const failures = new FailureLog(options)
  return (err) => {
    const kind = kindOf(err)
    failures.report(kind, {
      level: 'error',
      fields: { err },
      message: meaningOf(kind),
      summary: () => ({ failure: kind }),
    })
  }
}

function kindOf(error: unknown): string {
  return error instanceof NodeProxyError ? error.code : String(error)
}

function meaningOf(kind: string): string {
  if (kind === 'NP_APISERVER_STORED_OBJECT')
    return 'a stored object cannot be read and is not served'
  return kind.startsWith('NP_STORAGE_')
    ? 'the store did not do what the API server asked of it'
    : 'the API server failed at something that it should not fail at'
}
