import { testPlans } from '../../support/inspection/test-plans.ts'

/** `node-proxy plan` against a real kernel: what it says is what the daemon then does. */
testPlans('iptables', 'nftables', { changes: 2, start: true })
