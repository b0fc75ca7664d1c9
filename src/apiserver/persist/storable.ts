import { jsonShape } from '../encoding/json-shape.ts'
import type { StatusError } from '../status/status.ts'
import { tooLarge } from '../status/status-errors.ts'

/** What etcd takes in one request by default is 1.5 MiB; the rest is for keys and allocations. */
const MAX_BYTES = 1_500_000

export interface StorableLimits {
  /** Levels that the JSON of a request may be nested. */
  readonly jsonDepth: number
}

/**
 * 413 for an object that grew beyond what both stores take and all code can walk,
 * perhaps patch by patch. The owners of its fields nest as deep as the fields do.
 */
export function checkStorable(
  value: Buffer,
  { jsonDepth }: StorableLimits,
): StatusError | undefined {
  if (value.length > MAX_BYTES) {
    return tooLarge(
      `Request entity too large: the object would have ${value.length} bytes, limit is ${MAX_BYTES}`,
    )
  }
  if (jsonShape(value).depth <= 2 * jsonDepth) return undefined
  return tooLarge(`the object would be nested deeper than ${2 * jsonDepth} levels`)
}
