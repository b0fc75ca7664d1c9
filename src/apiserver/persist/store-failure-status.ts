import { StatusError } from '../status/status.ts'
import { internalError, serviceUnavailable } from '../status/status-errors.ts'
import { storeTrouble } from './store-failure.ts'

/**
 * What a client gets whose request the store did not serve. Clients of the ecosystem
 * repeat every request that is answered with `Retry-After`, writes included: only
 * those get it that had no effect, and may succeed without anybody's help. Undefined
 * when the store is not to blame.
 */
export function storeStatusError(error: unknown): StatusError | undefined {
  const trouble = storeTrouble(error)
  if (trouble === undefined) return undefined
  const { matter, effect } = trouble
  if (effect === 'later') return serviceUnavailable(`${matter}, please try again later`)
  if (effect === 'broken') return internalError(matter)
  if (effect === 'unknown') {
    const message = `Timeout: ${matter}, so the change may have been made: read the object before you repeat it`
    return new StatusError({ code: 504, reason: 'Timeout', message, details: {} })
  }
  const message = `${matter}: nothing was written`
  return new StatusError({ code: 503, reason: 'ServiceUnavailable', message, details: {} })
}
