import type { LogOptions } from '../../streams/node-streams.ts'
import { parseFlag } from '../request/list-options.ts'
import { StatusError } from '../status/status.ts'
import { badRequest } from '../status/status-errors.ts'

/** Which part of a log a query names. */
export interface LogQuery extends LogOptions {
  /** Undefined: all bytes. */
  readonly limitBytes: number | undefined
}

const NUMBER = /^(0|[1-9][0-9]{0,14})$/

/** Reads `PodLogOptions`; `now`: milliseconds since the epoch. */
export function readLogQuery(query: URLSearchParams, now: number): LogQuery | StatusError {
  const [tailLines, sinceSeconds, limitBytes] = ['tailLines', 'sinceSeconds', 'limitBytes'].map(
    (name) => numberOf(query, name),
  )
  for (const one of [tailLines, sinceSeconds, limitBytes]) {
    if (one instanceof StatusError) return one
  }
  const sinceTime = query.get('sinceTime') ?? ''
  if (sinceTime !== '' && sinceSeconds !== undefined) {
    return badRequest('at most one of sinceTime or sinceSeconds may be specified')
  }
  if (limitBytes === 0) return badRequest('limitBytes must be at least 1')
  const since = sinceTime === '' ? undefined : Date.parse(sinceTime)
  if (Number.isNaN(since)) {
    return badRequest(`sinceTime must be a time of RFC 3339: ${JSON.stringify(sinceTime)}`)
  }
  return {
    follow: parseFlag(query, 'follow'),
    previous: parseFlag(query, 'previous'),
    timestamps: parseFlag(query, 'timestamps'),
    tailLines: tailLines as number | undefined,
    limitBytes: limitBytes as number | undefined,
    since: sinceSeconds === undefined ? since : now - Number(sinceSeconds) * 1000,
  }
}

function numberOf(query: URLSearchParams, name: string): number | undefined | StatusError {
  const text = query.get(name) ?? ''
  if (text === '') return undefined
  if (!NUMBER.test(text)) {
    return badRequest(`${name} must be a number of at least 0: ${JSON.stringify(text)}`)
  }
  return Number(text)
}
