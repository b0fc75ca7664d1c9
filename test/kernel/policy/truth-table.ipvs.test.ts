import { afterAll, beforeAll, vi } from 'vitest'
import { fewRandomSets, truthTables } from '../../support/policy/truth-tables.ts'
import { UPSTREAM_SETS } from '../../support/policy/upstream-sets.ts'
import { loadNfTables, unloadNfTables } from '../uml/nf-tables/modules.ts'

const SOME = UPSTREAM_SETS.filter((_, index) => index % 6 === 0)

beforeAll(loadNfTables)
// Registered first, so it runs last; namespaces take a moment to go.
afterAll(() => vi.waitFor(unloadNfTables, { timeout: 60_000 }))

truthTables('policy sets', [...SOME, ...fewRandomSets(14)], 'ipvs')
