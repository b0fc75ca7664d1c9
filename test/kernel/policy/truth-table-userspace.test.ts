import { fewRandomSets, truthTables } from '../../support/policy/truth-tables.ts'
import { UPSTREAM_SETS } from '../../support/policy/upstream-sets.ts'

truthTables('policy sets', [...UPSTREAM_SETS, ...fewRandomSets(13)], 'userspace')
