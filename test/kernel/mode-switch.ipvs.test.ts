import { testSwitches } from '../support/switch/test-switches.ts'

testSwitches(['iptables', 'ipvs'], {
  /**
   * IPVS remembers a connection that was reset for 10 s. Should a client take the same port
   * again meanwhile, the reply to its new connection makes that two minutes (SYN_SENT).
   */
  forgottenMs: 150_000,
  leavesAtOnce: (mode) => mode === 'iptables',
  /** As much as leaves a slow machine time for the daemon. */
  pace: { held: 10, everyMs: 500, intervalMs: 50 },
})
