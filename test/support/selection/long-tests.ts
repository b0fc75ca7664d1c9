/** Test files that `npm test` leaves to `npm run test:long`, in the given projects. */
export interface LongTests {
  readonly reason: string
  readonly projects: readonly string[]
  /** Paths from the root of the repository, or globs for a whole project. */
  readonly files: readonly string[]
}

/**
 * All other files belong to `npm test`. A file may be long in one project only, because the same packets take three
 * times as long in User-mode Linux.
 */
export const LONG_TESTS: readonly LongTests[] = [
  {
    reason: 'kills the servers again and again under load, and judges the history',
    projects: ['server'],
    files: [
      'test/server/consistency/backup.test.ts',
      'test/server/consistency/contention.test.ts',
      'test/server/consistency/embedded.test.ts',
      'test/server/consistency/etcd.test.ts',
      'test/server/consistency/replicas.test.ts',
    ],
  },
  {
    reason:
      'waits until servers read changed files of keys, users and authorities, every ten seconds',
    projects: ['server'],
    files: [
      'test/server/identity/oidc-users.test.ts',
      'test/server/identity/outside-users.test.ts',
      'test/server/identity/signing-keys.test.ts',
      'test/server/encryption-page.test.ts',
      'test/server/security-page.test.ts',
      'test/server/security-page-authority.test.ts',
      'test/server/security-page-given.test.ts',
      'test/server/security-page-loss.test.ts',
    ],
  },
  {
    reason:
      'a control plane, a node and commands on a third machine; unit tests have each part, over TLS',
    projects: ['kernel'],
    files: ['test/kernel/inspection/remote.test.ts'],
  },
  {
    reason:
      'waits until the daemon looks again for other programs that enforce policies; daemon.test has policies in every run',
    projects: ['kernel'],
    files: ['test/kernel/policy/daemon-node.test.ts'],
  },
  {
    reason: 'boots machines with systemd, and starts a program for each command of the pages',
    projects: ['kernel'],
    files: [
      'test/kernel/machine/control-plane.test.ts',
      'test/kernel/machine/one-node.test.ts',
      'test/kernel/machine/programs.test.ts',
    ],
  },
  {
    reason:
      'reads the whole kernel before and after each plan; dry-run.test of src/sync plans over fakes in every run',
    projects: ['kernel'],
    files: ['test/kernel/inspection/plan-modes.test.ts', 'test/kernel/inspection/plan.test.ts'],
  },
  {
    reason:
      'each command beside that of kubectl, completion in three shells; unit tests run the commands',
    projects: ['server'],
    files: [
      'test/server/orchctl.test.ts',
      'test/server/orchctl-workloads.test.ts',
      'test/server/completion.test.ts',
    ],
  },
  {
    reason:
      'sends each question by dig and by kdig; a unit test sends the same ones to the server itself',
    projects: ['server'],
    files: ['test/server/dns/golden-questions.test.ts'],
  },
  {
    reason:
      'spoils thirty clusters and runs orchctl in each; unit tests have each cause, and healthy-clusters the server',
    projects: ['server'],
    files: ['test/server/doctor/spoilt-clusters.test.ts'],
  },
  {
    reason:
      'streams of megabytes, and terminals; unit tests have each stream, and pod-identity a Pod',
    projects: ['kernel'],
    files: [
      'test/kernel/orchserver/pods/kubectl-streams.test.ts',
      'test/kernel/orchserver/pods/orchctl-streams.test.ts',
    ],
  },
  {
    reason:
      'a minute of kubectl and Pods; unit tests have each rule, and node-agent has Pods that end',
    projects: ['kernel'],
    files: ['test/kernel/orchserver/pods/kubectl-jobs.test.ts'],
  },
  {
    reason:
      'half a minute each of Pods that fail; unit tests have each cause, and pod-identity such Pods',
    projects: ['kernel'],
    files: [
      'test/kernel/orchserver/pods/doctor/pod-causes.test.ts',
      'test/kernel/orchserver/pods/doctor/probes.test.ts',
    ],
  },
  {
    reason: 'half a minute of kubectl; client-node and unit tests send such requests in every run',
    projects: ['server'],
    files: ['test/server/kubectl.test.ts'],
  },
  {
    reason:
      'a minute of kubectl; orch-server has an address of a pool, and unit tests have each decision',
    projects: ['server'],
    files: ['test/server/load-balancers.test.ts'],
  },
  {
    reason: 'a minute of names and addresses; dns-service sends questions in every run',
    projects: ['server'],
    files: ['test/server/dns/orch-dns.test.ts'],
  },
  {
    reason: 'a million messages; a unit test sends fifty thousand of the same kind',
    projects: ['server'],
    files: ['test/server/dns/mutated-packets.test.ts'],
  },
  {
    reason:
      'thousands of histories each; path-independence of other modes, and of programs, is in every run',
    projects: ['unit'],
    files: ['src/modes/nftables/histories.test.ts', 'src/sync/path-independence.test.ts'],
  },
  {
    reason: 'starts vitest again and again beside a load; options and tally of it are in every run',
    projects: ['unit'],
    files: ['test/repeat/repeat.test.ts'],
  },
  {
    reason:
      'each behaviour by both data paths; project userspace sends packets through one in every run',
    projects: ['unit'],
    files: ['src/modes/userspace/testing/conformance.test.ts'],
  },
  {
    reason:
      'starts servers, or programs that use them, for every case; unit tests cover the decisions',
    projects: ['server'],
    files: [
      'test/server/allocation-races.test.ts',
      'test/server/identity/copied-files.test.ts',
      'test/server/kubectl-identity.test.ts',
      'test/server/refused-start.test.ts',
      'test/server/secrets-nowhere.test.ts',
    ],
  },
  {
    reason: 'ten thousand Services in a browser; unit tests have each view',
    projects: ['server'],
    files: ['test/server/page/node-page.test.ts'],
  },
  {
    reason: 'every view of the page of a cluster, twice by axe-core; cluster-page has its start',
    projects: ['server'],
    files: ['test/server/page/cluster-views.test.ts'],
  },
  {
    reason: 'a hundred kubectls at once; default-account makes as many Pods by HTTP',
    projects: ['server'],
    files: ['test/server/identity/namespace-race.test.ts'],
  },
  {
    reason: 'kills the server under the informers of another client, once for each store',
    projects: ['server'],
    files: ['test/server/informer.test.ts'],
  },
  {
    reason: 'tens of thousands of clients; affinity has three thousand',
    projects: ['kernel'],
    files: ['test/kernel/affinity-crowd.test.ts'],
  },
  {
    reason: 'a thousand conversations while backends are killed, once for each data path',
    projects: ['kernel'],
    files: ['test/kernel/userspace/chaos.test.ts'],
  },
  {
    reason:
      'waits for Leases and hold times to expire and for nodes to take their addresses back; unit tests simulate them',
    projects: ['kernel'],
    files: [
      'test/kernel/announcement/bgp.test.ts',
      'test/kernel/announcement/fail-over.test.ts',
      'test/kernel/interfaces/neighbour-responder.test.ts',
    ],
  },
  {
    reason:
      'half a minute of tiers and priorities; unit tests decide by them, and daemon.test enforces policies in every run',
    projects: ['kernel'],
    files: ['test/kernel/policy/cluster-policy.test.ts'],
  },
  {
    reason:
      'waits for the log of the kernel; unit tests read its packets, and daemon.test counts them',
    projects: ['kernel'],
    files: ['test/kernel/policy/denied-log.test.ts'],
  },
  {
    reason: 'waits for the timeouts of an API server that hangs',
    projects: ['kernel'],
    files: ['test/kernel/api-silence.test.ts'],
  },
  {
    reason: 'compares times, so nothing runs beside it',
    projects: ['alone'],
    files: ['test/kernel/**/*.alone.test.ts'],
  },
  {
    reason: 'makes every symptom of a page; commands has what it shows',
    projects: ['kernel'],
    files: [
      'test/kernel/inspection/more-symptoms.test.ts',
      'test/kernel/inspection/symptoms-page.test.ts',
    ],
  },
  {
    reason: 'makes every symptom of a page; spoilt-clusters has what it shows',
    projects: ['server'],
    files: ['test/server/symptoms-page.test.ts'],
  },
  {
    reason: 'needs a Docker engine and its images',
    projects: ['docker'],
    files: ['test/docker/**/*.docker.test.ts'],
  },
  {
    reason: 'boots a kernel in User-mode Linux without ip_vs',
    projects: ['kernel'],
    files: ['test/kernel/no-ipvs.test.ts'],
  },
  {
    reason: 'starts the daemon for every case, of which unit tests cover the decisions',
    projects: ['kernel'],
    files: ['test/kernel/configuration-errors.test.ts'],
  },
  {
    reason: 'starts the daemon for every case, of which unit tests cover the decisions',
    projects: ['kernel'],
    files: ['test/kernel/loopback.test.ts'],
  },
  {
    reason: 'starts several daemons for every case, of which unit tests cover the decisions',
    projects: ['kernel'],
    files: ['test/kernel/userspace/mode-switch.test.ts'],
  },
  {
    reason: 'starts several daemons for every case, of which unit tests cover the decisions',
    projects: ['kernel'],
    files: [
      'test/kernel/owner-lock/owner-lock.test.ts',
      'test/kernel/modes/mode-switch.test.ts',
      'test/kernel/userspace/restart.test.ts',
      'test/kernel/api-kinds.test.ts',
      'test/kernel/foreign-proxy.test.ts',
      'test/kernel/orchserver/node-proxy.test.ts',
    ],
  },
  {
    reason:
      'half a minute in two modes; unit tests read the same timeouts, and commands explains packets in every run',
    projects: ['kernel'],
    files: ['test/kernel/inspection/bound-client.test.ts'],
  },
  {
    reason:
      'half a minute of counters; nftables/traffic-counters and unit tests read them in every run',
    projects: ['nftables'],
    files: ['test/kernel/traffic.test.ts'],
  },
  {
    reason:
      'a thousand connections and more in each mode while endpoints change; half-change.test of nftables walks every order of readings',
    projects: ['kernel', 'userspace', 'nftables', 'ipvs'],
    files: ['test/kernel/half-change.test.ts'],
  },
  {
    reason:
      'twenty seconds of readings, which serve for a second each; unit tests read the same counters',
    projects: ['kernel'],
    files: ['test/kernel/nftables/connections.test.ts'],
  },
  {
    reason: 'half a minute each; unit tests cover the decisions',
    projects: ['kernel'],
    files: ['test/kernel/health-check.test.ts', 'test/kernel/topology-hints.test.ts'],
  },
  {
    reason:
      'which addresses serve, and whom, is decided alike in all modes; flows has each kind of address in every run',
    projects: ['kernel'],
    files: [
      'test/kernel/endpoint-choice.test.ts',
      'test/kernel/external-addresses.test.ts',
      'test/kernel/node-addresses.test.ts',
      'test/kernel/node-ports.test.ts',
      'test/kernel/service-ranges.test.ts',
      'test/kernel/source-ranges.test.ts',
    ],
  },
  {
    reason: 'many packets each, a minute and more; flows sends such packets in every mode',
    projects: ['kernel'],
    files: [
      'test/kernel/hostile.test.ts',
      'test/kernel/refusal.test.ts',
      'test/kernel/source-address.test.ts',
      'test/kernel/under-load.test.ts',
    ],
  },
  {
    reason:
      'minutes of nodes that are broken in further ways; node-causes breaks three in every run',
    projects: ['kernel'],
    files: [
      'test/kernel/doctor/daemon-credentials.test.ts',
      'test/kernel/doctor/differing-nodes.test.ts',
      'test/kernel/doctor/lost-insertions.test.ts',
      'test/kernel/doctor/node-firewalls.test.ts',
      'test/kernel/doctor/node-modes.test.ts',
      'test/kernel/doctor/node-settings.test.ts',
      'test/kernel/explain/dead-ends.test.ts',
      'test/kernel/doctor/too-many-rules.test.ts',
    ],
  },
  {
    reason:
      'half a minute and more of what others do to rules; foreign-flush and unit tests have such changes in every run',
    projects: ['kernel', 'nftables'],
    files: ['test/kernel/drift.test.ts'],
  },
  {
    reason:
      'records a node and explains it elsewhere, packet by packet; commands explains packets in every run',
    projects: ['kernel'],
    files: ['test/kernel/inspection/record.test.ts'],
  },
  {
    reason:
      'minutes of alterations by hand; unit tests compare the same rules, and commands explains packets in every run',
    projects: ['kernel'],
    files: [
      'test/kernel/explain/differences.test.ts',
      'test/kernel/explain/iptables-walk.test.ts',
      'test/kernel/explain/nftables-differences.test.ts',
      'test/kernel/explain/userspace-differences.test.ts',
    ],
  },
  {
    reason:
      'every way in, by both data paths; unit tests run both, and userspace has flows in every run',
    projects: ['kernel'],
    files: ['test/kernel/userspace/bind.test.ts', 'test/kernel/userspace/redirect.test.ts'],
  },
  {
    reason: 'a minute and more in User-mode Linux; unit tests cover the decisions',
    projects: ['ipvs'],
    files: ['test/kernel/persistence.ipvs.test.ts'],
  },
  {
    reason: 'every scheduler, two minutes in User-mode Linux; unit tests cover the decisions',
    projects: ['ipvs'],
    files: ['test/kernel/schedulers.ipvs.test.ts'],
  },
  {
    reason: 'a minute and more of conversations; kernel has them in every run',
    projects: ['userspace'],
    files: ['test/kernel/datagrams.test.ts', 'test/kernel/traffic.test.ts'],
  },
  {
    reason:
      'half a minute with each setting of bridges; flows has a Pod that reaches itself in every run',
    projects: ['kernel', 'userspace'],
    files: ['test/kernel/hairpin.test.ts'],
  },
  {
    reason: 'clients while settings change, half a minute; affinity has clients in every run',
    projects: ['kernel'],
    files: ['test/kernel/affinity-changes.test.ts'],
  },
  {
    reason: 'thousands of connections, counted; kernel has them in every run',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/distribution.test.ts'],
  },
  {
    reason: 'a Prometheus that scrapes for half a minute; unit tests read the same metrics',
    projects: ['kernel'],
    files: ['test/kernel/orchserver/prometheus.test.ts'],
  },
  {
    reason: 'waits for backends that do not answer; unit tests of the sync loop have each decision',
    projects: ['kernel', 'userspace', 'nftables', 'ipvs'],
    files: ['test/kernel/half-open.test.ts'],
  },
  {
    reason: 'further flows and clients, a minute; flows has packets of every kind in every run',
    projects: ['userspace', 'nftables'],
    files: ['test/kernel/affinity.test.ts', 'test/kernel/rule-flows.test.ts'],
  },
  {
    reason: 'runs every command of a page; nftables has flows in every run',
    projects: ['kernel'],
    files: ['test/kernel/nftables/operate-page.test.ts'],
  },
  {
    reason: 'the page of a daemon in a browser; unit tests have each view',
    projects: ['kernel'],
    files: ['test/kernel/inspection/page.test.ts'],
  },
  {
    reason:
      'a minute of Pods; dns-service, pod-identity and node-agent have such Pods in every run',
    projects: ['kernel'],
    files: [
      'test/kernel/nodeagent/identity.test.ts',
      'test/kernel/orchserver/pods/pod-dns.test.ts',
    ],
  },
  {
    reason:
      'half a minute each of daemons that start and end; hand-over and flows have such in every run',
    projects: ['kernel'],
    files: [
      'test/kernel/api-outage.test.ts',
      'test/kernel/metrics.test.ts',
      'test/kernel/modes/clean-up.test.ts',
      'test/kernel/modes/round-trip.test.ts',
    ],
  },
  {
    reason: 'half a minute of the lab itself, on which all other tests of packets rest',
    projects: ['kernel'],
    files: ['test/kernel/lab.test.ts'],
  },
  {
    reason:
      'starts servers, and commands of two programs for each kind; unit tests cover what each writes',
    projects: ['server'],
    files: [
      'test/server/describe.test.ts',
      'test/server/encryption.test.ts',
      'test/server/orchctl-doctor.test.ts',
    ],
  },
  {
    reason:
      'minutes of policy sets, each with six thousand connections; truth-table has seven sets in every run',
    projects: ['kernel'],
    files: [
      'test/kernel/policy/truth-table-iptables-random.test.ts',
      'test/kernel/policy/truth-table-lab.test.ts',
      'test/kernel/policy/truth-table-nftables-random.test.ts',
      'test/kernel/policy/truth-table-nftables-upstream.test.ts',
    ],
  },
  {
    reason:
      'two hundred Pods that start; daemon-node has an unknown Pod and the truth table policies in every run',
    projects: ['kernel'],
    files: ['test/kernel/policy/start-race.test.ts'],
  },
]
