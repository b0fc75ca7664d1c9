import { testPlans } from '../../support/inspection/test-plans.ts'

/** `node-proxy plan` against a kernel with ip_vs; `src/sync/dry-run.test.ts` has its starts. */
testPlans('ipvs', 'iptables', { changes: 1, start: false })
