import { expect, test } from 'vitest'
import { strategicMerge } from '../../apiserver/patch/strategic-merge.ts'
import type { ApiFailure } from '../../client/http/failure.ts'
import { arrayAt, type Json, type JsonObject, stringAt } from '../../lib/json.ts'
import { FakeClock } from '../../lib/testing/fake-clock.ts'
import { nodeTools } from '../testing/node-tools.ts'
import { podObject } from '../testing/pod-story.ts'
import { PodWorker } from './pod-worker.ts'

const GATE = 'orch.io/drained'

/** A Pod without containers, which is ready at once, and a server that keeps its object. */
function stage(spec: JsonObject = {}) {
  const clock = new FakeClock()
  const sent: (readonly string[])[] = []
  const held: Promise<void>[] = []
  let object = podObject({ containers: [], ...spec }, { resourceVersion: '1' })
  let version = 1
  const store = (patch: JsonObject): JsonObject => {
    const merged = strategicMerge('Pod', object, patch)
    if ('problem' in merged) throw new Error(merged.problem)
    const { value } = strategicMerge('Pod', merged.value, {
      metadata: { resourceVersion: String(++version) },
    }) as { readonly value: JsonObject }
    return (object = value)
  }
  const tools = nodeTools({ clock, onError: (error) => expect.fail(String(error)) })
  const done = Promise.resolve({ ok: true, value: {} } as const)
  const patch = async (_path: string, body: unknown) => {
    sent.push(arrayAt(body as JsonObject, 'status', 'conditions').map(wordsOf))
    const value = store(body as JsonObject)
    await held.shift()
    return { ok: true, value } as const
  }
  const client = { create: () => done, remove: () => done, patch }
  const onRefused = ({ message }: ApiFailure): never => expect.fail(message)
  const worker = new PodWorker({ client, tools, object, onRefused })
  /** Another client writes these conditions, and the watch delivers them. */
  const write = async (...conditions: readonly JsonObject[]): Promise<void> => {
    worker.update(store({ status: { conditions: [...conditions] } }))
    await clock.advance(0)
  }
  worker.update(object)
  return { clock, worker, sent, held, write, stored: () => object }
}

function wordsOf(condition: Json): string {
  return `${stringAt(condition, 'type')} ${stringAt(condition, 'status')}`
}

const TAKEN = {
  type: 'Ready',
  status: 'False',
  reason: 'NodeStatusUnknown',
  message: 'The node of the Pod stopped sending heartbeats.',
}

test('readiness that was taken is claimed once for each heartbeat, and without the old reason', async () => {
  const { clock, worker, sent, write, stored } = stage()
  await clock.advance(0)
  for (let time = 0; time < 3; time++) {
    sent.length = 0
    worker.heard()
    await write(TAKEN)
    await write(TAKEN)
    expect(sent).toEqual([])
    worker.heard()
    await clock.advance(0)
    expect(sent).toHaveLength(1)
    const ready = arrayAt(stored(), 'status', 'conditions').find((one) => {
      return stringAt(one, 'type') === 'Ready'
    })
    expect(ready).toMatchObject({ status: 'True' })
    expect(ready).not.toHaveProperty('reason')
    expect(ready).not.toHaveProperty('message')
  }
})

test('a gate that opens while a status is being written makes the Pod ready', async () => {
  const { clock, sent, held, write } = stage({ readinessGates: [{ conditionType: GATE }] })
  await clock.advance(0)
  const slow = Promise.withResolvers<void>()
  held.push(slow.promise)
  await write({ type: 'PodScheduled', status: 'False' })
  await write({ type: GATE, status: 'True' })
  slow.resolve()
  await clock.advance(0)
  expect(sent.at(-1)).toContain('Ready True')
})
