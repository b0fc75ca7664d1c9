import { randomSets } from '../../support/policy/random-sets.ts'
import { truthTables } from '../../support/policy/truth-tables.ts'

truthTables('more random policy sets', randomSets(12, 75), 'nftables')
