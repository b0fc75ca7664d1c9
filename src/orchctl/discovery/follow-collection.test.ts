import { expect, test } from 'vitest'
import { NodeProxyError } from '../../lib/error.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Api, OpenResult } from '../session/api.ts'
import { refused } from '../session/call-failure.ts'
import { type Change, followCollection } from './follow-collection.ts'

const OBJECT: JsonObject = { metadata: { name: 'web', uid: 'u', resourceVersion: '2' } }

const FORBIDDEN = { reason: 'Forbidden', message: 'you may not watch' }

/** An API whose list is empty, and whose watches are `watches`, one after the other. */
function apiOf(watches: readonly OpenResult[]) {
  const left = [...watches]
  const counts = { lists: 0 }
  const api = {
    server: 'http://api',
    request: async () => {
      counts.lists++
      const body = { metadata: { resourceVersion: '1' }, items: [] }
      return { ok: true, value: { status: 200, body } } as const
    },
    open: async () => left.shift() ?? { ok: false, failure: refused(403, FORBIDDEN) },
  } as unknown as Api
  return { api, counts }
}

function watchOf(...frames: readonly JsonObject[]): OpenResult {
  async function* body() {
    for (const frame of frames) yield Buffer.from(`${JSON.stringify(frame)}\n`)
  }
  return { ok: true, body: body() }
}

interface Following {
  readonly onChanges?: (changes: readonly Change[]) => Promise<void>
  readonly notice?: (line: string) => void
  readonly signal?: AbortSignal
}

async function follow(api: Api, following: Following): Promise<void> {
  await followCollection({
    api,
    call: { path: '/api/v1/pods' },
    pageSize: 0,
    signal: new AbortController().signal,
    notice: () => undefined,
    onChanges: async () => undefined,
    ...following,
  })
}

test('an error of the caller about a change of the watch ends it', async () => {
  const { api } = apiOf([watchOf({ type: 'ADDED', object: OBJECT })])
  const refusal = new NodeProxyError('NP_ORCHCTL_ROLLOUT', 'it exceeded its deadline')
  const onChanges = async (changes: readonly Change[]) => {
    if (changes.length > 0) throw refusal
  }
  await expect(follow(api, { onChanges })).rejects.toBe(refusal)
})

test('a watch that the server refuses is reported, and the list is not read again at once', async () => {
  const { api, counts } = apiOf([])
  const user = new AbortController()
  const lines: string[] = []
  const notice = (line: string) => {
    lines.push(line)
    user.abort()
  }
  await follow(api, { notice, signal: user.signal })
  expect(lines).toEqual([
    'orchctl: the watch is refused, so the list is read every 5 s: you may not watch',
  ])
  expect(counts.lists).toBe(1)
})

test.each([
  ['an outage', { ok: false, failure: refused(503, undefined) } as const],
  ['an expired version', { ok: false, failure: refused(410, undefined) } as const],
  ['the regular end', watchOf()],
  ['an error event', watchOf({ type: 'ERROR', object: { reason: 'Expired' } })],
])('after %s of a watch the collection is listed again, without a word', async (_what, watch) => {
  const { api, counts } = apiOf([watch, watchOf({ type: 'ADDED', object: OBJECT })])
  const user = new AbortController()
  const lines: string[] = []
  const onChanges = async (changes: readonly Change[]) => {
    if (changes.length > 0) user.abort()
  }
  await follow(api, { onChanges, notice: (line) => void lines.push(line), signal: user.signal })
  expect([lines, counts.lists]).toEqual([[], 2])
})
