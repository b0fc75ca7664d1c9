import { randomSets } from '../../support/policy/random-sets.ts'
import { truthTables } from '../../support/policy/truth-tables.ts'

truthTables('random policy sets', randomSets(11, 75), 'iptables')
