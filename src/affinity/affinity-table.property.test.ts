import fc from 'fast-check'
import { test } from 'vitest'
import type { AffinityTable } from './affinity-table.ts'
import { client, tableFor } from './testing/fixtures.ts'

const CAPACITY = 5
const GROUPS = [0, 1, 2 ** 32, 2 ** 52 - 1]
const CLIENTS = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '::a00:1', 'fd00::1']

/** The same in one Map: insertion order is the order of the last connections. */
class Model {
  readonly clients = new Map<string, { readonly token: number; readonly last: number }>()
  evicted = 0

  remember(key: string, token: number, now: number): void {
    const [oldest] = this.clients.keys()
    if (!this.clients.delete(key) && this.clients.size === CAPACITY && oldest !== undefined) {
      this.clients.delete(oldest)
      this.evicted++
    }
    this.clients.set(key, { token, last: now })
  }

  find(key: string, now: number, seconds: number): number | undefined {
    const known = this.clients.get(key)
    return known && now - known.last < seconds * 1000 ? known.token : undefined
  }

  claim(key: string, one: Step, now: number): number {
    const known = this.find(key, now, one.seconds)
    const winner = known !== undefined && known !== one.instead ? known : one.token
    this.remember(key, winner, now)
    return winner
  }

  forgetGroup(group: number): void {
    for (const key of this.clients.keys()) {
      if (key.startsWith(`${group} `)) this.clients.delete(key)
    }
  }
}

/** Few, so that a client often has the one that it would give up. */
const TOKEN = fc.constantFrom(0, 1, 2 ** 31 - 1)
const step = fc.record({
  do: fc.constantFrom('remember', 'claim', 'claim', 'find', 'forget', 'forgetGroup'),
  group: fc.constantFrom(...GROUPS),
  address: fc.constantFrom(...CLIENTS),
  token: TOKEN,
  instead: fc.option(TOKEN, { nil: undefined }),
  seconds: fc.integer({ min: 1, max: 86_400 }),
  passes: fc.oneof(fc.nat(3000), fc.nat(86_400_000), fc.nat(2 ** 33)),
})

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never

/** Whether table and model still agree after the step; `now` is its time. */
function agree(table: AffinityTable, model: Model, one: Step, now: number): boolean {
  const { group, address, token, seconds } = one
  const [key, who] = [`${group} ${address}`, client(address)]
  if (one.do === 'remember') {
    table.remember(group, who, token, now)
    model.remember(key, token, now)
  } else if (one.do === 'claim') {
    const { instead } = one
    const winner = table.claim({ group, client: who, now, seconds, instead }, token)
    if (winner !== model.claim(key, one, now)) return false
  } else if (one.do === 'forget') {
    table.forget(group, who)
    model.clients.delete(key)
  } else if (one.do === 'forgetGroup') {
    table.forgetGroups(new Set([group]))
    model.forgetGroup(group)
  }
  return (
    table.size === model.clients.size &&
    table.evicted === model.evicted &&
    GROUPS.every((each) =>
      CLIENTS.every(
        (text) =>
          table.find(each, client(text), { now, seconds }) ===
          model.find(`${each} ${text}`, now, seconds),
      ),
    )
  )
}

test('after any history the table says what a Map would', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(2 ** 41), (steps, start) => {
      const table = tableFor(CAPACITY)
      const model = new Model()
      let now = start
      return steps.every((one) => agree(table, model, one, (now += one.passes)))
    }),
    { numRuns: 300 },
  )
})
