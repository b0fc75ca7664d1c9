import { testPlans } from '../../support/inspection/test-plans.ts'

/** `node-proxy plan` against real kernels: what it says is what the daemon then does. */
testPlans('iptables', 'nftables')
testPlans('nftables', 'iptables')
testPlans('userspace', 'nftables')
