import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { contend } from '../../../test/support/contention/scenario.ts'
import { SCENARIOS } from '../../../test/support/contention/scenarios.ts'
import type { Store } from '../../storage/store.ts'
import { startApi } from '../testing/test-api.ts'

const CLIENTS = 64

/** A store that takes its time, as a disk or a network does: other writers decide meanwhile. */
function slowStore(store: Store): Store {
  return {
    ...store,
    txn: async (transaction) => {
      for (let turns = 0; turns < 5; turns++) await turn()
      return store.txn(transaction)
    },
  }
}

test.each(SCENARIOS)('$name: 64 clients, no conflict, nothing lost', async (scenario) => {
  const api = await startApi({ wrap: slowStore })
  const result = await contend(scenario, CLIENTS, (_client, request) => {
    const { method, path, body, contentType = 'application/json' } = request
    const headers = { 'content-type': contentType }
    return api.call(method, path, { headers, ...(body === undefined ? {} : { body }) })
  })
  expect(result).toMatchObject({ refused: [], lost: [] })
})
