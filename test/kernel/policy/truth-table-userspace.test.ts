import { randomSets } from '../../support/policy/random-sets.ts'
import { truthTables } from '../../support/policy/truth-tables.ts'
import { UPSTREAM_SETS } from '../../support/policy/upstream-sets.ts'

truthTables('policy sets', [...UPSTREAM_SETS, ...randomSets(13, 10)], 'userspace')
