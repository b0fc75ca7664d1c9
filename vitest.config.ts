import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { umlPool } from './test/kernel/uml/pool/uml-pool.ts'

/** Agents and daemons start in half the time with what earlier ones compiled. */
const compileCache = fileURLToPath(new URL('node_modules/.cache/node-proxy', import.meta.url))

/** Files that send packets beside each other: they mostly wait. */
const AT_ONCE = 3
/** Kernels in User-mode Linux: each keeps a processor busy. */
const KERNELS_AT_ONCE = 2

/** What is the daemon's own business in whatever mode, and is tested in one: `kernel`. */
const OF_NO_MODE = ['api-kinds', 'api-outage', 'reload']

/**
 * What project `ipvs` leaves out: the lab itself, a kernel without ip_vs, the metrics of programs
 * that fail, of which it starts none, and what is tested otherwise there (drift, persistence and
 * schedulers `.ipvs.test.ts`).
 */
const NOT_OF_IPVS = [
  ...OF_NO_MODE,
  ...['lab', 'no-ipvs', 'metrics', 'drift', 'affinity', 'distribution'],
]

/**
 * What project `userspace` leaves out: the lab itself, a kernel without ip_vs, whom backends see,
 * which is the node (source-address), and drift of rules (drift).
 */
const NOT_OF_USERSPACE = [...OF_NO_MODE, 'lab', 'no-ipvs', 'source-address', 'drift']

/**
 * Eight projects. `unit` is everything that needs neither root nor a kernel, `architecture` holds the
 * rules of the house against the source. `kernel` sends real packets through network namespaces of
 * its own, `userspace` does the same in userspace mode and `ipvs` in ipvs mode, where this kernel
 * has none in User-mode Linux. `server` runs orch-server as a process, kills it, and talks to it with
 * the clients of others. `alone` compares times, so nothing competes with it for the
 * processors. `docker` runs in containers, where an engine is reachable.
 */
export default defineConfig({
  test: {
    coverage: {
      provider: 'v8',
      reporter: [['text', { skipFull: true }], 'text-summary'],
      include: [...pureRooms(), 'src/modes/**/{render,plan}*.ts'],
      exclude: ['**/*.test.ts', '**/fixtures.ts'],
      thresholds: Object.fromEntries(
        [...pureRooms(), 'src/modes/**/{render,plan}*.ts'].map((glob) => [glob, { lines: 90 }]),
      ),
    },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['src/**/*.test.ts', 'test/**/*.test.ts', 'bench/**/*.test.ts'],
          exclude: ['test/{architecture,kernel,server,e2e}/**', '**/*.{docker,upstream}.test.ts'],
          // No module keeps state, so files share what was loaded once, and leave all else as found.
          isolate: false,
          setupFiles: ['test/support/leave-as-found.ts'],
          maxWorkers: '100%',
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'architecture',
          include: ['test/architecture/**/*.test.ts'],
          maxWorkers: '100%',
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'kernel',
          include: ['test/kernel/**/*.test.ts', 'test/e2e/**/*.test.ts'],
          exclude: ['**/*.ipvs.test.ts', '**/*.alone.test.ts'],
          env: { NODE_COMPILE_CACHE: compileCache },
          globalSetup: ['test/support/require-root.ts'],
          maxWorkers: AT_ONCE,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
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
          globalSetup: ['test/support/require-root.ts'],
          maxWorkers: AT_ONCE,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'server',
          include: ['test/server/**/*.test.ts'],
          env: { NODE_COMPILE_CACHE: compileCache },
          maxWorkers: AT_ONCE,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'alone',
          include: ['test/kernel/**/*.alone.test.ts'],
          env: { NODE_COMPILE_CACHE: compileCache },
          globalSetup: ['test/support/require-root.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 2 },
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
          globalSetup: ['test/support/require-root.ts'],
          ...(hasIpvs() ? { fileParallelism: false } : inUserModeLinux()),
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 3 },
        },
      },
      {
        test: {
          name: 'docker',
          include: ['test/docker/**/*.docker.test.ts'],
          env: { TESTCONTAINERS_RYUK_DISABLED: 'true' },
          globalSetup: ['test/docker/global-setup.ts'],
          fileParallelism: false,
          testTimeout: 120_000,
          hookTimeout: 120_000,
          sequence: { groupOrder: 4 },
        },
      },
      ...upstream(),
    ],
  },
})

function pureRooms(): string[] {
  return ['resources', 'cluster', 'forwarding', 'affinity'].map((room) => `src/${room}/**/*.ts`)
}

/** Programs of Kubernetes with ours: only where `npm run test:upstream` says where those are. */
function upstream() {
  if (process.env['NP_UPSTREAM_PROGRAMS'] === undefined) return []
  const test = {
    name: 'upstream',
    include: ['test/upstream/**/*.upstream.test.ts'],
    env: { NODE_COMPILE_CACHE: compileCache },
    globalSetup: ['test/support/require-root.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 120_000,
    sequence: { groupOrder: 5 },
  }
  return [{ test }]
}

/** Workers are kept, because there they take seconds to start. */
function inUserModeLinux() {
  return { pool: umlPool(), maxWorkers: KERNELS_AT_ONCE, isolate: false }
}

/** Whether this kernel has IP virtual servers, be it after loading them. */
function hasIpvs(): boolean {
  return spawnSync('modprobe', ['-q', 'ip_vs']).status === 0
}
