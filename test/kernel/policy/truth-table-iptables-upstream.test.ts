import { truthTables } from '../../support/policy/truth-tables.ts'
import { UPSTREAM_SETS } from '../../support/policy/upstream-sets.ts'

truthTables('the cases of upstream', UPSTREAM_SETS, 'iptables')
