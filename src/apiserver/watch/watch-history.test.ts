import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type JsonObject, stringAt } from '../../lib/json.ts'
import { POD, PODS, startApi, type TestApi, type WatchClient } from '../testing/test-api.ts'

interface Step {
  readonly name: string
  readonly action: 'put' | 'delete'
  readonly team: string
}

const step: fc.Arbitrary<Step> = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  action: fc.constantFrom('put', 'put', 'put', 'delete'),
  team: fc.constantFrom('red', 'blue'),
})

const SELECTORS = [
  '',
  '&labelSelector=team%3Dred',
  '&labelSelector=team!%3Dred',
  '&fieldSelector=metadata.name!%3Da',
]

async function perform(api: TestApi, { name, action, team }: Step): Promise<void> {
  const path = `${PODS}/${name}`
  if (action === 'delete') {
    await api.call('DELETE', path)
    return
  }
  const metadata = { name, labels: { team } }
  const made = await api.call('POST', PODS, { body: { metadata, spec: POD } })
  if (made.status !== 409) return
  const headers = { 'content-type': 'application/merge-patch+json' }
  await api.call('PATCH', path, { body: { metadata: { labels: { team } } }, headers })
}

type State = ReadonlyMap<string, string>

async function listed(api: TestApi, selector: string): Promise<{ state: State; version: string }> {
  const { body } = await api.call('GET', `${PODS}?${selector.slice(1)}`)
  const items = body['items'] as JsonObject[]
  return {
    state: new Map(items.map((item) => [nameOf(item), versionOf(item)])),
    version: versionOf(body),
  }
}

function nameOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'name')
}

function versionOf(object: JsonObject): string {
  return stringAt(object, 'metadata', 'resourceVersion')
}

/** Applies a watch's events to `state` until it equals `goal` at `version`; any contradiction fails. */
async function follow(
  watch: WatchClient,
  state: Map<string, string>,
  until: number,
): Promise<void> {
  let last = 0
  while (true) {
    const event = await watch.next()
    if (event === undefined) throw new Error('the watch ended early')
    const { type, object } = event
    const version = Number(versionOf(object))
    expect(version).toBeGreaterThanOrEqual(last)
    last = version
    if (type === 'BOOKMARK') {
      if (version >= until) return
      continue
    }
    const had = state.has(nameOf(object))
    expect([type, had]).toEqual([type, type !== 'ADDED'])
    if (type === 'DELETED') state.delete(nameOf(object))
    else state.set(nameOf(object), versionOf(object))
  }
}

test("every watcher's reconstruction equals the list, from any version and through any selector", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: 30 }),
      fc.nat(),
      async (steps, pick) => {
        const api = await startApi({ limits: { bookmarkPeriod: 5 } })
        const split = pick % steps.length
        for (const one of steps.slice(0, split)) await perform(api, one)
        const starts = await Promise.all(
          SELECTORS.map(async (selector) => {
            const { state, version } = await listed(api, selector)
            const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${version}${selector}`
            return {
              selector,
              state: new Map(state),
              version,
              early: await api.watch(`${PODS}?${query}`),
            }
          }),
        )
        for (const one of steps.slice(split)) await perform(api, one)
        const marker = await api.make('/api/v1/namespaces', { metadata: { name: 'end' } })
        const until = Number(versionOf(marker))
        for (const { selector, state, version, early } of starts) {
          const goal = (await listed(api, selector)).state
          const late = await api.watch(
            `${PODS}?watch=1&allowWatchBookmarks=true&resourceVersion=${version}${selector}`,
          )
          const copy = new Map(state)
          await follow(early, state, until)
          await follow(late, copy, until)
          expect(state).toEqual(goal)
          expect(copy).toEqual(goal)
          early.close()
          late.close()
        }
        await api.close()
      },
    ),
    { numRuns: 15 },
  )
})

test('concurrent writers: twenty watchers that join at any time all end in the list', async () => {
  const api = await startApi({ limits: { bookmarkPeriod: 5 } })
  const watchers: Promise<readonly [WatchClient, Map<string, string>]>[] = []
  const writer = async (id: number): Promise<void> => {
    for (let round = 0; round < 25; round++) {
      const action = round % 5 === 4 ? 'delete' : 'put'
      await perform(api, { name: `w${(id + round) % 7}`, action, team: round % 2 ? 'red' : 'blue' })
      if (round % 5 === 0) watchers.push(join(api))
    }
  }
  await Promise.all([0, 1, 2, 3].map(writer))
  const until = Number(
    versionOf(await api.make('/api/v1/namespaces', { metadata: { name: 'end' } })),
  )
  const goal = (await listed(api, '')).state
  expect(watchers).toHaveLength(20)
  for (const [watch, state] of await Promise.all(watchers)) {
    await follow(watch, state, until)
    expect(state).toEqual(goal)
    watch.close()
  }
})

async function join(api: TestApi): Promise<readonly [WatchClient, Map<string, string>]> {
  const { state, version } = await listed(api, '')
  const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${version}`
  return [await api.watch(`${PODS}?${query}`), new Map(state)]
}
