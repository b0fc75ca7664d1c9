import { testSwitches } from '../../support/switch/test-switches.ts'

testSwitches(['iptables', 'nftables'], {
  forgottenMs: 20_000,
  leavesAtOnce: () => true,
  pace: { held: 20, everyMs: 100, intervalMs: 5 },
})
