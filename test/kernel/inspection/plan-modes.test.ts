import { testPlans } from '../../support/inspection/test-plans.ts'

/** `node-proxy plan` in the modes that `plan.test.ts` leaves out, with more changes. */
testPlans('nftables', 'iptables', { changes: 5, start: true })
testPlans('userspace', 'nftables', { changes: 5, start: true })
