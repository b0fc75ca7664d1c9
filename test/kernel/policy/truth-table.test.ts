import { randomSets } from '../../support/policy/random-sets.ts'
import { truthTables } from '../../support/policy/truth-tables.ts'
import { UPSTREAM_SETS } from '../../support/policy/upstream-sets.ts'

const SOME = UPSTREAM_SETS.filter((_, index) => index % 20 === 0)

truthTables('policy sets', [...SOME, ...randomSets(1, 4)], 'nftables')
