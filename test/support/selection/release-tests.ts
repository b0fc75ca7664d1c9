import type { LongTests } from './long-tests.ts'

/**
 * Test files in User-mode Linux that `npm test` and `npm run test:long` leave to `npm run test:ipvs`. In User-mode
 * Linux on a virtual machine, the first access to a page of memory costs a quarter of a millisecond; so a daemon starts
 * in fourteen seconds, and a file takes two to eight minutes. The other two commands run the packets of flows, changes
 * during connections, persistence and schedulers. What is listed here is decided in the same way in a mode that needs
 * no other kernel, or by code with tests of its own.
 */
export const IPVS_TESTS: readonly LongTests[] = [
  {
    reason: 'minutes of policy sets; the long tests have them in other modes',
    projects: ['ipvs'],
    files: ['test/kernel/policy/truth-table.ipvs.test.ts'],
  },
  {
    reason:
      'starts a daemon in a kernel of its own for every case; no-ipvs has one, and unit tests the others',
    projects: ['kernel'],
    files: [
      'test/kernel/doctor/missing-modules.test.ts',
      'test/kernel/uml/missing-modules.test.ts',
    ],
  },
  {
    reason:
      'boots a kernel in User-mode Linux for each test; project ipvs boots the same one for its files',
    projects: ['kernel'],
    files: ['test/kernel/uml/boot.test.ts', 'test/kernel/uml/pool/uml-pool.test.ts'],
  },
  {
    reason: 'one mechanism for all modes, which project kernel tests',
    projects: ['ipvs'],
    files: [
      'test/kernel/affinity-changes.test.ts',
      'test/kernel/cleanup.test.ts',
      'test/kernel/datagrams.test.ts',
      'test/kernel/external-addresses.test.ts',
      'test/kernel/hairpin.test.ts',
      'test/kernel/hostile.test.ts',
      'test/kernel/node-addresses.test.ts',
      'test/kernel/source-ranges.test.ts',
      'test/kernel/traffic.test.ts',
    ],
  },
  {
    reason:
      'decided by the forwarding table, before a mode; flows sends such packets in every mode',
    projects: ['ipvs'],
    files: [
      'test/kernel/node-ports.test.ts',
      'test/kernel/policy-flows.test.ts',
      'test/kernel/refusal.test.ts',
      'test/kernel/service-ranges.test.ts',
    ],
  },
  {
    reason:
      'six minutes in User-mode Linux; flows has the basic ones in every run, and the other modes all',
    projects: ['ipvs'],
    files: ['test/kernel/rule-flows.test.ts'],
  },
  {
    reason: 'half-change sends connections while endpoints change',
    projects: ['ipvs'],
    files: ['test/kernel/under-load.test.ts'],
  },
  {
    reason:
      'every state that another process, a second daemon or a change of mode can leave; unit tests have each over fakes',
    projects: ['ipvs'],
    files: [
      'test/kernel/draining.ipvs.test.ts',
      'test/kernel/drift.ipvs.test.ts',
      'test/kernel/mode-switch.ipvs.test.ts',
      'test/kernel/ownership.ipvs.test.ts',
    ],
  },
  {
    reason:
      'explain, doctor and plan: unit tests read what a kernel sent, and project kernel runs the commands',
    projects: ['ipvs'],
    files: [
      'test/kernel/doctor/node-doctor.ipvs.test.ts',
      'test/kernel/explain/ipvs-differences.ipvs.test.ts',
      'test/kernel/inspection/plan.ipvs.test.ts',
    ],
  },
  {
    reason:
      'ten thousand virtual servers, and every pair of schedulers; schedulers has each scheduler',
    projects: ['ipvs'],
    files: [
      'test/kernel/interfaces/ipvs-scale.ipvs.test.ts',
      'test/kernel/schedulers-by-hand.ipvs.test.ts',
    ],
  },
]

/**
 * Test files in userspace and nftables mode that `npm test` and `npm run test:long` leave to `npm run test:modes`: what
 * iptables mode does by the same mechanism, which project kernel tests in those two.
 */
export const MODES_TESTS: readonly LongTests[] = [
  {
    reason: 'builds an image twice and runs Node in an emulator; test/docker has the image itself',
    projects: ['kernel'],
    files: ['test/kernel/image/other-processor.test.ts'],
  },
  {
    reason:
      'minutes of policy sets; the long tests have those of upstream in one mode, and random ones in two',
    projects: ['kernel'],
    files: [
      'test/kernel/policy/truth-table-iptables-random-more.test.ts',
      'test/kernel/policy/truth-table-iptables-upstream.test.ts',
      'test/kernel/policy/truth-table-nftables-random-more.test.ts',
      'test/kernel/policy/truth-table-userspace.test.ts',
    ],
  },
  {
    reason: 'tens of thousands of clients; affinity has three thousand',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/affinity-crowd.test.ts'],
  },
  {
    reason: 'starts the daemon for every case, of which unit tests cover the decisions',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/loopback.test.ts'],
  },
  {
    reason: 'starts several daemons for every case, of which unit tests cover the decisions',
    projects: ['nftables'],
    files: ['test/kernel/userspace/mode-switch.test.ts'],
  },
  {
    reason: 'one mechanism for all modes, which project kernel tests in every run',
    projects: ['userspace', 'nftables'],
    files: [
      'test/kernel/policy-flows.test.ts',
      'test/kernel/affinity-changes.test.ts',
      'test/kernel/cleanup.test.ts',
      'test/kernel/external-addresses.test.ts',
      'test/kernel/hostile.test.ts',
      'test/kernel/node-addresses.test.ts',
      'test/kernel/source-ranges.test.ts',
      'test/kernel/under-load.test.ts',
    ],
  },
  {
    reason: 'decided alike in all modes; flows sends such packets in every mode',
    projects: ['nftables'],
    files: [
      'test/kernel/datagrams.test.ts',
      'test/kernel/hairpin.test.ts',
      'test/kernel/metrics.test.ts',
      'test/kernel/source-address.test.ts',
    ],
  },
  {
    reason: 'one mechanism for all modes, which project kernel tests in every run',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/foreign-proxy.test.ts'],
  },
  {
    reason: 'one mechanism for all modes, which project kernel tests',
    projects: ['nftables'],
    files: ['test/kernel/health-check.test.ts'],
  },
  {
    reason: 'waits for many refusals; flows sends such packets in every mode',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/refusal.test.ts'],
  },
  {
    reason:
      'waits for many refusals; unit tests read the rules of each mode, and project kernel sends such packets in every run',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/service-ranges.test.ts'],
  },
  {
    reason: 'which addresses serve is decided alike in all modes; flows has a node port in each',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/node-ports.test.ts'],
  },
]
