import { fileURLToPath } from 'node:url'
import { defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { umlPool } from './test/kernel/uml/pool/uml-pool.ts'
import { RESULTS_FILE, ResultsReporter } from './test/repeat/results-reporter.ts'
import { hasIpvs } from './test/support/on-demand/has-ipvs.ts'
import { FailuresReporter } from './test/support/progress/failures-reporter.ts'
import { ProgressReporter } from './test/support/progress/progress-reporter.ts'
import { readSelection, selectFiles } from './test/support/selection/selection.ts'
import { SpreadSequencer } from './test/support/selection/spread-sequencer.ts'

/** Agents and daemons start in half the time with what earlier ones compiled. */
const compileCache = fileURLToPath(new URL('node_modules/.cache/node-proxy', import.meta.url))

/** Bundles the programs that tests start. */
const PROGRAMS = 'test/support/programs.ts'

/** Files that send packets beside each other: they mostly wait. */
const AT_ONCE = 4
/** Kernels in User-mode Linux: each keeps a processor busy. */
const KERNELS_AT_ONCE = 2

/** Projects of one number run beside each other; a number waits until those before it are done. */
const ORDER = {
  kernels: 0,
  unit: 1,
  packets: 2,
  alone: 3,
  ownKernel: 4,
  docker: 5,
  upstream: 6,
  packages: 7,
  cluster: 8,
}

/** They end tests that hang, also on a machine that is many times slower than it should be. */
const TIMEOUTS = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: 90_000 } },
}

/** `npm test` runs the short tests, `npm run test:long` the others, vitest itself all of them. */
const selection = readSelection(process.env['NP_TESTS'])

/** The daemon does these alike in every mode, so one project tests them: `kernel`. */
const OF_NO_MODE = ['api-kinds', 'api-outage', 'api-silence', 'configuration-errors', 'reload']

/** Decided before a mode sees it; policy-flows has such packets in every mode. */
const DECIDED_ALIKE = ['endpoint-choice', 'legacy-addresses', 'topology-hints']

/**
 * What project `ipvs` leaves out: the lab itself, a kernel without ip_vs, the metrics of programs
 * that fail, of which it starts none; what is tested otherwise there (drift, persistence and
 * schedulers `.ipvs.test.ts`); what is the same in userspace mode, but takes minutes in User-mode
 * Linux; and whose packets are Pods', which iptables mode matches by the same rules (source-address).
 */
const NOT_OF_IPVS = [
  ...OF_NO_MODE,
  ...DECIDED_ALIKE,
  'foreign-proxy',
  'health-check',
  'loopback',
  'source-address',
  'lab',
  'no-ipvs',
  'metrics',
  'drift',
  'affinity',
  'affinity-crowd',
  'distribution',
]

/**
 * What project `userspace` leaves out: the lab itself, a kernel without ip_vs, the source address
 * that backends see, which is always the node's (source-address), and drift of rules (drift).
 */
const NOT_OF_USERSPACE = [
  ...OF_NO_MODE,
  ...DECIDED_ALIKE,
  'health-check',
  'lab',
  'no-ipvs',
  'source-address',
  'drift',
]

/** What project `nftables` leaves out: the lab itself, and a kernel without ip_vs. */
const NOT_OF_NFTABLES = [...OF_NO_MODE, ...DECIDED_ALIKE, 'lab', 'no-ipvs']

/**
 * Nine projects. `unit` is everything that needs neither root nor a kernel, `architecture` holds the
 * rules of the project against the source. `kernel` sends real packets through network namespaces of
 * its own, `userspace` and `nftables` do the same in those modes and `ipvs` in ipvs mode: in User-mode Linux
 * where this kernel lacks ip_vs. `server` runs orch-server as a process, kills it, and uses it with
 * kubectl and the client library. `alone` compares times, so nothing competes with it for the
 * processors. `docker` runs in containers, where an engine is reachable.
 *
 * `test/support/selection/long-tests.ts` lists the files that `npm test` leaves to
 * `npm run test:long`; each file belongs to one of the two.
 */
export default defineConfig({
  test: {
    // The progress line replaces vitest's own summary while tests run.
    reporters: [
      new ProgressReporter(),
      ['default', { summary: false }],
      new FailuresReporter(),
      ...forRepetitions(),
    ],
    sequence: { sequencer: SpreadSequencer },
    coverage: {
      provider: 'v8',
      reporter: [['text', { skipFull: true }], 'text-summary'],
      include: [...pureModules(), 'src/modes/**/{render,plan}*.ts'],
      exclude: ['**/*.test.ts', '**/fixtures.ts'],
      thresholds: Object.fromEntries(
        [...pureModules(), 'src/modes/**/{render,plan}*.ts'].map((glob) => [glob, { lines: 90 }]),
      ),
    },
    projects: selected([
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts'],
          exclude: [
            'test/{architecture,kernel,server,e2e}/**',
            '**/*.{charts,cluster,docker,packages,upstream}.test.ts',
            'test/dashboards/live/**',
          ],
          // No module keeps state, so files share what was loaded once, and leave all else as found.
          isolate: false,
          setupFiles: ['test/support/leave-as-found.ts', 'test/support/same-examples.ts'],
          maxWorkers: '100%',
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.unit },
        },
      },
      {
        test: {
          name: 'architecture',
          include: ['test/architecture/**/*.test.ts'],
          // What was found in a file of the project is kept for the next rules.
          isolate: false,
          maxWorkers: '100%',
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.unit },
        },
      },
      {
        test: {
          name: 'kernel',
          include: ['test/kernel/**/*.test.ts', 'test/e2e/**/*.test.ts'],
          exclude: ['**/*.ipvs.test.ts', '**/*.alone.test.ts'],
          env: { NODE_COMPILE_CACHE: compileCache },
          globalSetup: ['test/support/require-root.ts', PROGRAMS],
          maxWorkers: AT_ONCE,
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.packets },
        },
      },
      {
        test: {
          name: 'userspace',
          include: ['test/kernel/*.test.ts'],
          exclude: [
            '**/*.ipvs.test.ts',
            ...NOT_OF_USERSPACE.map((name) => `test/kernel/${name}.test.ts`),
          ],
          env: { NODE_COMPILE_CACHE: compileCache, NP_PROXY_MODE: 'userspace' },
          globalSetup: ['test/support/require-root.ts', PROGRAMS],
          maxWorkers: AT_ONCE,
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.packets },
        },
      },
      {
        test: {
          name: 'nftables',
          include: ['test/kernel/*.test.ts', 'test/kernel/userspace/mode-switch.test.ts'],
          exclude: [
            '**/*.ipvs.test.ts',
            ...NOT_OF_NFTABLES.map((name) => `test/kernel/${name}.test.ts`),
          ],
          env: { NODE_COMPILE_CACHE: compileCache, NP_PROXY_MODE: 'nftables' },
          globalSetup: ['test/support/require-root.ts', PROGRAMS],
          maxWorkers: AT_ONCE,
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.packets },
        },
      },
      {
        test: {
          name: 'server',
          include: ['test/server/**/*.test.ts'],
          env: { NODE_COMPILE_CACHE: compileCache },
          globalSetup: [PROGRAMS],
          maxWorkers: AT_ONCE,
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.packets },
        },
      },
      {
        test: {
          name: 'alone',
          include: ['test/kernel/**/*.alone.test.ts'],
          env: { NODE_COMPILE_CACHE: compileCache },
          globalSetup: ['test/support/require-root.ts', PROGRAMS],
          fileParallelism: false,
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.alone },
        },
      },
      {
        test: {
          name: 'ipvs',
          include: ['test/kernel/*.test.ts', 'test/kernel/**/*.ipvs.test.ts'],
          exclude: NOT_OF_IPVS.map((name) => `test/kernel/${name}.test.ts`),
          env: {
            NODE_COMPILE_CACHE: compileCache,
            NP_PROXY_MODE: process.env['NP_PROXY_MODE'] ?? 'ipvs',
            NP_IPTABLES_BACKEND: 'legacy',
          },
          globalSetup: ['test/support/require-root.ts', PROGRAMS],
          ...(hasIpvs() ? onThisKernel() : inUserModeLinux()),
          ...TIMEOUTS,
        },
      },
      {
        test: {
          name: 'docker',
          include: ['test/docker/**/*.docker.test.ts'],
          env: { TESTCONTAINERS_RYUK_DISABLED: 'true' },
          globalSetup: ['test/docker/global-setup.ts'],
          fileParallelism: false,
          ...TIMEOUTS,
          sequence: { groupOrder: ORDER.docker },
        },
      },
      ...charts(),
      ...upstream(),
      ...dashboards(),
      ...packages(),
      ...cluster(),
    ]),
  },
})

/** Where `npm run test:repeat` counts failures. */
function forRepetitions() {
  const file = process.env[RESULTS_FILE]
  return file === undefined ? [] : [new ResultsReporter(file)]
}

function pureModules(): string[] {
  const modules = ['resources', 'cluster', 'forwarding', 'networkpolicy', 'affinity']
  return modules.map((module) => `src/${module}/**/*.ts`)
}

/** Helm charts and overlays: only where `npm run test:charts` says where helm is. */
function charts() {
  if (process.env['NP_CHART_PROGRAMS'] === undefined) return []
  const test = {
    name: 'charts',
    include: ['test/charts/**/*.charts.test.ts'],
    env: { NODE_COMPILE_CACHE: compileCache },
    maxWorkers: AT_ONCE,
    ...TIMEOUTS,
    sequence: { groupOrder: ORDER.packets },
  }
  return [{ test }]
}

/** Programs of Kubernetes with ours: only where `npm run test:upstream` says where those are. */
function upstream() {
  if (process.env['NP_UPSTREAM_PROGRAMS'] === undefined) return []
  const test = {
    name: 'upstream',
    include: ['test/upstream/**/*.upstream.test.ts'],
    env: { NODE_COMPILE_CACHE: compileCache },
    globalSetup: ['test/support/require-root.ts', PROGRAMS],
    fileParallelism: false,
    ...TIMEOUTS,
    testTimeout: 300_000,
    sequence: { groupOrder: ORDER.upstream },
  }
  return [{ test }]
}

/** Queries of dashboards against a Prometheus that scrapes the sandbox: on request, by `npm run test:dashboards`. */
function dashboards() {
  if (process.env['NP_DASHBOARDS'] === undefined) return []
  const test = {
    name: 'dashboards',
    include: ['test/dashboards/live/*.test.ts'],
    env: { NODE_COMPILE_CACHE: compileCache },
    globalSetup: ['test/support/require-root.ts', PROGRAMS],
    ...TIMEOUTS,
    sequence: { groupOrder: ORDER.packets },
  }
  return [{ test }]
}

/** Debian packages on machines with systemd: only where `npm run test:packages` built some. */
function packages() {
  if (process.env['NP_PACKAGES'] === undefined) return []
  const test = {
    name: 'packages',
    include: ['test/packages/**/*.packages.test.ts'],
    globalSetup: ['test/support/require-root.ts', PROGRAMS],
    fileParallelism: false,
    ...TIMEOUTS,
    testTimeout: 900_000,
    sequence: { groupOrder: ORDER.packages },
  }
  return [{ test }]
}

/** Nodes with kubelets: only in the namespaces that `npm run test:cluster` makes. */
function cluster() {
  if (process.env['NP_CLUSTER_SCRATCH'] === undefined) return []
  const test = {
    name: 'cluster',
    include: ['test/cluster/**/*.cluster.test.ts'],
    env: { NODE_COMPILE_CACHE: compileCache },
    fileParallelism: false,
    ...TIMEOUTS,
    sequence: { groupOrder: ORDER.cluster },
  }
  return [{ test }]
}

/** The project's own kernel has one table of virtual servers, so its files run one by one. */
function onThisKernel() {
  return { fileParallelism: false, sequence: { groupOrder: ORDER.ownKernel } }
}

/**
 * Workers are kept, because there they take seconds to start. The short tests run beside those of
 * the other modes, which mostly wait, spread so that few kernels run at once. All others need both
 * processors for most of the run, so they come first.
 */
function inUserModeLinux() {
  const kernels = { pool: umlPool(), isolate: false }
  return selection === 'short'
    ? { ...kernels, maxWorkers: AT_ONCE, sequence: { groupOrder: ORDER.packets } }
    : { ...kernels, maxWorkers: KERNELS_AT_ONCE, sequence: { groupOrder: ORDER.kernels } }
}

/** The projects with the files that are selected, without those that have none. */
function selected(projects: readonly TestProjectInlineConfiguration[]) {
  return projects.flatMap((project) => {
    const { name, include = [], exclude = [] } = project.test ?? {}
    const files = selectFiles(typeof name === 'string' ? name : '', { include, exclude }, selection)
    if (files === undefined) return []
    const [included, excluded] = [[...files.include], [...files.exclude]]
    return [{ ...project, test: { ...project.test, include: included, exclude: excluded } }]
  })
}
