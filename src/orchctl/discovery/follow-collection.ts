import { setTimeout as delay } from 'node:timers/promises'
import { createLineSplitter } from '../../client/http/line-splitter.ts'
import { parseDuration } from '../../lib/duration.ts'
import { type Json, type JsonObject, objectAt, stringAt } from '../../lib/json.ts'
import { quote } from '../../lib/quote.ts'
import { readTable, type TableColumn } from '../output/server-table.ts'
import type { Api, Call } from '../session/api.ts'
import { type CallFailure, failureError, isOutage } from '../session/call-failure.ts'
import { listPages, objectsOf } from '../session/list-pages.ts'
import { usageError } from '../usage/exit-code.ts'

const LINE_LIMIT = 64 * 1024 * 1024
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 5_000
/** The version of the list is older than what the server keeps. */
const EXPIRED = 410

/** A change of one object: its row in a table, or the object alone. */
export interface Change {
  readonly event: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: JsonObject
  /** The cells of a table; empty for other formats. */
  readonly cells: readonly string[]
}

interface FollowOptions {
  readonly api: Api
  /** The request for the collection, as a table or not. */
  readonly call: Call
  readonly pageSize: number
  /** Ends following. */
  readonly signal: AbortSignal
  readonly notice: (line: string) => void
  readonly onChanges: (changes: readonly Change[], columns: readonly TableColumn[]) => Promise<void>
}

/**
 * Lists a collection and follows its watch until `signal`. When the watch ends, it lists again and reports only what
 * is different from what was reported before, so nothing is reported twice across a restart of the server. It waits for
 * the end of an outage. Where the server refuses the watch, it lists every few seconds.
 * @throws NodeProxyError when the first list fails or a list is refused, and what `onChanges` throws
 */
export async function followCollection(options: FollowOptions): Promise<void> {
  const { signal, notice, api } = options
  const known = new Known()
  let delayMs = FIRST_DELAY_MS
  let isFirst = true
  let isRefused = false
  while (!signal.aborted) {
    const list = await readList(options)
    if (list.ok) {
      if (!isFirst && delayMs > FIRST_DELAY_MS) notice('orchctl: the server is back')
      isFirst = false
      delayMs = FIRST_DELAY_MS
      await options.onChanges(known.replace(list.changes), list.columns)
      const refusal = await followWatch(options, list, known)
      if (refusal !== undefined && !isRefused) {
        notice(
          `orchctl: the watch is refused, so the list is read every ${MAX_DELAY_MS / 1_000} s: ${refusal}`,
        )
        isRefused = true
      }
      await pause(refusal === undefined ? FIRST_DELAY_MS : MAX_DELAY_MS, signal)
      continue
    }
    if (signal.aborted) return
    if (isFirst || !isOutage(list.failure)) throw failureError(list.failure)
    if (delayMs === FIRST_DELAY_MS) notice(`orchctl: ${api.server} is away; waiting for it`)
    await pause(delayMs, signal)
    delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
  }
}

/** The version of each object that was reported last. */
class Known {
  readonly #changes = new Map<string, Change>()

  /** Replaces everything by a new list. @returns what is new in it, and what it no longer has */
  replace(listed: readonly Change[]): readonly Change[] {
    const present = new Set(listed.map(keyOf))
    const gone = [...this.#changes.values()].filter((change) => !present.has(keyOf(change)))
    const deleted = gone.map((change): Change => ({ ...change, event: 'DELETED' }))
    return [...deleted, ...listed].filter((change) => this.add(change))
  }

  /** @returns whether the object differs from the version that was reported last */
  add(change: Change): boolean {
    const key = keyOf(change)
    const before = this.#changes.get(key)
    if (change.event === 'DELETED') return this.#changes.delete(key)
    this.#changes.set(key, change)
    return before === undefined || versionOf(before) !== versionOf(change)
  }
}

function keyOf({ object }: Change): string {
  const { namespace, name, uid } = objectAt(object, 'metadata')
  return JSON.stringify([namespace ?? null, name ?? null, uid ?? null])
}

function versionOf({ object }: Change): string {
  return stringAt(object, 'metadata', 'resourceVersion')
}

interface Listed {
  readonly ok: true
  readonly changes: readonly Change[]
  readonly columns: readonly TableColumn[]
  readonly resourceVersion: string
}

async function readList({
  api,
  call,
  pageSize,
  signal,
}: FollowOptions): Promise<Listed | { readonly ok: false; readonly failure: CallFailure }> {
  const result = await listPages(api, { ...call, signal }, pageSize)
  if (!result.ok) return result
  const read = result.pages.map((page) => changesOf('ADDED', page, call))
  return {
    ok: true,
    changes: read.flatMap(({ changes }) => changes),
    columns: read[0]?.columns ?? [],
    resourceVersion: stringAt(result.pages[0], 'metadata', 'resourceVersion'),
  }
}

/** The changes of a document: a list, a table, or one object of a watch. */
function changesOf(event: Change['event'], body: JsonObject, { accept }: Call) {
  if (accept !== undefined) {
    const { rows, columns } = readTable(body)
    return { changes: rows.map((row): Change => ({ event, ...row })), columns }
  }
  const objects = Array.isArray(body['items']) ? objectsOf(body) : [body]
  return { changes: objects.map((object): Change => ({ event, object, cells: [] })), columns: [] }
}

/** Follows the watch until it ends. @returns why the server refuses it, if it does. @throws what `onChanges` throws */
async function followWatch(
  options: FollowOptions,
  list: Listed,
  known: Known,
): Promise<string | undefined> {
  const { api, call, signal } = options
  const query = { ...call.query, watch: 'true', resourceVersion: list.resourceVersion }
  const opened = await api.open({ ...call, query, signal })
  if (!opened.ok) {
    const { failure } = opened
    const isPassing = signal.aborted || isOutage(failure) || failure.code === EXPIRED
    return isPassing ? undefined : failure.message
  }
  for await (const changes of watchedChanges(opened.body, call)) {
    const fresh = changes.filter((change) => known.add(change))
    if (fresh.length > 0) await options.onChanges(fresh, list.columns)
  }
  return undefined
}

/** The changes of a watch, until it ends, breaks off or reports an error: after each of these the collection is listed. */
async function* watchedChanges(
  body: AsyncIterable<Uint8Array>,
  call: Call,
): AsyncGenerator<readonly Change[]> {
  const splitter = createLineSplitter(LINE_LIMIT)
  try {
    for await (const chunk of body) {
      yield splitter.push(chunk).flatMap((line) => eventChanges(line, call))
    }
  } catch (error) {
    if (!(error instanceof Error)) throw error
  }
}

/** @throws Error for an event of an error, and for a line that is no event */
function eventChanges(line: string | undefined, call: Call): readonly Change[] {
  const frame = JSON.parse(line ?? '{}') as Json
  const type = stringAt(frame, 'type')
  if (type === 'BOOKMARK') return []
  const object = objectAt(frame, 'object')
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
    return changesOf(type, object, call).changes
  }
  throw new Error(`the watch reports ${stringAt(object, 'reason')}`)
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => undefined)
}

/** Aborted after `--timeout`, never where it is not given or 0. @throws NP_ORCHCTL_USAGE */
export function timeoutSignal(timeout: string | undefined): AbortSignal {
  if (timeout === undefined || timeout === '0' || timeout === '0s') {
    return new AbortController().signal
  }
  const ms = parseDuration(timeout)
  if (ms !== undefined) return AbortSignal.timeout(ms)
  throw usageError(`--timeout ${quote(timeout)} is no duration`, 'write 30s or 2m')
}
