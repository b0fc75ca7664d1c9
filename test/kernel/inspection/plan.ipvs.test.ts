import { testPlans } from '../../support/inspection/test-plans.ts'

/** `node-proxy plan` against a kernel with ip_vs. */
testPlans('ipvs', 'iptables')
